"""Responder as a tool: an assistant, an agent or a flow that a model can call.

Steps, state and artifacts of the sub-run appear as the caller's own; its text and tool calls are wrapped in
SubRunEvent, and its text is the tool's result. Its questions become questions of the caller.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from rightseat.errors import RightseatError
from rightseat.types.events import (
    Artifact,
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Citations,
    Custom,
    Event,
    Interrupt,
    Nested,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import said
from rightseat.types.model import Settings, ToolChoice
from rightseat.types.responder import Responder
from rightseat.types.streams import closing
from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext, failure
from rightseat.types.turn import Answer, Turn

REQUEST: dict[str, Any] = {
    "type": "object",
    "properties": {"request": {"type": "string", "description": "What is wanted, in full."}},
    "required": ["request"],
}
# Wrapped in SubRunEvent: they are not the caller's own text and calls.
Inside = (
    TextStart,
    TextDelta,
    TextEnd,
    ReasoningStart,
    ReasoningDelta,
    ReasoningEnd,
    CallStart,
    CallArgs,
    CallEnd,
    CallResult,
    Nested,
)
HOURS = 24 * 3600.0
"""Sub-agent calls are bounded by the run's deadline, not by `tool_timeout`."""
Through = StepStart | StepEnd | StateSnapshot | StateDelta | Custom | Artifact | Citations | Suggestions


def responder_tool(name: str, description: str, responder: Responder, agent: str = "") -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        errand = Errand(agent or name, ctx, args["request"])
        yield errand.shown(RunStarted(errand.turn.thread, errand.turn.run))
        try:
            async with closing(responder(errand.turn)) as events:
                async for event in events:
                    if (shown := errand.see(event)) is not None:
                        yield shown
                    if errand.failed is not None:
                        break
        except RightseatError as error:
            errand.failed = RunFailed(error.code, error.message, error.status, error.fault)
        for left in errand.left():
            yield left
        yield errand.shown(errand.end)
        yield errand.result()

    return Tool(name, description, REQUEST, call, timeout=HOURS, outside=True)


class Errand:
    """One handed-over request: its text, questions and open messages so far."""

    def __init__(self, agent: str, ctx: ToolContext, request: str) -> None:
        self.agent = agent
        self.call = ctx.call_id
        self.turn = inner(ctx, request)
        self.texts: list[str] = list(ctx.state["said"]) if ctx.state else []
        self.questions: list[Interrupt] = []
        self.failed: RunFailed | None = None
        self.steps: list[str] = []
        self.open: dict[str, TextEnd | ReasoningEnd] = {}

    def shown(self, event: Event) -> Nested:
        return Nested(self.turn.run, self.agent, self.call, event)

    def see(self, event: Event) -> Event | None:
        """Track an event and return what the caller's client gets of it, or None."""
        self.follow(event)
        match event:
            case TextStart() if self.texts:
                self.texts.append("\n\n")
            case TextDelta(text=text):
                self.texts.append(text)
            case Interrupt():
                self.questions.append(event)
            case RunFailed():
                self.failed = event
            case _ if isinstance(event, Through):
                return event
            case _:
                pass
        return self.shown(event) if isinstance(event, Inside) else None

    def follow(self, event: Event) -> None:
        match event:
            case StepStart(name):
                self.steps.append(name)
            case StepEnd(name) if name in self.steps:
                self.steps.remove(name)
            case TextStart(id):
                self.open[id] = TextEnd(id)
            case ReasoningStart(id):
                self.open[id] = ReasoningEnd(id)
            case TextEnd(id) | ReasoningEnd(id):
                self.open.pop(id, None)
            case _:
                pass

    def left(self) -> list[Event]:
        """Return the end events of open messages and steps: the sub-run may fail and the caller go on."""
        return [*map(self.shown, self.open.values()), *map(StepEnd, reversed(self.steps))]

    @property
    def end(self) -> RunFailed | RunFinished:
        return self.failed or RunFinished("interrupt" if self.questions else "stop")

    def result(self) -> Result | Pause:
        if self.failed is not None:
            return failure(self.failed.code, self.failed.message)
        if not self.questions:
            return Result("".join(self.texts))
        asked = [item.id for item in self.questions]
        asks = tuple(Ask(item.message, item.kind, item.schema) for item in self.questions)
        return Pause(asks, {"asked": asked, "said": self.texts, "thread": self.turn.thread})


def inner(ctx: ToolContext, request: str) -> Turn:
    """Make the sub-run's turn: a conversation of its own, without the client's tools. A resumed sub-run keeps
    its thread id, so that a stateful agent finds the thread again."""
    asked: list[str] = ctx.state["asked"] if ctx.state else []
    given = ctx.answers[len(ctx.answers) - len(asked) :]
    return replace(
        ctx.turn,
        messages=(said("user", request),),
        thread=(ctx.state or {}).get("thread") or f"{ctx.turn.thread}.{ctx.call_id}",
        run=secrets.token_hex(12),
        assistant=None,
        tools=(),
        tool_choice=ToolChoice(),
        settings=Settings(),
        answers=tuple(Answer(id, payload=value) for id, value in zip(asked, given, strict=True)),
        depth=ctx.turn.depth + 1,
        shows_interrupts=True,
        output_schema=None,
        conversation=None,
    )
