"""Acceptor where the system cannot accept a connection for other reasons than descriptors."""

import asyncio
import errno
import logging
import os
import socket
import sys
from typing import cast

import pytest

from rightseat.http.descriptors import DescriptorReserve
from rightseat.server import acceptor as acceptor_module
from rightseat.server.acceptor import Acceptor
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.io, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no acceptor")]


class ShortOfMemory:
    """Listening socket that first fails for want of memory."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.fileno = listener.fileno
        self.setblocking = listener.setblocking
        self.failures = 0

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures < 2:
            self.failures += 1
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        return self.listener.accept()


async def test_a_connection_waits_while_memory_is_short(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(acceptor_module, "FAILURE_SECONDS", 0.01, raising=False)
    accepted = asyncio.Event()

    class Greeter(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.set()
            transport.close()

    with socket.create_server(("127.0.0.1", 0)) as listener, caplog.at_level(logging.ERROR):
        failing = ShortOfMemory(listener)
        acceptor = Acceptor(cast(socket.socket, failing), Greeter, [], DescriptorReserve())
        acceptor.start()
        _, writer = await asyncio.open_connection(*listener.getsockname())
        await asyncio.wait_for(accepted.wait(), HANG_TIMEOUT)
        writer.close()
        acceptor.close()
    assert failing.failures == 2
    assert [record.getMessage() for record in caplog.records] == [
        "No connection can be accepted: Cannot allocate memory."
    ] * 2
