"""Convert tools/call to a turn: a user message for an `ask_NAME` tool, else a direct tool call."""

from __future__ import annotations

import msgspec

from rightseat.doors.mcp.catalogue import list_ask_tools, make_unknown_error
from rightseat.doors.mcp.questions import parse_answer
from rightseat.doors.mcp.wire import INVALID_PARAMS, JsonRpcError, McpRequest
from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.http.endpoint import ID_PATTERN, Host, Request
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.turn import InterruptAnswer, Turn


def make_turn(rpc: McpRequest, request: Request, host: Host) -> Turn:
    """Make the turn of a tools/call: a user message for an `ask_NAME` tool, else a direct tool call."""
    name = rpc.require_text("name")
    arguments = rpc.params.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise JsonRpcError(INVALID_PARAMS, "arguments: an object is expected.")
    if name in host.tools:
        call = ToolCall("call", name, msgspec.json.encode(arguments).decode())
        messages, assistant = (Message("assistant", calls=(call,)),), DIRECT_CALLS
    elif ask_tool := list_ask_tools(host).get(name):
        text = arguments.get("request")
        if not isinstance(text, str) or not text.strip():
            raise JsonRpcError(INVALID_PARAMS, "arguments.request: say what is wanted, in words.")
        messages, assistant = (text_message("user", text),), ask_tool.responder
    else:
        raise make_unknown_error("tool", name, [*host.tools, *list_ask_tools(host)])
    state = rpc.params.get("requestState")
    return Turn(
        messages=messages,
        assistant=assistant,
        answers=parse_answers(rpc),
        thread=state if isinstance(state, str) and ID_PATTERN.fullmatch(state) else "",
        owner=request.owner,
        headers=request.forwarded_headers,
        base_url=request.base,
        shows_artifacts=False,
    )


def parse_answers(rpc: McpRequest) -> tuple[InterruptAnswer, ...]:
    """Parse `inputResponses`, which a stateless client sends when it repeats the call."""
    responses = rpc.params.get("inputResponses")
    return (
        tuple(parse_answer(key, value) for key, value in responses.items())
        if isinstance(responses, dict)
        else ()
    )
