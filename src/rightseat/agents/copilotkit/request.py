"""A Turn as the body of /agents/execute, where each text, call and result is a message of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.agents.agui.request import callable_tools
from rightseat.types.messages import Call, Message, said
from rightseat.types.turn import Answer, Turn

Flat = dict[str, Any]


def body(name: str, turn: Turn, thread: uuid.UUID, ids: list[str], node: str | None) -> dict[str, Any]:
    """Build the request body. `node` is where the agent stopped, if it is to resume there."""
    return {
        "name": name,
        "threadId": str(thread),
        "nodeName": node,
        "messages": list(messages(turn, ids)),
        "state": turn.state if isinstance(turn.state, dict) else {},
        "config": turn.forwarded.config,
        "properties": turn.forwarded.properties,
        "actions": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in callable_tools(turn)
        ],
        "metaEvents": [
            {"name": "LangGraphInterruptEvent", "response": response(answer)} for answer in turn.answers[:1]
        ],
    }


def response(answer: Answer) -> str:
    """Return an answer as text, the form that CopilotKit's own clients send."""
    if answer.status == "cancelled":
        return "cancelled"
    if answer.text is not None:
        return answer.text
    if isinstance(answer.payload, str):
        return answer.payload
    return msgspec.json.encode(answer.payload).decode()


def messages(turn: Turn, ids: list[str]) -> Iterator[Flat]:
    names = {call.id: call.name for message in turn.messages for call in message.calls}
    for message, id in zip(turn.messages, ids, strict=True):
        if message.role == "tool":
            call = message.call_id or ""
            about: Flat = {
                "actionExecutionId": call,
                "actionName": names.get(call, ""),
                "result": message.text,
            }
            yield {"id": id, "type": "ResultMessage", **about}
            continue
        if message.text or not message.calls:
            role = "system" if message.role == "developer" else message.role
            yield {"id": id, "type": "TextMessage", "role": role, "content": message.text}
        for one in message.calls:
            about = {"name": one.name, "arguments": decoded(one.arguments), "parentMessageId": id}
            yield {"id": one.id, "type": "ActionExecutionMessage", **about}


def decoded(arguments: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def recalled(listed: Any) -> tuple[Message, ...]:
    """Parse the messages of /agents/state, joining the calls of one message."""
    made: list[Message] = []
    for item in listed if isinstance(listed, list) else ():
        match item:
            case {"id": str(id), "role": ("user" | "assistant" | "system") as role, "content": str(text)}:
                made.append(said(role, text, id=id))
            case {"id": str(id), "name": str(name), "arguments": arguments}:
                call = Call(id, name, msgspec.json.encode(arguments).decode())
                parent = item.get("parentMessageId") or id
                if made and made[-1].id == parent and made[-1].role == "assistant":
                    made[-1] = msgspec.structs.replace(made[-1], calls=(*made[-1].calls, call))
                else:
                    made.append(Message("assistant", calls=(call,), id=parent))
            case {"id": str(id), "actionExecutionId": str(call_id), "result": result}:
                text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
                made.append(said("tool", text, call_id=call_id, id=id))
            case _:
                pass
    return tuple(made)
