"""Runs, model calls and tool calls, counted for /metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection

from rightseat.errors import RightseatError
from rightseat.events import CallResult, CallStart, Event, RunFailed, RunFinished, TextDelta
from rightseat.fragments import Fragment, Used
from rightseat.layers.source import Around, Source
from rightseat.metrics import Meters
from rightseat.prompt import Model, Prompt
from rightseat.responder import Layer, Responder
from rightseat.streams import closing
from rightseat.turn import Turn

CLIENT, UNKNOWN = "(client)", "(unknown)"
Clock = Callable[[], float]


def counted(
    meters: Meters, assistants: Collection[str], tools: Collection[str], clock: Clock = time.perf_counter
) -> Layer:
    """For around the run itself: only there every end is seen. `tools` are the server's own."""

    def layer(inner: Responder) -> Responder:
        async def respond(turn: Turn) -> AsyncIterator[Event]:
            name = turn.assistant or "default"
            tally = Tally(meters, name if name in assistants else UNKNOWN, tools, clock)
            try:
                async with closing(inner(turn)) as events:
                    async for event in events:
                        if type(event) is not TextDelta:
                            tally.see(event)
                        elif tally.silent:
                            tally.speak()
                        yield event
            finally:
                tally.end()

        return respond

    return layer


class Tally:
    """One run as it is counted. Without a last event its client has left."""

    def __init__(self, meters: Meters, assistant: str, tools: Collection[str], clock: Clock) -> None:
        self.meters = meters
        self.assistant = assistant
        self.tools = tools
        self.clock = clock
        self.began = clock()
        self.silent = True
        self.reason = "left"
        self.calls: dict[str, str] = {}
        meters.active.value += 1

    def speak(self) -> None:
        self.silent = False
        self.meters.first_token.see(self.clock() - self.began, self.assistant)

    def see(self, event: Event) -> None:
        match event:
            case CallStart(client=True):
                self.meters.tool_calls.add(CLIENT, "client")
            case CallStart(id, name):
                # A model may call what does not exist, by any name.
                self.calls[id] = name if name in self.tools else UNKNOWN
            case CallResult(id, failed=failed):
                tool = self.calls.pop(id, UNKNOWN)
                self.meters.tool_calls.add(tool, "failed" if failed else "ok")
            case RunFinished(reason):
                self.reason = reason
            case RunFailed(code):
                self.reason = "failed"
                self.meters.failures.add(self.assistant, code)
            case _:
                pass

    def end(self) -> None:
        self.meters.active.value -= 1
        self.meters.runs.add(self.assistant, self.reason)
        self.meters.run_seconds.see(self.clock() - self.began, self.assistant)


class Counted(Around):
    """A model whose calls are counted."""

    def __init__(
        self, model: Model, source: Source, meters: Meters, clock: Clock = time.perf_counter
    ) -> None:
        super().__init__(model, source)
        self.meters = meters
        self.clock = clock

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        meters, name = self.meters, self.source.model
        began = self.clock()
        outcome = "failed"
        try:
            async with closing(self.model.stream(prompt)) as fragments:
                async for fragment in fragments:
                    if type(fragment) is Used:
                        meters.tokens.add(name, "input", by=fragment.usage.input)
                        meters.tokens.add(name, "output", by=fragment.usage.output)
                    yield fragment
            outcome = "ok"
        except RightseatError as error:
            outcome = error.code
            raise
        except (GeneratorExit, asyncio.CancelledError):
            outcome = "left"
            raise
        finally:
            meters.model_calls.add(name, outcome)
            meters.model_seconds.see(self.clock() - began, name)
