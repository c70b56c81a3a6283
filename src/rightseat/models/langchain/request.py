"""Prompt → LangChain messages, built field by field: message data is never deserialized into objects."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from rightseat.models.langchain.thoughts import kept
from rightseat.types.messages import Call, File, Image, Message, Part, Text, said
from rightseat.types.model import Prompt

Block = str | dict[Any, Any]

_RULE = "When you answer in words, answer with one JSON value that fits this JSON Schema, and nothing else:\n"


def messages(prompt: Prompt, model: str) -> list[BaseMessage]:
    given = prompt.messages
    if prompt.output_schema is not None:
        # No common way to enforce a schema exists: put it into the instructions and validate here.
        rule = _RULE + msgspec.json.encode(prompt.output_schema).decode()
        first = given[:1] if given and given[0].role in ("system", "developer") else ()
        told = f"{first[0].text}\n\n{rule}" if first else rule
        given = (said("system", told), *given[len(first) :])
    return [_message(message, model) for message in given]


def _message(message: Message, model: str) -> BaseMessage:
    match message.role:
        case "system" | "developer":
            return SystemMessage(content=message.text)
        case "user":
            return HumanMessage(content=_content(message.parts), name=message.name)
        case "assistant":
            thought = kept(message, model)
            content: str | list[Block] = _content(message.parts)
            if thought:
                content = [*thought, *([{"type": "text", "text": message.text}] if message.text else [])]
            return AIMessage(content=content, tool_calls=[_call(call) for call in message.calls])
        case "tool":
            return ToolMessage(
                content=_content(message.parts), tool_call_id=message.call_id or "", name=message.name
            )
        case _:
            assert_never(message.role)


def _call(call: Call) -> Any:
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        arguments = None
    return {
        "name": call.name,
        "args": arguments if isinstance(arguments, dict) else {},
        "id": call.id,
        "type": "tool_call",
    }


def _content(parts: tuple[Part, ...]) -> str | list[Block]:
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [_part(part) for part in parts]


def _part(part: Part) -> Block:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            detail = {} if part.detail is None else {"detail": part.detail}
            return {"type": "image_url", "image_url": {"url": part.url, **detail}}
        case File():
            return {"type": "file", "file": _file(part)}
        case _:
            assert_never(part)


def _file(part: File) -> dict[str, str]:
    data = part.data
    if data is not None and not data.startswith("data:"):
        data = f"data:{part.media_type or 'application/octet-stream'};base64,{data}"
    given = {"filename": part.name, "file_id": part.file_id, "file_data": data}
    return {key: value for key, value in given.items() if value is not None}
