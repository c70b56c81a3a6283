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
from rightseat.types.agents import Responder
from rightseat.types.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    Interrupt,
    OpenMessageTracker,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    SubRunEvent,
    Suggestions,
    TextDelta,
    TextStart,
)
from rightseat.types.messages import text_message
from rightseat.types.model import SamplingSettings, ToolChoice
from rightseat.types.streams import closing
from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext, error_result
from rightseat.types.turn import InterruptAnswer, Turn

REQUEST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"request": {"type": "string", "description": "What is wanted, in full."}},
    "required": ["request"],
}
SUB_RUN_TIMEOUT = 24 * 3600.0
"""Sub-agent calls are bounded by the run's deadline, not by `tool_timeout`."""
PassedThroughEvent = StepStart | StepEnd | StateSnapshot | StateDelta | Custom | Artifact | Citations | Suggestions


def make_responder_tool(name: str, description: str, responder: Responder, agent: str = "") -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        sub_run = SubRun(agent or name, ctx, args["request"])
        yield sub_run.nest(RunStarted(sub_run.turn.thread, sub_run.turn.run))
        try:
            async with closing(responder(sub_run.turn)) as events:
                async for event in events:
                    if (nested := sub_run.on_event(event)) is not None:
                        yield nested
                    if sub_run.failed is not None:
                        break
        except RightseatError as error:
            sub_run.failed = RunFailed(error.code, error.message, error.status, error.fault)
        for end_event in sub_run.end_events():
            yield end_event
        final_event = sub_run.failed or RunFinished("interrupt" if sub_run.questions else "stop")
        yield sub_run.nest(final_event)
        yield sub_run.result()

    return Tool(name, description, REQUEST_SCHEMA, call, timeout=SUB_RUN_TIMEOUT, untrusted=True)


class SubRun:
    """One handed-over request: its text, questions and open messages so far."""

    def __init__(self, agent: str, ctx: ToolContext, request: str) -> None:
        self.agent = agent
        self.call_id = ctx.call_id
        self.turn = make_sub_turn(ctx, request)
        self.texts: list[str] = list(ctx.state["said"]) if ctx.state else []
        self.questions: list[Interrupt] = []
        self.failed: RunFailed | None = None
        self.steps: list[str] = []
        self.open_messages = OpenMessageTracker()

    def nest(self, event: Event) -> SubRunEvent:
        return SubRunEvent(self.turn.run, self.agent, self.call_id, event)

    def on_event(self, event: Event) -> Event | None:
        """Track an event and return what the caller's client gets of it, or None."""
        self.open_messages.track(event)
        match event:
            case TextStart() if self.texts:
                self.texts.append("\n\n")
            case TextDelta(text=text):
                self.texts.append(text)
            case StepStart(name):
                self.steps.append(name)
            case StepEnd(name) if name in self.steps:
                self.steps.remove(name)
            case Interrupt():
                self.questions.append(event)
                return None
            case RunFailed():
                self.failed = event
                return None
            case RunStarted() | RunFinished():
                return None
        # Text and calls are wrapped: they are not the caller's own.
        return event if isinstance(event, PassedThroughEvent) else self.nest(event)

    def end_events(self) -> list[Event]:
        """Return the end events of open messages and steps: the sub-run may fail and the caller go on."""
        return [*map(self.nest, self.open_messages.end_events()), *map(StepEnd, reversed(self.steps))]

    def result(self) -> Result | Pause:
        if self.failed is not None:
            return error_result(self.failed.code, self.failed.message)
        if not self.questions:
            return Result("".join(self.texts))
        interrupt_ids = [item.id for item in self.questions]
        asks = tuple(Ask(item.message, item.kind, item.schema) for item in self.questions)
        return Pause(asks, {"asked": interrupt_ids, "said": self.texts, "thread": self.turn.thread})


def make_sub_turn(ctx: ToolContext, request: str) -> Turn:
    """Make the sub-run's turn: a conversation of its own, without the client's tools. A resumed sub-run keeps
    its thread id, so that a stateful agent finds the thread again."""
    interrupt_ids: list[str] = ctx.state["asked"] if ctx.state else []
    answers = ctx.answers[len(ctx.answers) - len(interrupt_ids) :]
    return replace(
        ctx.turn,
        messages=(text_message("user", request),),
        thread=(ctx.state or {}).get("thread") or f"{ctx.turn.thread}.{ctx.call_id}",
        run=secrets.token_hex(12),
        assistant=None,
        tools=(),
        tool_choice=ToolChoice(),
        settings=SamplingSettings(),
        answers=tuple(InterruptAnswer(id, payload=value) for id, value in zip(interrupt_ids, answers, strict=True)),
        depth=ctx.turn.depth + 1,
        client=replace(ctx.turn.client, shows_interrupts=True),
        output_schema=None,
        caller_language=ctx.turn.get_language(),
        conversation=None,
    )
