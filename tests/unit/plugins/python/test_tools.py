"""lib/ tools run in confined processes: typed, limited, and alone in what they break."""

import asyncio
import logging
from pathlib import Path
from textwrap import dedent

import pytest
from msgspec.structs import replace

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.errors import ChildDied
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.python.tools import PythonPolicy, ScriptLoadError, describe_in_process, make_script_tools
from rightseat.plugins.selection import ToolSelection
from rightseat.tools import subprocess
from rightseat.tools.subprocess import Confinement, ToolProcesses
from rightseat.types.events import CallResult, Interrupt
from rightseat.types.messages import FileMessagePart, Message, TextMessagePart, text_message
from rightseat.types.streams import closing
from rightseat.types.tools import Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Turn
from rightseat.wiring.runtime import RuntimeParts
from tests.kit import process
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.plugins.python.script_plugins import call_once, load_script_plugin

pytestmark = pytest.mark.io


def load_tool(folder: Path, text: str, rules: PythonPolicy | None = None) -> Tool:
    tools, problems = make_script_tools(
        load_script_plugin(folder / "kit", things=dedent(text)), rules or PythonPolicy()
    )
    assert problems == []
    assert len(tools) == 1
    return tools[0]


@pytest.mark.demand("plugins.python_tools_plain_tool")
async def test_arguments_are_typed_and_a_value_comes_back(tmp_path: Path) -> None:
    tool = load_tool(
        tmp_path,
        '''
        from rightseat import tool

        @tool
        async def add(a: int, b: float = 0.5) -> dict:
            """Adds."""
            return {"sum": a + b, "types": [type(a).__name__, type(b).__name__]}
        ''',
    )
    assert tool.name == "kit_add"
    assert await call_once(tool, {"a": 2}) == Result({"sum": 2.5, "types": ["int", "float"]})


@pytest.mark.demand("plugins.missing_required_values_question")
async def test_what_is_missing_is_asked_for_and_not_invented(tmp_path: Path) -> None:
    text = '''
    from rightseat import tool

    @tool
    def book(seat: str, nights: int, breakfast: bool = True) -> str:
        """Books.

        Args:
            seat: The seat's number.
        """
        return f"{seat} {nights} {breakfast}"
    '''
    tool = load_tool(tmp_path, text)
    runtime = Runtime(model=FakeModel(reply_calls(("kit_book", '{"nights":2}')), reply_text("done")), tools=[tool])
    turn = Turn(messages=(text_message("user", "Book two nights"),))
    try:
        async with closing(runtime.run(turn)) as events:
            [asked] = [event async for event in events if isinstance(event, Interrupt)]
        assert asked.kind == "form"
        assert asked.message == "book needs seat (The seat's number.). Which value shall it have?"
        assert (asked.schema["required"], [*asked.schema["properties"]]) == (["seat"], ["seat"])
        answered = replace(turn, answers=(InterruptAnswer(asked.id, payload={"seat": "A7"}),))
        async with closing(runtime.run(answered)) as events:
            [result] = [event async for event in events if isinstance(event, CallResult)]
        assert result.content == "A7 2 True"
    finally:
        await runtime.close()
    # What is there and wrong is still the model's mistake.
    assert tool.check is not None
    assert "nights" in (tool.check({"nights": "two"}) or "")


@pytest.mark.demand("plugins.python_tools_guide_sdk")
async def test_a_class_of_the_sdk_gets_what_a_flow_would_give_it(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    made = load_script_plugin(
        folder,
        __init__="from .rank import Rank\n_exported = [Rank]",
        rank="""
        class Rank:
            name = "rank"
            description = "Sorts."

            def __init__(self, params):
                self.params = params

            async def call(self, fixed_params):
                assert fixed_params == self.params
                return {"output": fixed_params, "message": "done"}
        """,
    )
    (tool,), _ = make_script_tools(made, PythonPolicy())
    asked = Message("user", (TextMessagePart("which?"), FileMessagePart("a.txt", "text/plain", "aGk=")))
    result = await call_once(tool, {"top": 3}, asked)
    told = result.content["output"]
    assert result.content["message"] == "done"
    assert told["top"] == 3
    assert told["question"] == "which?"
    assert told["files"] == [{"name": "a.txt", "type": "text/plain", "data": "aGk="}]
    assert told["previous_data"]["data"]["output"] == "from the step before"
    assert "which?" in told["context"]


@pytest.mark.demand("plugins.run_child_process_time")
async def test_the_environment_of_the_server_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-secret")
    text = '''
    import os
    from rightseat import tool

    @tool
    def env() -> dict:
        """Shows."""
        return dict(os.environ)
    '''
    result = await call_once(load_tool(tmp_path, text, PythonPolicy(environment={"MODE": "fast"})), {})
    assert result.content["MODE"] == "fast"
    assert "canary-secret" not in result.text


@pytest.mark.demand("plugins.run_child_process_time")
async def test_what_it_prints_goes_to_the_log_and_not_into_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.tools.subprocess")
    text = '''
    from rightseat import tool

    @tool
    def chatty() -> str:
        """Talks."""
        print('{"value": "a lie"}')
        print("one", "line", 1)
        print("and no end", end="")
        return "truth"
    '''
    tool = load_tool(tmp_path, text)
    assert tool.call is not None
    assert tool.close is not None
    async with closing(tool.call({}, ToolContext(Turn(messages=())))) as items:
        assert [item async for item in items] == [Result("truth")]
    # Told by the line, in however many pieces it was written.
    await wait_until(lambda: "chatty: one line 1" in caplog.text)
    assert "a lie" in caplog.text
    await tool.close()


@pytest.mark.demand("plugins.run_child_process_time")
async def test_too_much_memory_is_a_failed_call(tmp_path: Path) -> None:
    text = '''
    from rightseat import tool

    @tool
    def eats() -> int:
        """Eats."""
        return len(bytearray(2 << 30))
    '''
    result = await call_once(load_tool(tmp_path, text, PythonPolicy(memory=512 << 20)), {})
    assert result.failed
    assert result.text.endswith('"message":"MemoryError"}}'), result.text


@pytest.mark.demand("plugins.run_child_process_time")
@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os; os._exit(3)", "tool_crashed"),
        ("import ctypes; ctypes.string_at(0)", "tool_crashed"),
        ("raise ValueError('kaboom')", "kaboom"),
        ("import sys; sys.exit(3)", "The tool left by exit(3)"),
        ("while True: pass", "timeout"),
        ("import time; time.sleep(600)", "timeout"),
    ],
)
async def test_a_crash_or_an_endless_loop_harms_one_call_only(tmp_path: Path, body: str, said: str) -> None:
    made = load_script_plugin(
        tmp_path / "kit",
        a=f'from rightseat import tool\n@tool\ndef bad() -> str:\n    """Bad."""\n    {body}',
        b='from rightseat import tool\n@tool\ndef good() -> str:\n    """Good."""\n    return "fine"',
    )
    tools, _ = make_script_tools(made, PythonPolicy(seconds=HANG_TIMEOUT if said != "timeout" else 8.0))
    shelf = PluginCatalog([LoadedPlugin(made, tools)])
    model = FakeModel(reply_calls(("kit_bad", "{}"), ("kit_good", "{}")), reply_text("done"))
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    try:
        async with closing(runtime.run(Turn(messages=(Message("user", (TextMessagePart("go"),)),)))) as events:
            _ = [event async for event in events]
    finally:
        await runtime.close()
    first, second = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert said in first
    assert second == "fine"


@pytest.mark.long
async def test_a_call_that_nobody_stops_ends_by_its_limit(tmp_path: Path) -> None:
    """As after the server's death: a loop in C lets no thread see that the pipe is closed."""
    text = '''
    from rightseat import tool

    @tool
    def counts() -> int:
        """Counts."""
        return sum(range(10**13))
    '''
    with pytest.raises(ChildDied):
        await call_once(load_tool(tmp_path, text, PythonPolicy(seconds=1)), {})


@pytest.mark.long
async def test_a_process_without_work_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "IDLE_SECONDS", 1)
    text = '''
    import os
    from rightseat import tool

    @tool
    def pid() -> int:
        """Tells."""
        return os.getpid()
    '''
    tool = load_tool(tmp_path, text)
    assert tool.call is not None
    assert tool.close is not None
    async with closing(tool.call({}, ToolContext(Turn(messages=())))) as items:
        (result,) = [item async for item in items]
    assert isinstance(result, Result)
    assert process.is_alive(result.content)
    await wait_until(lambda: not process.is_alive(result.content))
    await tool.close()


@pytest.mark.long
async def test_the_loop_is_free_while_it_loads(tmp_path: Path) -> None:
    text = '''
    import time
    from rightseat import tool
    time.sleep(1)

    @tool
    def slow() -> str:
        """Slow."""
        return "there"
    '''
    tool = load_tool(tmp_path, text)
    turns = 0

    async def ticks() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    ticking = asyncio.create_task(ticks())
    assert (await call_once(tool, {})).content == "there"
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    # Most of a hundred while it sleeps, and none in a loop that waits for it.
    assert turns >= 10


@pytest.mark.demand("plugins.python_tools_plain_tool")
def test_types_of_its_own_are_told_by_its_process(tmp_path: Path) -> None:
    text = '''
    from enum import Enum
    from pydantic import BaseModel
    from rightseat import tool

    class Level(Enum):
        low = "low"
        high = "high"

    class Ticket(BaseModel):
        title: str
        level: Level

    @tool
    def open_ticket(ticket: Ticket) -> str:
        """Opens."""
        return ticket.title
    '''
    tool = load_tool(tmp_path, text)
    assert tool.parameters["$defs"]["Level"]["enum"] == ["low", "high"]


@pytest.mark.parametrize(
    ("top", "said"), [("import nowhere_to_be_found", "nowhere_to_be_found"), ("import os; os._exit(1)", "process died")]
)
def test_one_that_cannot_be_loaded_is_a_problem_and_no_tool(tmp_path: Path, top: str, said: str) -> None:
    text = f'{top}\nfrom x import Odd, tool\n@tool\ndef f(a: Odd) -> str:\n    """Does."""'
    tools, problems = make_script_tools(load_script_plugin(tmp_path / "kit", a=text), PythonPolicy())
    assert tools == ()
    assert said in str(problems[0])


async def test_a_long_answer_is_cut_to_what_fits(tmp_path: Path) -> None:
    text = '''
    from rightseat import tool

    @tool
    def long() -> str:
        """Long."""
        return "begin " + "x" * 1_000_000 + " end"
    '''
    result = await call_once(load_tool(tmp_path, text), {})
    assert len(result.text) < 100_000
    assert result.text.startswith("begin")
    assert result.text.endswith("end")
    assert "left out" in result.text


def test_what_is_no_schema_is_a_problem_and_no_tool(tmp_path: Path) -> None:
    text = """
    class Odd:
        description = "Odd."
        spec = {"type": "no such type"}
        def call(self, params): ...

    class Binary:
        description = "Its spec is no JSON."
        spec = {"type": "object", "properties": {"a": {"default": 3j}}}
        def call(self, params): ...

    exported = [Odd, Binary]
    """
    tools, problems = make_script_tools(load_script_plugin(tmp_path / "kit", __init__=text), PythonPolicy())
    assert [tool.name for tool in tools] == ["kit_Binary"]
    assert tools[0].parameters == {"type": "object", "properties": {}}
    assert "lib/__init__.py:2: Odd: What it takes is no JSON Schema" in str(problems[0])


@pytest.mark.long
def test_one_that_never_loads_is_given_up(tmp_path: Path) -> None:
    made = load_script_plugin(tmp_path / "kit", a='import time\ntime.sleep(600)\n@tool\ndef f():\n    """Does."""')
    rules = Confinement(folder=str(made.folder), memory=1 << 30, seconds=60)
    with pytest.raises(ScriptLoadError, match="took longer than 1 s"):
        describe_in_process(ToolProcesses("lib.a", "f", rules), seconds=1)


def test_two_of_one_name_in_other_letters_stay_two(tmp_path: Path) -> None:
    text = '''
    @tool(name="查询")
    def a():
        """One."""

    @tool(name="查 询")
    def b():
        """Two."""
    '''
    tools, _ = make_script_tools(load_script_plugin(tmp_path / "kit", a=text), PythonPolicy(confirm=True))
    assert len({tool.name for tool in tools}) == 2
    assert all(tool.confirm for tool in tools)


def test_tools_have_the_effects_that_their_author_names(tmp_path: Path) -> None:
    text = '''
    @tool(effect="reads")
    def look():
        """Looks."""

    @tool(confirm=True)
    def wipe():
        """Wipes."""

    @tool
    def note():
        """Notes."""
    '''
    tools, problems = make_script_tools(load_script_plugin(tmp_path / "kit", a=text), PythonPolicy())
    assert problems == []
    assert [(tool.effect, tool.confirm) for tool in tools] == [("reads", False), ("dangerous", True), ("writes", False)]
