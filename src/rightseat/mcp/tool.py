"""A server's tool as one of ours: `server__tool`, called over the link, asking people through the turn."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Container
from typing import Any, Literal

import mcp_types as types

from rightseat.errors import CallerError, UpstreamError
from rightseat.mcp.flight import Ended, Flight, Progress, Question
from rightseat.mcp.link import Link
from rightseat.mcp.outcome import outcome
from rightseat.mcp.questions import answer_of, ask_of
from rightseat.mcp.server import Server
from rightseat.types.events import Custom, Event
from rightseat.types.schema import checker
from rightseat.types.tokens import estimate
from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext, failure

LONGEST, MARK = 64, 6
OTHER = re.compile(r"[^a-zA-Z0-9_-]+")
STATUS = "progress"
"""The Custom event that tells how far a call is."""
CHARACTERS = 3
"""Of a token, at the least."""
DESCRIBED, GIVEN = 4000, 1 << 20
"""Characters of a description and of a result at most: a server decides over both."""


def named(server: str, tool: str, taken: Container[str]) -> str:
    """What a model calls it: plain, short enough for every upstream, and none that is `taken`."""
    name = f"{OTHER.sub('_', server)}__{OTHER.sub('_', tool)}"
    plain = OTHER.search(tool) is None
    if plain and len(name) <= LONGEST and name not in taken:
        return name
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:MARK]
    return f"{name[: LONGEST - MARK - 1]}_{mark}"


def confirms(server: Server, tool: types.Tool) -> bool:
    """Whether a person must agree first. A tool's own word never makes it less than `confirm` says."""
    match server.confirm:
        case "all":
            return True
        case "writes":
            return effect(tool) != "reads"
        case "dangerous":
            return effect(tool) == "dangerous"
        case "never":
            return False


def effect(tool: types.Tool) -> Literal["reads", "writes", "dangerous"]:
    """What the server says that it does at most. Whether that is true nobody here knows."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint is True:
        return "reads"
    return "dangerous" if hints is not None and hints.destructive_hint is True else "writes"


def usable(tool: types.Tool) -> bool:
    try:
        checker(tool.input_schema)
    except CallerError:
        return False
    return True


def tool_of(link: Link, tool: types.Tool, name: str) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        flight = resumed(link, ctx) if "flight" in (ctx.state or {}) else begun(link, tool.name, args, ctx)
        if flight is None:
            told = "The server's question has expired, and its call was given up. Call again."
            yield failure("expired", told)
            return
        try:
            while isinstance(item := await flight.items.get(), Progress):
                yield Custom(STATUS, status(ctx.call_id, name, item))
            for part in ending(flight, item, ctx):
                yield part
        finally:
            if flight.id not in link.held:
                await flight.end()

    return Tool(
        name,
        (tool.description or tool.title or tool.name)[:DESCRIBED],
        {"type": "object", **tool.input_schema},
        call,
        confirm=confirms(link.server, tool),
        timeout=link.server.timeout,
        effect=effect(tool),
        outside=True,
    )


def ending(
    flight: Flight, item: Question | Ended | UpstreamError, ctx: ToolContext
) -> list[Event | Result | Pause]:
    """How the call leaves this turn: over, or with a question."""
    match item:
        case Question(params):
            return [asked(flight, params)]
        case types.InputRequiredResult():
            return [required(item)]
        case types.CallToolResult():
            shown, result = outcome(ctx.call_id, flight.name, item)
            return [*shown, fitted(result, ctx.budget)]
        case error:
            return [failure(error.code, error.message)]


def begun(link: Link, name: str, args: dict[str, Any], ctx: ToolContext) -> Flight:
    """A call, or the call anew with what the server asked for: so the newer era goes on."""
    state = ctx.state or {}
    if not state:
        return Flight(link, name, args, {})
    asks = [Ask(**ask) for ask in state["asks"]]
    given = ctx.answers[len(ctx.answers) - len(asks) :]
    answers = {key: answer_of(ask, value) for key, ask, value in zip(state["keys"], asks, given, strict=True)}
    return Flight(link, name, args, {"input_responses": answers, "request_state": state["state"]})


def resumed(link: Link, ctx: ToolContext) -> Flight | None:
    """The call that waits inside its server for an answer: so the older era goes on, in this process."""
    flight = link.held.pop(ctx.state["flight"], None)
    if flight is None or flight.answer is None or flight.answer.done():
        return None
    flight.answer.set_result(answer_of(Ask(**ctx.state["ask"]), ctx.answers[-1]))
    return flight


def asked(flight: Flight, params: Any) -> Pause | Result:
    ask = ask_of(params)
    if ask is None:
        return failure("unsupported", "The server wants something of its client that is no question.")
    flight.link.hold(flight)
    return Pause((ask,), {"flight": flight.id, "ask": plain(ask)})


def required(result: types.InputRequiredResult) -> Pause | Result:
    """The newer era ends the call with its questions, and wants it anew with the answers."""
    requests = result.input_requests or {}
    asks = [ask_of(getattr(request, "params", None)) for request in requests.values()]
    if not asks or None in asks:
        return failure("unsupported", "The server wants something of its client that is no question.")
    found = tuple(ask for ask in asks if ask is not None)
    state = {"asks": [plain(ask) for ask in found], "keys": list(requests), "state": result.request_state}
    return Pause(found, state)


def plain(ask: Ask) -> dict[str, Any]:
    return {"message": ask.message, "kind": ask.kind, "schema": ask.schema}


def status(call: str, name: str, item: Progress) -> dict[str, Any]:
    told: dict[str, Any] = {"call": call, "tool": name, "progress": item.done}
    if item.total is not None:
        told["total"] = item.total
    if item.message is not None:
        told["message"] = item.message
    return told


def fitted(result: Result, budget: int | None) -> Result:
    """What the model's context has room for."""
    if result.failed:
        return result
    text = result.text
    tight = budget is not None and estimate(text) > budget
    most = min(GIVEN, budget * CHARACTERS) if tight and budget is not None else GIVEN
    if len(text) <= most:
        return result
    return Result(f"{text[:most]}\n[cut: the result is too long for the model]")
