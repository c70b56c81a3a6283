"""A Responder as a tool of another: an assistant, an agent or a flow that a model can call.

Its steps, state and artifacts go through to the door; its words are the tool's result; its questions become
the caller's, and so on up to the door.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from rightseat.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    Interrupt,
    RunFailed,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    Suggestions,
    TextDelta,
)
from rightseat.messages import said
from rightseat.prompt import Settings, ToolChoice
from rightseat.responder import Responder
from rightseat.streams import closing
from rightseat.tools import Ask, Pause, Result, Tool, ToolContext, failure
from rightseat.turn import Answer, Turn

REQUEST: dict[str, Any] = {
    "type": "object",
    "properties": {"request": {"type": "string", "description": "What is wanted, in full."}},
    "required": ["request"],
}
Through = StepStart | StepEnd | StateSnapshot | StateDelta | Custom | Artifact | Citations | Suggestions


def responder_tool(name: str, description: str, responder: Responder) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        texts: list[str] = list(ctx.state["said"]) if ctx.state else []
        questions: list[Interrupt] = []
        async with closing(responder(inner(ctx, args["request"]))) as events:
            async for event in events:
                match event:
                    case TextDelta(text=text):
                        texts.append(text)
                    case Interrupt():
                        questions.append(event)
                    case RunFailed(code, message):
                        yield failure(code, message)
                        return
                    case _ if isinstance(event, Through):
                        yield event
                    case _:
                        pass
        if questions:
            asks = tuple(Ask(item.message, item.kind, item.schema) for item in questions)
            yield Pause(asks, {"asked": [item.id for item in questions], "said": texts})
        else:
            yield Result("".join(texts))

    return Tool(name, description, REQUEST, call)


def inner(ctx: ToolContext, request: str) -> Turn:
    """The caller's turn one level down: its own conversation, and none of the client's tools."""
    asked: list[str] = ctx.state["asked"] if ctx.state else []
    given = ctx.answers[len(ctx.answers) - len(asked) :]
    return replace(
        ctx.turn,
        messages=(said("user", request),),
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
