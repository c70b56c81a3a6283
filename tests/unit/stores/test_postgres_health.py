"""The limit of a statement: a silent connection is hung up, and so is one whose answer begins and never ends."""

import socket
from typing import Any

import pytest

from rightseat.stores.postgres.health import DatabaseHealth
from tests.kit.waiting import wait_until


class FakeConnection:
    def __init__(self, socket: socket.socket) -> None:
        self.socket = socket

    def fileno(self) -> int:
        return self.socket.fileno()


@pytest.mark.parametrize("begun", [b"", b"half an answer"])
async def test_a_connection_without_a_whole_answer_is_hung_up(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    health = DatabaseHealth("postgresql://nowhere")
    lost: list[float] = []
    monkeypatch.setattr(health, "note_lost", lost.append)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(begun)
        connection: Any = FakeConnection(ours)
        with health.limit(connection, 0.01):
            await wait_until(lambda: bool(lost))
        assert theirs.recv(1) == b""
