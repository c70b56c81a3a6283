"""Tool trials: a tool called directly with a person's arguments, as a normal run without a model. So it is
metered, limited, stopped and confirmed as a model's call is. A tool's failure is a result."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.errors import NotFound
from rightseat.http.endpoint import Request
from rightseat.http.fetch.watching import record_requests
from rightseat.types.events import CallResult, Interrupt, RunFailed
from rightseat.types.messages import Message, ToolCall
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Turn
from rightseat.wiring.library import Runtime


class TrialAnswer(Struct, frozen=True, kw_only=True):
    """What a person answered to a question of the call's."""

    id: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None


class ToolTrial(Struct, frozen=True, kw_only=True):
    tool: str
    arguments: dict[str, Any] = {}
    answers: list[TrialAnswer] = []
    """Answers to earlier questions of the call: it resumes with its original arguments."""


async def try_tool(runtime: Runtime, trial: ToolTrial, request: Request) -> dict[str, Any]:
    if trial.tool not in runtime.tools:
        raise NotFound(f"No plugin has a tool called {trial.tool[:64]!r}.", param="tool")
    began = time.perf_counter()
    with record_requests() as requests:
        outcome = await run_trial(runtime, make_turn(trial, request))
    return {**outcome, "requests": requests, "ms": round((time.perf_counter() - began) * 1000)}


def make_turn(trial: ToolTrial, request: Request) -> Turn:
    call = ToolCall("call", trial.tool, msgspec.json.encode(trial.arguments).decode())
    return Turn(
        messages=(Message("assistant", calls=(call,)),),
        assistant=DIRECT_CALLS,
        answers=tuple(InterruptAnswer(one.id, one.status, one.payload) for one in trial.answers),
        owner=request.owner,
        headers=request.forwarded_headers,
        base_url=request.base,
    )


async def run_trial(runtime: Runtime, turn: Turn) -> dict[str, Any]:
    """Run the call; return its result, or the questions that it asks first."""
    outcome: dict[str, Any] = {"result": "", "failed": False}
    questions: list[dict[str, Any]] = []
    async with closing(runtime.run(turn)) as events:
        async for event in events:
            match event:
                case CallResult(_, content, failed):
                    outcome = {"result": content, "failed": failed}
                case Interrupt(id, _, message, schema):
                    questions.append({"id": id, "message": message, "responseSchema": schema})
                case RunFailed(_, message):
                    outcome = {"result": message, "failed": True}
                case _:
                    pass
    return {"asks": questions} if questions else outcome
