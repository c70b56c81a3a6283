"""The plane by Unix datagrams: its sockets, full queues, dead workers, foreign bytes."""

import asyncio
import logging
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat import Owner
from rightseat.live import local
from rightseat.live.local import MAX_DATAGRAM, LocalPlane
from rightseat.types.live import ControlMessage
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets")]
ME = Owner("me")


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[LocalPlane]:
    plane = LocalPlane(tmp_path / "run", "1")
    await plane.open()
    yield plane
    await plane.close()


def bind_silent_worker(plane: LocalPlane, worker: str) -> socket.socket:
    """A worker that reads nothing, as one whose loop hangs."""
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    silent.bind(plane.get_address(worker))
    return silent


async def test_sockets_are_for_their_owner_alone(plane: LocalPlane) -> None:
    assert stat.S_IMODE(plane.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((plane.folder / "1.socket").stat().st_mode) == 0o700
    await plane.close()
    assert list(plane.folder.iterdir()) == []


async def test_a_folder_with_a_long_path_is_used(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    if sys.platform != "linux":
        pytest.skip("the path of a socket is short")
    first, second = LocalPlane(folder, "1"), LocalPlane(folder, "2")
    await second.open()
    received: list[ControlMessage] = []
    second.handle("stop", received.append)
    assert await first.send("2", ControlMessage("stop"))
    await wait_until(lambda: received)
    await first.close()
    await second.close()


async def test_a_full_queue_neither_blocks_nor_raises(plane: LocalPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "SEND_PAUSE", 0)
    with bind_silent_worker(plane, "2"):
        async with asyncio.timeout(HANG_TIMEOUT):
            for _ in range(2000):
                if not await plane.send("2", ControlMessage("stop", body="x" * 1000)):
                    break
            else:
                pytest.fail("the queue of a socket has no end")
        plane.notify(ME, "t")
        plane.flush()
        assert "2" in plane.list_peers()


async def test_a_broadcast_tells_that_a_worker_takes_none(plane: LocalPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "SEND_PAUSE", 0)
    with bind_silent_worker(plane, "2"):
        async with asyncio.timeout(HANG_TIMEOUT):
            while await plane.broadcast(ControlMessage("ask", body="x" * 1000)):
                pass
        assert "2" in plane.list_peers()
    assert await plane.broadcast(ControlMessage("ask")), "a worker that has ended needs nothing"


async def test_the_socket_of_a_dead_worker_is_removed(plane: LocalPlane) -> None:
    bind_silent_worker(plane, "2").close()
    assert (plane.folder / "2.socket").exists()
    plane.notify(ME, "t")
    plane.flush()
    assert not (plane.folder / "2.socket").exists()
    assert plane.list_peers() == []


async def test_foreign_bytes_are_left_out(plane: LocalPlane, caplog: pytest.LogCaptureFixture) -> None:
    received: list[ControlMessage] = []
    plane.handle("stop", received.append)
    caplog.set_level(logging.WARNING)
    with bind_silent_worker(plane, "2") as other:
        for data in (b"", b"\xff" * 100, os.urandom(2000), b"\x80"):
            other.sendto(data, plane.get_address("1"))
        other.sendto(local._encoder.encode(ControlMessage("stop")), plane.get_address("1"))
        await wait_until(lambda: received)
    assert "same version" in caplog.text


async def test_a_message_that_is_too_large_is_an_error_of_its_sender(plane: LocalPlane) -> None:
    with pytest.raises(ValueError, match="more than"):
        await plane.send("2", ControlMessage("stop", body="x" * MAX_DATAGRAM))


@pytest.mark.parametrize("name", ["", "../1", "a/b", "x" * 41])
def test_names_that_are_no_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        LocalPlane(tmp_path, name)


async def test_a_folder_that_is_gone_costs_nothing(plane: LocalPlane) -> None:
    (plane.folder / "1.socket").unlink()
    plane.folder.rmdir()
    plane.notify(ME, "t")
    plane.flush()
    assert plane.list_peers() == []


async def test_two_workers_of_one_name_are_refused(plane: LocalPlane) -> None:
    with pytest.raises(OSError, match="in use"):
        LocalPlane(plane.folder, "1")
