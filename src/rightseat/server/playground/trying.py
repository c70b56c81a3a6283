"""Tool trials: a tool called directly with a person's arguments, as a normal run without a model. So it is
metered, limited, stopped and confirmed as a model's call is. A tool's failure is a result."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.engine.toolsets import CALLED
from rightseat.errors import NotFound
from rightseat.http.endpoint import Request
from rightseat.http.fetch.watching import watching
from rightseat.types.events import CallResult, Interrupt, RunFailed
from rightseat.types.messages import Call, Message
from rightseat.types.streams import closing
from rightseat.types.turn import Answer, Turn
from rightseat.wiring.library import Runtime


class Said(Struct, frozen=True, kw_only=True):
    """What a person answered to a question of the call's."""

    id: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None


class Attempt(Struct, frozen=True, kw_only=True):
    tool: str
    arguments: dict[str, Any] = {}
    answers: list[Said] = []
    """Answers to earlier questions of the call: it resumes with its original arguments."""


async def tried(runtime: Runtime, given: Attempt, request: Request) -> dict[str, Any]:
    if given.tool not in runtime.tools:
        raise NotFound(f"No plugin has a tool called {given.tool[:64]!r}.", param="tool")
    began = time.perf_counter()
    with watching() as seen:
        told = await carried_out(runtime, turn_of(given, request))
    return {**told, "requests": seen, "ms": round((time.perf_counter() - began) * 1000)}


def turn_of(given: Attempt, request: Request) -> Turn:
    call = Call("call", given.tool, msgspec.json.encode(given.arguments).decode())
    return Turn(
        messages=(Message("assistant", calls=(call,)),),
        assistant=CALLED,
        answers=tuple(Answer(one.id, one.status, one.payload) for one in given.answers),
        owner=request.owner,
        headers=request.passed,
        base=request.base,
    )


async def carried_out(runtime: Runtime, turn: Turn) -> dict[str, Any]:
    """Run the call; return its result, or the questions that it asks first."""
    told: dict[str, Any] = {"result": "", "failed": False}
    asks: list[dict[str, Any]] = []
    async with closing(runtime.run(turn)) as events:
        async for event in events:
            match event:
                case CallResult(_, content, failed):
                    told = {"result": content, "failed": failed}
                case Interrupt(id, _, message, schema):
                    asks.append({"id": id, "message": message, "responseSchema": schema})
                case RunFailed(_, message):
                    told = {"result": message, "failed": True}
                case _:
                    pass
    return {"asks": asks} if asks else told
