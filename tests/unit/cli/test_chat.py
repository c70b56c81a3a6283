from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from rightseat.cli.chat import ChatSession, Terminal
from rightseat.engine.loop import Assistant
from rightseat.tools.function import tool
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.events import CallResult, TextDelta
from rightseat.types.model import Model, Prompt
from rightseat.types.tools import Tool, ToolContext
from rightseat.wiring.runtime import Runtime

Script = Callable[[Prompt], AsyncIterator[ModelChunk]]
ChatWithOutput = tuple[ChatSession, io.StringIO, io.StringIO]


class FunctionModel(Model):
    """A model that is one function."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        return self.script(prompt)


async def stream_echo(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    heard = [message.text for message in prompt.messages if message.role == "user"]
    yield TextChunk(f"heard {len(heard)}: ")
    yield TextChunk(heard[-1])
    yield FinishChunk("stop")


def make_tool_calling_script(name: str, arguments: str = "{}") -> Script:
    """Calls a tool, then says what it gave."""

    async def script(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        last = prompt.messages[-1]
        if last.role == "tool":
            yield TextChunk(f"got {last.text}")
            yield FinishChunk("stop")
        else:
            yield ToolCallStart(0, name)
            yield ToolCallArgs(0, arguments)
            yield FinishChunk("calls")

    return script


class Keyboard:
    """Lines to be typed; None is Ctrl-D, an exception is raised."""

    def __init__(self, *lines: str | BaseException) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line


@contextlib.contextmanager
def open_chat(script: Script, keyboard: Keyboard, *tools: Tool) -> Iterator[ChatWithOutput]:
    out, err = io.StringIO(), io.StringIO()
    model: Model = FunctionModel(script)
    runtime = Runtime(assistants=[Assistant("default", model, tools=tools)])
    with asyncio.Runner() as runner:
        yield ChatSession(runtime, None, Terminal(out, err), runner, keyboard.read), out, err


def test_a_conversation_is_remembered_until_ctrl_d() -> None:
    with open_chat(stream_echo, Keyboard("one", "  ", "two")) as (talk, out, _):
        talk.run_loop()
    assert out.getvalue() == "heard 1: one\nheard 2: two\n"
    assert [(message.role, message.text) for message in talk.messages] == [
        ("user", "one"),
        ("assistant", "heard 1: one"),
        ("user", "two"),
        ("assistant", "heard 2: two"),
    ]


@pytest.mark.parametrize("typed", ["/quit", "/exit", "quit", " Exit "])
def test_a_command_leaves_the_chat(typed: str) -> None:
    keyboard = Keyboard("one", typed, "two")
    with open_chat(stream_echo, keyboard) as (talk, out, _):
        talk.run_loop()
    assert out.getvalue() == "heard 1: one\n"
    assert keyboard.lines == ["two"]


def test_help_is_printed_beside_the_conversation() -> None:
    with open_chat(stream_echo, Keyboard("/help", "how do I exit vim?")) as (talk, out, aside):
        talk.run_loop()
    assert out.getvalue() == "heard 1: how do I exit vim?\n"
    assert len(aside.getvalue().splitlines()) == 3
    assert "/quit" in aside.getvalue()


def test_a_call_is_one_line_beside_the_answer() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    with open_chat(make_tool_calling_script("add", '{"a":2,"b":3}'), Keyboard(), tool(add)) as (talk, out, aside):
        assert talk.ask("2+3?")
    assert out.getvalue() == "got 5\n"
    assert aside.getvalue() == '· add({"a":2,"b":3})\n  → 5\n'


@pytest.mark.demand("engine.rightseat_chat_terminal_approvals")
@pytest.mark.parametrize(("typed", "ran"), [("y", 1), ("n", 0), (EOFError(), 0), (KeyboardInterrupt(), 0)])
def test_an_approval_is_asked_for_and_only_a_yes_runs_it(typed: str | BaseException, ran: int) -> None:
    runs: list[str] = []

    def erase() -> str:
        """Erase."""
        runs.append("erased")
        return "done"

    keyboard = Keyboard(typed)
    with open_chat(make_tool_calling_script("erase"), keyboard, tool(confirm=True)(erase)) as (talk, out, _):
        assert talk.ask("erase it")
    assert len(runs) == ran
    assert keyboard.prompts[0].endswith(" [y/n] ")
    assert "got" in out.getvalue()


@pytest.mark.demand("engine.rightseat_chat_terminal_approvals")
def test_a_question_is_answered_inline() -> None:
    def greet(ctx: ToolContext) -> str:
        """Greet."""
        return f"Hello {ctx.ask('Your name?')}"

    keyboard = Keyboard("Ada")
    with open_chat(make_tool_calling_script("greet"), keyboard, tool(greet)) as (talk, out, _):
        assert talk.ask("greet me")
    assert keyboard.prompts == ["Your name? "]
    assert "got Hello Ada" in out.getvalue()


def test_ctrl_c_stops_the_answer_but_not_the_conversation() -> None:
    closed: list[bool] = []

    async def slow(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        if len(prompt.messages) > 1:
            yield TextChunk("again")
            yield FinishChunk("stop")
            return
        yield TextChunk("begun")
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(30)
        finally:
            closed.append(True)

    with open_chat(slow, Keyboard("one", KeyboardInterrupt(), "two")) as (talk, out, aside):
        talk.run_loop()
    assert closed == [True]
    assert out.getvalue() == "begun\nagain\n"
    assert aside.getvalue() == "Stopped.\nCtrl-D ends the chat.\n"


def test_a_failure_is_said_and_is_not_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    async def cut(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("half")

    with open_chat(cut, Keyboard()) as (talk, out, _):
        assert not talk.ask("go")
    assert out.getvalue() == "half\n"
    assert capsys.readouterr().err.startswith("error: ")


def test_no_text_steers_the_terminal() -> None:
    out, aside = io.StringIO(), io.StringIO()
    screen = Terminal(out, aside)
    screen.show_event(TextDelta("m", "a\x1b[2Jb\x07\n\tc\x9b"))
    screen.show_event(CallResult("c", "x\x1b]0;title\x07\ny" + "z" * 200))
    assert screen.finish_answer() == "a\x1b[2Jb\x07\n\tc\x9b"
    assert out.getvalue() == "a[2Jb\n\tc\n"
    assert "\x1b" not in aside.getvalue()
    assert aside.getvalue().count("\n") == 1
    assert len(aside.getvalue()) <= 101
