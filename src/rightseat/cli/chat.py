"""`rightseat chat`: a conversation in the terminal, on a runtime in this process, without a server."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightseat import wiring as registry
from rightseat.cli import complain, log
from rightseat.cli.embedded import prepared
from rightseat.cli.screen import Screen
from rightseat.config import load
from rightseat.errors import NotFound
from rightseat.runtime.runtime import Runtime, new_id
from rightseat.server.progress import waiting
from rightseat.types.events import Interrupt, RunFailed
from rightseat.types.messages import File, Message, said
from rightseat.types.streams import closing
from rightseat.types.turn import Answer, Turn

Read = Callable[[str], str]


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
    attached = tuple(map(attachment, files))
    config = prepared(load(path, model=model, flags=flags, plugins=plugins))
    log.configure("console", "warning" if config.server.log_level == "info" else config.server.log_level)
    logging.getLogger("rightseat.runtime.runtime").setLevel(
        logging.CRITICAL
    )  # the failure is shown as an answer
    runtime = registry.runtime(config)
    if assistant is not None and assistant not in runtime.responders:
        known = ", ".join(runtime.assistants)
        raise NotFound(f"There is no assistant {assistant!r}. Those that exist: {known}.")
    screen = Screen(sys.stdout, sys.stderr)
    with asyncio.Runner() as runner:
        talk = Talk(runtime, assistant, screen, runner, screen.read)
        talk.attached = attached
        try:
            with waiting("Loading the local model"):
                runner.run(runtime.start())
            if question is not None:
                return 0 if talk.ask(question) else 1
            choice = registry.choose(config)
            screen.note(f"{choice.model} ({choice.why}). Ctrl-C stops an answer, Ctrl-D leaves.")
            for question in talk.suggestions[:5]:
                screen.note(f"You could ask: {question}")
            talk.loop()
            return 0
        finally:
            runner.run(runtime.close())


class Talk:
    """One conversation. One event loop serves all turns, because the models' connections belong to it."""

    def __init__(
        self, runtime: Runtime, assistant: str | None, screen: Screen, runner: asyncio.Runner, read: Read
    ) -> None:
        self.runtime = runtime
        self.assistant = assistant
        self.screen = screen
        self.runner = runner
        self.read = read
        self.thread = new_id()
        self.messages: list[Message] = []
        self.attached: tuple[File, ...] = ()
        """Files for the next question."""
        self.words = ""

    @property
    def suggestions(self) -> tuple[str, ...]:
        found = self.runtime.assistant(self.assistant)
        return found.suggestions if found else ()

    def loop(self) -> None:
        while True:
            try:
                line = self.read("> ")
            except KeyboardInterrupt:
                self.screen.note("Ctrl-D leaves.")
                continue
            except EOFError:
                return
            # An empty line asks a plugin's suggested question.
            if line.strip() or self.attached or (self.suggestions and not self.messages):
                self.ask(line)

    def ask(self, question: str) -> bool:
        """Run a question to its answer, asking the user at every interrupt; false without an answer."""
        message = said("user", question)
        self.messages.append(replace(message, parts=(*message.parts, *self.attached)))
        self.attached = ()
        self.words = ""
        answers: tuple[Answer, ...] = ()
        while True:
            try:
                asked = self.runner.run(self.turn(answers))
            except KeyboardInterrupt:
                self.screen.end()
                self.screen.note("Stopped.")
                return False
            except _Failed as error:
                self.screen.end()
                complain(error.failed.message)
                return False
            if not asked:
                return True
            answers = tuple(self.answer(interrupt) for interrupt in asked)

    async def turn(self, answers: tuple[Answer, ...]) -> list[Interrupt]:
        """Run one turn; return its interrupts."""
        turn = Turn(
            messages=tuple(self.messages), assistant=self.assistant, answers=answers, thread=self.thread
        )
        asked: list[Interrupt] = []
        async with closing(self.runtime.run(turn)) as events:
            async for event in events:
                if isinstance(event, Interrupt):
                    asked.append(event)
                elif isinstance(event, RunFailed):
                    raise _Failed(event)
                else:
                    self.screen.show(event)
        self.words += self.screen.end()
        # An interrupted turn is not over: its text becomes history when it ends.
        if self.words and not asked:
            self.messages.append(said("assistant", self.words))
            self.words = ""
        return asked

    def answer(self, interrupt: Interrupt) -> Answer:
        hint = " [y/n] " if interrupt.kind == "confirm" else " "
        try:
            text = self.read(f"{interrupt.message}{hint}")
        except (EOFError, KeyboardInterrupt):
            # Leaving is no consent.
            return Answer(interrupt.id, status="cancelled")
        return Answer(interrupt.id, text=text)


def attachment(path: Path) -> File:
    try:
        data = path.expanduser().read_bytes()
    except OSError as error:
        raise NotFound(f"--file {path}: {error.strerror}.") from None
    media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return File(path.name, media, b64encode(data).decode())


class _Failed(Exception):
    def __init__(self, failed: RunFailed) -> None:
        super().__init__(failed.message)
        self.failed = failed
