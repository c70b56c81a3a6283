"""One child for each Launch: a reload holds it before the old runtime lets go."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest

from rightseat.errors import LocalModelNotStarted
from rightseat.models.llamacpp import supervision
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.process import SupervisionPolicy
from rightseat.models.llamacpp.supervision import SharedServer
from tests.kit.process import is_alive, list_tree
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import read_into, wait_until

FAKE = Path(__file__).with_name("fake_server.py")
QUICK = SupervisionPolicy(start_timeout=HANG_TIMEOUT, poll_interval=0.1, health_timeout=HANG_TIMEOUT, backoff=0.01)

pytestmark = [pytest.mark.io, pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")]


@pytest.fixture
def launch(tmp_path: Path) -> LaunchOptions:
    binary = tmp_path / "llama-server"
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    model = tmp_path / "model.gguf"
    model.write_text("{}")
    return LaunchOptions(model, binary=binary)


EARLIER_PIDS: set[int] = set()


@pytest.fixture(autouse=True)
def record_earlier_processes() -> None:
    """Servers of other tests may live as long as the session: their processes are not counted."""
    EARLIER_PIDS.clear()
    EARLIER_PIDS.update(list_tree(os.getpid()))


def list_started_pids() -> list[int]:
    return [pid for pid in list_tree(os.getpid()) if pid not in EARLIER_PIDS]


async def wait_until_no_process() -> None:
    await wait_until(lambda: not list_started_pids())
    assert not supervision._shared_servers


@pytest.mark.demand("llamacpp.engine_child_process_loopback")
async def test_a_reload_keeps_the_child(launch: LaunchOptions) -> None:
    old, new = SharedServer(launch, QUICK), SharedServer(launch, QUICK)
    assert not old.ready
    await old.start()
    pid = old.pid
    assert pid is not None
    await new.start()
    await old.close()
    assert not old.ready
    assert new.ready
    assert new.pid == pid
    pieces: list[object] = []
    await read_into(new.stream_completion({"prompt": "hi"}), pieces)
    assert len(pieces) == 4
    await new.close()
    assert not is_alive(pid)
    await wait_until_no_process()


async def test_started_and_closed_twice_is_once(launch: LaunchOptions) -> None:
    shared, other = SharedServer(launch, QUICK), SharedServer(launch, QUICK)
    await shared.start()
    await shared.start()
    await other.start()
    await shared.close()
    await shared.close()
    assert other.ready
    await other.close()
    await wait_until_no_process()
    with pytest.raises(LocalModelNotStarted, match="not started, or was closed"):
        await shared.client()


async def test_two_that_start_at_the_same_time_start_one(launch: LaunchOptions) -> None:
    both = [SharedServer(launch, QUICK) for _ in range(2)]
    await asyncio.gather(*(shared.start() for shared in both))
    assert both[0].pid == both[1].pid
    for shared in both:
        await shared.close()
    await wait_until_no_process()


async def test_another_launch_or_other_weights_are_another_child(launch: LaunchOptions) -> None:
    first = SharedServer(launch, QUICK)
    await first.start()
    launch.model.write_text("{ }")
    second = SharedServer(launch, QUICK)
    third = SharedServer(LaunchOptions(launch.model, binary=launch.binary, slots=3), QUICK)
    await second.start()
    await third.start()
    assert len({first.pid, second.pid, third.pid}) == 3
    for shared in (first, second, third):
        await shared.close()
    await wait_until_no_process()


async def test_one_that_cannot_start_leaves_nothing(launch: LaunchOptions) -> None:
    launch.model.write_text('{"crash": true}')
    shared = SharedServer(launch, QUICK)
    with pytest.raises(LocalModelNotStarted):
        await shared.start()
    assert not shared.ready
    await wait_until_no_process()
    launch.model.unlink()
    with pytest.raises(LocalModelNotStarted, match="cannot be read"):
        await SharedServer(launch, QUICK).start()


@pytest.mark.demand("llamacpp.engine_child_process_loopback")
async def test_leaving_while_it_starts_leaves_nothing(launch: LaunchOptions) -> None:
    launch.model.write_text('{"mute": true}')
    shared = SharedServer(launch, QUICK)
    starting = asyncio.create_task(shared.start())
    await wait_until(lambda: len(list_started_pids()) >= 1)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await wait_until_no_process()
