"""A Turn as the body of /agents/execute, where each text, call and result is a message of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.agents.agui.request import select_client_tools
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.turn import InterruptAnswer, Turn

FlatMessage = dict[str, Any]


def build_execute_body(
    name: str, turn: Turn, thread: uuid.UUID, ids: list[str], node: str | None
) -> dict[str, Any]:
    """Build the request body. `node` is where the agent stopped, if it is to resume there."""
    return {
        "name": name,
        "threadId": str(thread),
        "nodeName": node,
        "messages": list(flatten_messages(turn, ids)),
        "state": turn.state if isinstance(turn.state, dict) else {},
        "config": turn.forwarded.config,
        "properties": turn.forwarded.properties,
        "actions": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in select_client_tools(turn)
        ],
        "metaEvents": [
            {"name": "LangGraphInterruptEvent", "response": format_interrupt_response(answer)}
            for answer in turn.answers[:1]
        ],
    }


def format_interrupt_response(answer: InterruptAnswer) -> str:
    """Return an answer as text, the form that CopilotKit's own clients send."""
    if answer.status == "cancelled":
        return "cancelled"
    if answer.text is not None:
        return answer.text
    if isinstance(answer.payload, str):
        return answer.payload
    return msgspec.json.encode(answer.payload).decode()


def flatten_messages(turn: Turn, ids: list[str]) -> Iterator[FlatMessage]:
    names = {call.id: call.name for message in turn.messages for call in message.calls}
    for message, id in zip(turn.messages, ids, strict=True):
        if message.role == "tool":
            call = message.call_id or ""
            fields: FlatMessage = {
                "actionExecutionId": call,
                "actionName": names.get(call, ""),
                "result": message.text,
            }
            yield {"id": id, "type": "ResultMessage", **fields}
            continue
        if message.text or not message.calls:
            role = "system" if message.role == "developer" else message.role
            yield {"id": id, "type": "TextMessage", "role": role, "content": message.text}
        for tool_call in message.calls:
            fields = {
                "name": tool_call.name,
                "arguments": decode_call_arguments(tool_call.arguments),
                "parentMessageId": id,
            }
            yield {"id": tool_call.id, "type": "ActionExecutionMessage", **fields}


def decode_call_arguments(arguments: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def parse_state_messages(items: Any) -> tuple[Message, ...]:
    """Parse the messages of /agents/state, joining the calls of one message."""
    messages: list[Message] = []
    for item in items if isinstance(items, list) else ():
        match item:
            case {"id": str(id), "role": ("user" | "assistant" | "system") as role, "content": str(text)}:
                messages.append(text_message(role, text, id=id))
            case {"id": str(id), "name": str(name), "arguments": arguments}:
                call = ToolCall(id, name, msgspec.json.encode(arguments).decode())
                parent = item.get("parentMessageId") or id
                if messages and messages[-1].id == parent and messages[-1].role == "assistant":
                    messages[-1] = msgspec.structs.replace(messages[-1], calls=(*messages[-1].calls, call))
                else:
                    messages.append(Message("assistant", calls=(call,), id=parent))
            case {"id": str(id), "actionExecutionId": str(call_id), "result": result}:
                text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
                messages.append(text_message("tool", text, call_id=call_id, id=id))
            case _:
                pass
    return tuple(messages)
