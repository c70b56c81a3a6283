"""Tools in processes of their own: warm, killable, gone with their parent."""

import asyncio
import inspect
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.errors import ChildDied, ConfigError
from rightseat.tools.function import tool
from rightseat.tools.subprocess import ChildReply, ToolProcesses
from rightseat.types.streams import closing
from rightseat.types.tools import Result, Tool, ToolContext
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.tools import isolated as module
from tests.unit.tools.isolated import decorated

pytestmark = pytest.mark.io

MODULE = "tests.unit.tools.isolated"
ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def open_processes(qualname: str) -> AsyncIterator[ToolProcesses]:
    child = ToolProcesses(MODULE, qualname)
    try:
        yield child
    finally:
        await child.close()


def is_running(pid: int) -> bool:
    """Whether the process runs; one that has ended but is not yet waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def wait_for_pid(file: Path) -> int:
    await wait_until(file.exists)
    return int(read_file(file))


def read_file(file: Path) -> str:
    return file.read_text("utf-8")


async def wait_until_ended(pid: int) -> None:
    await wait_until(lambda: not is_running(pid))


@pytest.mark.parametrize(
    ("qualname", "args", "value"),
    [
        ("add", {"a": 2, "b": 3}, 5),
        ("add", {"a": 2}, 3),
        ("day", {"when": "2024-05-01T00:00:00"}, "Wednesday"),
        ("later", {"text": "héllo 你好"}, "héllo 你好"),
        ("Shed.inside", {}, "in a class"),
        ("prints", {}, "truth"),
    ],
)
async def test_a_value_comes_back(qualname: str, args: dict[str, object], value: object) -> None:
    async with open_processes(qualname) as child:
        assert await child.call(args) == ChildReply(value)


async def test_an_exception_comes_back_as_words_and_the_child_lives_on() -> None:
    async with open_processes("fails") as child:
        first = await child.call({"message": "kaboom"})
        [(_, process)] = child.idle
        second = await child.call({"message": "x" * 1000})
        assert first == ChildReply(error="ValueError: kaboom")
        assert len(second.error) == 500
        assert [warm for _, warm in child.idle] == [process]


@pytest.mark.demand("engine.tool_isolate_true_runs")
async def test_a_warm_child_is_used_again_and_never_twice_at_once() -> None:
    async with open_processes("pid") as child:
        first = await child.call({})
        assert await child.call({}) == first
        assert first.value != os.getpid()
        both = await asyncio.gather(child.call({}), child.call({}))
        assert both[0] != both[1]
        assert first in both


async def test_only_two_stay_warm() -> None:
    async with open_processes("pid") as child:
        replies = await asyncio.gather(*(child.call({}) for _ in range(3)))
        assert len(child.idle) == 2
        warm = {process.pid for _, process in child.idle}
        [left] = {reply.value for reply in replies} - warm
        await wait_until_ended(left)
    for pid in warm:
        await wait_until_ended(pid)


@pytest.mark.demand("engine.tool_isolate_true_runs")
async def test_a_timeout_kills_the_child_and_the_next_call_works(tmp_path: Path) -> None:
    async with open_processes("hangs") as child:
        call = asyncio.create_task(child.call({"file": str(tmp_path / "pid")}))
        pid = await wait_for_pid(tmp_path / "pid")
        assert is_running(pid)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call
        await wait_until_ended(pid)
        assert child.idle == []
        child.qualname = "add"
        assert (await child.call({"a": 1})).value == 2


async def test_a_cancelled_call_kills_its_child_only(tmp_path: Path) -> None:
    async with open_processes("hangs") as child:
        files = [tmp_path / "one", tmp_path / "two"]
        tasks = [asyncio.create_task(child.call({"file": str(file)})) for file in files]
        one, two = [await wait_for_pid(file) for file in files]
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        await wait_until_ended(one)
        assert is_running(two)
        tasks[1].cancel()
        await asyncio.wait(tasks)
        await wait_until_ended(two)


async def test_a_crash_is_said_and_the_next_call_works() -> None:
    async with open_processes("crashes") as child:
        with pytest.raises(ChildDied, match="crashes died during the call") as caught:
            await child.call({})
        assert caught.value.code == "tool_crashed"
        child.qualname = "add"
        assert (await child.call({"a": 1})).value == 2


@pytest.mark.demand("engine.tool_isolate_true_runs")
async def test_a_parent_killed_leaves_no_child(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    parent = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.unit.tools.parent", str(file), cwd=ROOT)
    try:
        pid = await wait_for_pid(file)
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
    finally:
        if parent.returncode is None:
            parent.kill()
        await parent.wait()
    await wait_until_ended(pid)


async def test_what_a_child_cannot_import_is_refused_in_words() -> None:
    def closure() -> None: ...

    for where, qualname in [("__main__", "main"), (MODULE, closure.__qualname__)]:
        with pytest.raises(ConfigError, match="top level of a module"):
            await ToolProcesses(where, qualname).call({})


async def test_a_result_that_is_not_json_becomes_text() -> None:
    async with open_processes("odd") as child:
        assert (await child.call({})).value == {"a": "<class 'object'>", "n": 1}


@asynccontextmanager
async def open_tool_call(name: str) -> AsyncIterator[list[object]]:
    thing = vars(module)[name]
    made = thing if isinstance(thing, Tool) else tool(isolate=True)(thing)
    assert made.call is not None
    child = inspect.getclosurevars(made.call).nonlocals["processes"]
    args = {"a": 4} if name == "decorated" else {}
    try:
        yield [item async for item in made.call(args, ToolContext(Turn(messages=())))]
    finally:
        await child.close()


async def test_the_decorated_tool_runs_elsewhere() -> None:
    assert decorated.description == "Doubles."
    async with open_tool_call("decorated") as items:
        assert items == [Result(8)]


async def test_a_result_stays_a_result() -> None:
    async with open_tool_call("handed") as items:
        assert items == [Result("no", failed=True)]


async def test_arguments_that_the_types_refuse_are_an_error_and_no_crash() -> None:
    async with open_processes("day") as child:
        assert "when" in (await child.call({"when": "next week"})).error


async def test_what_a_tool_has_started_is_killed_with_it(tmp_path: Path) -> None:
    async with open_processes("breeds") as child:
        call = asyncio.create_task(child.call({"file": str(tmp_path / "pid")}))
        pid = await wait_for_pid(tmp_path / "pid")
        call.cancel()
        await asyncio.wait([call])
    try:
        await wait_until(lambda: not is_running(pid))
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        pytest.fail("the tool's own child is still there")


async def test_a_closed_runtime_leaves_no_child() -> None:
    runtime = Runtime(model=FakeModel(reply_calls(("decorated", '{"a":1}')), reply_text("ok")), tools=[decorated])
    assert decorated.call is not None
    child = inspect.getclosurevars(decorated.call).nonlocals["processes"]
    try:
        async with closing(runtime.run(Turn(messages=()))) as events:
            assert [event async for event in events]
        [(_, process)] = child.idle
        await runtime.close()
        assert not is_running(process.pid)
    finally:
        await child.close()


async def test_a_warm_child_that_died_is_replaced() -> None:
    async with open_processes("pid") as child:
        first = (await child.call({})).value
        os.kill(first, signal.SIGKILL)
        await wait_until_ended(first)
        [(_, process)] = child.idle
        async with asyncio.timeout(HANG_TIMEOUT):
            await process.wait()
        assert (await child.call({})).value != first
