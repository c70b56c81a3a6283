"""Make Tools of a server's tools, named `server__tool`; elicitations pause the turn."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Container
from typing import Any, Literal

import mcp_types as types

from rightseat.errors import CallerError, UpstreamError
from rightseat.mcp.flight import CallProgress, FinalResult, RemoteToolCall, ServerQuestion
from rightseat.mcp.link import McpConnection
from rightseat.mcp.outcome import convert_result
from rightseat.mcp.questions import make_elicit_result, parse_elicitation
from rightseat.mcp.server import McpServerConfig
from rightseat.types.events import Custom, Event
from rightseat.types.schema import get_validator
from rightseat.types.tokens import estimate_tokens
from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext, error_result

MAX_NAME_LENGTH, HASH_LENGTH = 64, 6
INVALID_CHARS = re.compile(r"[^a-zA-Z0-9_-]+")
PROGRESS_EVENT = "progress"
"""Name of the Custom event for a call's progress."""
CHARS_PER_TOKEN = 3
"""Characters of a token at least."""
MAX_DESCRIPTION, MAX_RESULT = 4000, 1 << 20
"""Characters of a description and of a result at most; both are untrusted."""


def make_tool_name(server: str, tool: str, taken: Container[str]) -> str:
    """Make the tool's name for the model: valid and short enough for every upstream, and not in `taken`."""
    name = f"{INVALID_CHARS.sub('_', server)}__{INVALID_CHARS.sub('_', tool)}"
    is_valid = INVALID_CHARS.search(tool) is None
    if is_valid and len(name) <= MAX_NAME_LENGTH and name not in taken:
        return name
    suffix = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:HASH_LENGTH]
    return f"{name[: MAX_NAME_LENGTH - HASH_LENGTH - 1]}_{suffix}"


def needs_confirmation(server: McpServerConfig, tool: types.Tool) -> bool:
    """Whether the user must confirm a call, by the server's `confirm` setting and the tool's annotations."""
    match server.confirm:
        case "all":
            return True
        case "writes":
            return get_effect(tool) != "reads"
        case "dangerous":
            return get_effect(tool) == "dangerous"
        case "never":
            return False


def get_effect(tool: types.Tool) -> Literal["reads", "writes", "dangerous"]:
    """Return the tool's effect by its annotations, which are not verified."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint is True:
        return "reads"
    return "dangerous" if hints is not None and hints.destructive_hint is True else "writes"


def has_valid_schema(tool: types.Tool) -> bool:
    try:
        get_validator(tool.input_schema)
    except CallerError:
        return False
    return True


def make_tool(connection: McpConnection, tool: types.Tool, name: str) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        remote_call = (
            resume_call(connection, ctx)
            if "flight" in (ctx.state or {})
            else start_call(connection, tool.name, args, ctx)
        )
        if remote_call is None:
            message = "The server's question has expired, and its call was given up. Call again."
            yield error_result("expired", message)
            return
        try:
            while isinstance(item := await remote_call.items.get(), CallProgress):
                yield Custom(PROGRESS_EVENT, make_progress_value(ctx.call_id, name, item))
            for part in finish_call(remote_call, item, ctx):
                yield part
        finally:
            if remote_call.id not in connection.held_calls:
                await remote_call.close()

    return Tool(
        name,
        (tool.description or tool.title or tool.name)[:MAX_DESCRIPTION],
        {"type": "object", **tool.input_schema},
        call,
        confirm=needs_confirmation(connection.server, tool),
        timeout=connection.server.timeout,
        effect=get_effect(tool),
        untrusted=True,
    )


def finish_call(
    remote_call: RemoteToolCall, item: ServerQuestion | FinalResult | UpstreamError, ctx: ToolContext
) -> list[Event | Result | Pause]:
    """Convert the call's last item to artifacts and a Result, or to a Pause."""
    match item:
        case ServerQuestion(params):
            return [hold_for_answer(remote_call, params)]
        case types.InputRequiredResult():
            return [pause_for_input(item)]
        case types.CallToolResult():
            artifacts, result = convert_result(ctx.call_id, remote_call.name, item)
            return [*artifacts, truncate_result(result, ctx.budget)]
        case error:
            return [error_result(error.code, error.message)]


def start_call(
    connection: McpConnection, name: str, args: dict[str, Any], ctx: ToolContext
) -> RemoteToolCall:
    """Start a call, or repeat it with the answers that a stateless server asked for."""
    state = ctx.state or {}
    if not state:
        return RemoteToolCall(connection, name, args, {})
    asks = [Ask(**ask) for ask in state["asks"]]
    values = ctx.answers[len(ctx.answers) - len(asks) :]
    answers = {
        key: make_elicit_result(ask, value)
        for key, ask, value in zip(state["keys"], asks, values, strict=True)
    }
    return RemoteToolCall(
        connection, name, args, {"input_responses": answers, "request_state": state["state"]}
    )


def resume_call(connection: McpConnection, ctx: ToolContext) -> RemoteToolCall | None:
    """Return the held call of a handshake server after passing it the answer; None if it has expired."""
    remote_call = connection.held_calls.pop(ctx.state["flight"], None)
    if remote_call is None or remote_call.answer is None or remote_call.answer.done():
        return None
    remote_call.answer.set_result(make_elicit_result(Ask(**ctx.state["ask"]), ctx.answers[-1]))
    return remote_call


def hold_for_answer(remote_call: RemoteToolCall, params: Any) -> Pause | Result:
    ask = parse_elicitation(params)
    if ask is None:
        return error_result("unsupported", "The server wants something of its client that is no question.")
    remote_call.connection.hold_call(remote_call)
    return Pause((ask,), {"flight": remote_call.id, "ask": ask_to_dict(ask)})


def pause_for_input(result: types.InputRequiredResult) -> Pause | Result:
    """Pause for a stateless server's questions; the call is repeated with the answers."""
    requests = result.input_requests or {}
    asks = [parse_elicitation(getattr(request, "params", None)) for request in requests.values()]
    if not asks or None in asks:
        return error_result("unsupported", "The server wants something of its client that is no question.")
    questions = tuple(ask for ask in asks if ask is not None)
    state = {
        "asks": [ask_to_dict(ask) for ask in questions],
        "keys": list(requests),
        "state": result.request_state,
    }
    return Pause(questions, state)


def ask_to_dict(ask: Ask) -> dict[str, Any]:
    return {"message": ask.message, "kind": ask.kind, "schema": ask.schema}


def make_progress_value(call: str, name: str, item: CallProgress) -> dict[str, Any]:
    value: dict[str, Any] = {"call": call, "tool": name, "progress": item.done}
    if item.total is not None:
        value["total"] = item.total
    if item.message is not None:
        value["message"] = item.message
    return value


def truncate_result(result: Result, budget: int | None) -> Result:
    """Truncate a result to the model's budget."""
    if result.failed:
        return result
    text = result.text
    over_budget = budget is not None and estimate_tokens(text) > budget
    max_characters = (
        min(MAX_RESULT, budget * CHARS_PER_TOKEN) if over_budget and budget is not None else MAX_RESULT
    )
    if len(text) <= max_characters:
        return result
    return Result(f"{text[:max_characters]}\n[cut: the result is too long for the model]")
