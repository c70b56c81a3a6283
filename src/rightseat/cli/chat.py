"""`rightseat chat`: a conversation in the terminal, on a runtime in this process, without a server."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from msgspec.structs import replace

from rightseat.cli import log, print_error
from rightseat.cli.models import prepare_config
from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import NotFound
from rightseat.runtime.runs import new_id
from rightseat.server.terminal_progress import show_start
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Custom,
    Event,
    Interrupt,
    RunFailed,
    TextDelta,
    TextEnd,
)
from rightseat.types.messages import FileMessagePart, Message, text_message
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Turn, TurnClient
from rightseat.wiring.default_model import choose_model
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.runtime import Runtime

WIDTH = 100
LEAVE_COMMANDS = frozenset({"/quit", "/exit", "quit", "exit"})
HELP = (
    "Type a question and press Enter; the conversation is remembered until you leave.",
    "Ctrl-C stops an answer. Ctrl-D, /quit or /exit ends the chat.",
    "Questions [y/n] ask for your approval: only a yes runs the call.",
)

# Text of a model or a tool must not control the terminal: only line breaks and tabs pass.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """Prints events: the answer to stdout, everything else to stderr."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        self.text: list[str] = []
        self.calls: dict[str, tuple[str, str]] = {}
        self.line_open = False

    def read_line(self, prompt: str) -> str:
        prompt = _CONTROL.sub("", prompt)
        # The prompt must not get into redirected output.
        if not self.out.isatty():
            print(prompt, end="", file=self.err, flush=True)
            prompt = ""
        try:
            return input(prompt)
        except EOFError:
            # Ctrl-D leaves the cursor behind the prompt.
            if self.out.isatty():
                print(file=self.out)
            raise

    def print_note(self, line: str) -> None:
        line = _CONTROL.sub("", line)
        print(f"\x1b[2m{line}\x1b[0m" if self.err.isatty() else line, file=self.err, flush=True)

    def show_event(self, event: Event) -> None:
        match event:
            case TextDelta():
                self.text.append(event.text)
                self.print_text(event.text)
            case TextEnd():
                self.end_line()
            case CallStart():
                self.calls[event.id] = (event.name, "")
            case CallArgs():
                name, before = self.calls.get(event.id, ("", ""))
                self.calls[event.id] = (name, before + event.json)
            case CallEnd():
                name, arguments = self.calls.get(event.id, ("", ""))
                self.end_line()
                self.print_note(_shorten(f"· {name}({'' if arguments == '{}' else arguments})"))
            case Custom("history_cut", cut):
                self.print_note(f"(the {cut['dropped']} oldest messages no longer fit and were left out)")
            case CallResult():
                self.print_note(_shorten(f"  {'failed' if event.failed else '→'} {event.content}"))
            case _:
                pass  # steps, state and usage are not shown

    def print_text(self, text: str) -> None:
        text = _CONTROL.sub("", text)
        if text:
            self.line_open = not text.endswith("\n")
            print(text, end="", file=self.out, flush=True)

    def end_line(self) -> None:
        if self.line_open:
            self.line_open = False
            print(file=self.out, flush=True)

    def finish_answer(self) -> str:
        """End the line; return the text printed since the last call."""
        self.end_line()
        text, self.text, self.calls = "".join(self.text), [], {}
        return text


def _shorten(line: str) -> str:
    line = line.replace("\n", " ")
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


ReadLine = Callable[[str], str]


def chat(
    question: str | None,
    path: Path | None,
    *,
    model: str | None,
    assistant: str | None,
    flags: Mapping[str, Any],
    plugins: Sequence[Path] = (),
    files: Sequence[Path] = (),
) -> int:
    """Run the chat; returns the exit code: 1 when a single question was not answered."""
    attachments = tuple(map(load_attachment, files))
    config, runtime = prepare_runtime(path, model, flags, plugins)
    if assistant is not None and assistant not in runtime.responders:
        known = ", ".join(runtime.assistants)
        raise NotFound(f"There is no assistant {assistant!r}. Use one of: {known}.")
    screen = Terminal(sys.stdout, sys.stderr)
    with open_session(runtime, assistant, screen) as session:
        session.attachments = attachments
        if question is not None:
            return 0 if session.ask(question) else 1
        choice = choose_model(config)
        screen.print_note(f"{choice.model} ({choice.why}). Ctrl-C stops an answer, Ctrl-D ends the chat, /help helps.")
        for question in session.suggestions[:5]:
            screen.print_note(f"You could ask: {question}")
        session.run_loop()
        return 0


def prepare_runtime(
    path: Path | None, model: str | None, flags: Mapping[str, Any], plugins: Sequence[Path]
) -> tuple[Config, Runtime]:
    """Return configuration and runtime of a command that answers in the terminal; log warnings only."""
    config = prepare_config(load_config(path, model=model, flags=flags, plugins=plugins))
    log.configure_logging("console", "warning" if config.server.log_level == "info" else config.server.log_level)
    logging.getLogger("rightseat.runtime.runs").setLevel(logging.CRITICAL)  # the failure is shown as an answer
    return config, build_runtime(config)


@contextmanager
def open_session(runtime: Runtime, assistant: str | None, screen: Terminal) -> Iterator[ChatSession]:
    """Start the runtime and yield a session; close the runtime afterwards."""
    with asyncio.Runner() as runner:
        try:
            with show_start(runtime):
                runner.run(runtime.start())
            yield ChatSession(runtime, assistant, screen, runner, screen.read_line)
        finally:
            runner.run(runtime.close())


class ChatSession:
    """One conversation. One event loop serves all turns, because the models' connections belong to it."""

    def __init__(
        self, runtime: Runtime, assistant: str | None, screen: Terminal, runner: asyncio.Runner, read_line: ReadLine
    ) -> None:
        self.runtime = runtime
        self.assistant = assistant
        self.screen = screen
        self.runner = runner
        self.read_line = read_line
        self.thread = new_id()
        self.messages: list[Message] = []
        self.attachments: tuple[FileMessagePart, ...] = ()
        """Files for the next question."""
        self.answer_text = ""
        self.unanswered = ""
        """The question that nobody was there to answer."""

    @property
    def suggestions(self) -> tuple[str, ...]:
        assistant = self.runtime.get_assistant(self.assistant)
        return assistant.suggestions if assistant else ()

    def run_loop(self) -> None:
        while True:
            try:
                line = self.read_line("> ")
            except KeyboardInterrupt:
                self.screen.print_note("Ctrl-D ends the chat.")
                continue
            except EOFError:
                return
            command = line.strip().lower()
            if command in LEAVE_COMMANDS:
                return
            if command == "/help":
                for sentence in HELP:
                    self.screen.print_note(sentence)
            # An empty line asks a plugin's suggested question.
            elif line.strip() or self.attachments or (self.suggestions and not self.messages):
                self.ask(line)

    def ask(self, question: str) -> bool:
        """Run a question to its answer, asking the user at every interrupt; false without an answer."""
        message = text_message("user", question)
        self.messages.append(replace(message, parts=(*message.parts, *self.attachments)))
        self.attachments = ()
        self.answer_text = self.unanswered = ""
        answers: tuple[InterruptAnswer, ...] = ()
        while True:
            try:
                interrupts = self.runner.run(self.run_turn(answers))
            except KeyboardInterrupt:
                self.screen.finish_answer()
                self.screen.print_note("Stopped.")
                return False
            except _TurnFailed as error:
                self.screen.finish_answer()
                print_error(str(error))
                return False
            if not interrupts:
                return True
            answers = tuple(self.ask_user(interrupt) for interrupt in interrupts)

    async def run_turn(self, answers: tuple[InterruptAnswer, ...]) -> list[Interrupt]:
        """Run one turn; return its interrupts."""
        turn = Turn(
            messages=tuple(self.messages),
            assistant=self.assistant,
            answers=answers,
            thread=self.thread,
            client=TurnClient(shows_artifacts=False),
        )
        interrupts: list[Interrupt] = []
        async with closing(self.runtime.run(turn)) as events:
            async for event in events:
                if isinstance(event, Interrupt):
                    interrupts.append(event)
                elif isinstance(event, RunFailed):
                    raise _TurnFailed(event.message)
                else:
                    self.screen.show_event(event)
        self.answer_text += self.screen.finish_answer()
        # An interrupted turn is not over: its text becomes history when it ends.
        if self.answer_text and not interrupts:
            self.messages.append(text_message("assistant", self.answer_text))
            self.answer_text = ""
        return interrupts

    def ask_user(self, interrupt: Interrupt) -> InterruptAnswer:
        hint = " [y/n] " if interrupt.kind == "confirm" else " "
        try:
            text = self.read_line(f"{interrupt.message}{hint}")
        except (EOFError, KeyboardInterrupt):
            # Leaving is no consent.
            self.unanswered = interrupt.message
            return InterruptAnswer(interrupt.id, status="cancelled")
        return InterruptAnswer(interrupt.id, text=text)


def load_attachment(path: Path) -> FileMessagePart:
    try:
        data = path.expanduser().read_bytes()
    except OSError as error:
        raise NotFound(f"--file {path}: {error.strerror}.") from None
    media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileMessagePart(path.name, media, b64encode(data).decode())


class _TurnFailed(Exception):
    """The message of the RunFailed that ended a turn."""
