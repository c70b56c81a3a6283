"""Make Tools of a server's tools, named `server__tool`; elicitations pause the turn."""

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
"""Name of the Custom event for a call's progress."""
CHARACTERS = 3
"""Characters of a token at least."""
DESCRIBED, GIVEN = 4000, 1 << 20
"""Characters of a description and of a result at most; both are untrusted."""


def named(server: str, tool: str, taken: Container[str]) -> str:
    """Make the tool's name for the model: valid and short enough for every upstream, and not in `taken`."""
    name = f"{OTHER.sub('_', server)}__{OTHER.sub('_', tool)}"
    plain = OTHER.search(tool) is None
    if plain and len(name) <= LONGEST and name not in taken:
        return name
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:MARK]
    return f"{name[: LONGEST - MARK - 1]}_{mark}"


def confirms(server: Server, tool: types.Tool) -> bool:
    """Whether the user must confirm a call, by the server's `confirm` setting and the tool's annotations."""
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
    """Return the tool's effect by its annotations, which are not verified."""
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
    """Convert the call's last item to artifacts and a Result, or to a Pause."""
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
    """Start a call, or repeat it with the answers that a stateless server asked for."""
    state = ctx.state or {}
    if not state:
        return Flight(link, name, args, {})
    asks = [Ask(**ask) for ask in state["asks"]]
    given = ctx.answers[len(ctx.answers) - len(asks) :]
    answers = {key: answer_of(ask, value) for key, ask, value in zip(state["keys"], asks, given, strict=True)}
    return Flight(link, name, args, {"input_responses": answers, "request_state": state["state"]})


def resumed(link: Link, ctx: ToolContext) -> Flight | None:
    """Return the held call of a handshake server after passing it the answer; None if it has expired."""
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
    """Pause for a stateless server's questions; the call is repeated with the answers."""
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
    """Truncate a result to the model's budget."""
    if result.failed:
        return result
    text = result.text
    tight = budget is not None and estimate(text) > budget
    most = min(GIVEN, budget * CHARACTERS) if tight and budget is not None else GIVEN
    if len(text) <= most:
        return result
    return Result(f"{text[:most]}\n[cut: the result is too long for the model]")
