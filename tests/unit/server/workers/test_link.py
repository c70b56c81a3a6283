"""A worker whose supervisor has ended."""

import socket
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("workers need Unix sockets", allow_module_level=True)

from rightseat.server.workers.channel import WorkerStart, encode_message
from rightseat.server.workers.link import SupervisorLink
from rightseat.stores.sqlite.presence import WorkerLocks
from rightseat.wiring.storage import RUN_FOLDER_VARIABLE


@pytest.mark.demand("scale.supervisor_killed")
async def test_the_last_worker_removes_the_run_folder_of_a_killed_supervisor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another still drains, it has its lock there: without it, it would be taken for dead."""
    run_folder = tmp_path / "run"
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(run_folder))
    start = WorkerStart(number=1, workers=2, lease_seconds=10, arguments="{}", address=("127.0.0.1", 1), listener=None)
    own, other = WorkerLocks(run_folder, "1"), WorkerLocks(run_folder, "2")
    supervisor, channel = socket.socketpair()
    with supervisor, channel:
        supervisor.sendall(encode_message(start))
        link = SupervisorLink(channel)
        link._is_orphan = True
        own.release()
        link.close()
        assert await own.find_dead({"2"}) == set()
        other.release()
        link.close()
        for opened in (link._wake, link._waked, link._selector):
            opened.close()
    assert not run_folder.exists()
