"""Prompt → LangChain messages, built field by field: message data is never deserialized into objects."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from rightseat.models.langchain.stream_parser import read_signed_blocks
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    TextMessagePart,
    ToolCall,
    text_message,
)
from rightseat.types.model import Prompt

MessageBlock = str | dict[Any, Any]

_SCHEMA_INSTRUCTION = (
    "When you answer in words, answer with one JSON value that fits this JSON Schema, and nothing else:\n"
)


def build_messages(prompt: Prompt, model: str) -> list[BaseMessage]:
    prompt_messages = prompt.messages
    if prompt.output_schema is not None:
        # No common way to enforce a schema exists: put it into the instructions and validate here.
        rule = _SCHEMA_INSTRUCTION + msgspec.json.encode(prompt.output_schema).decode()
        first = prompt_messages[:1] if prompt_messages and prompt_messages[0].role in ("system", "developer") else ()
        instructions = f"{first[0].text}\n\n{rule}" if first else rule
        prompt_messages = (text_message("system", instructions), *prompt_messages[len(first) :])
    return [_format_message(message, model) for message in prompt_messages]


def _format_message(message: Message, model: str) -> BaseMessage:
    match message.role:
        case "system" | "developer":
            return SystemMessage(content=message.text)
        case "user":
            return HumanMessage(content=_format_content(message.parts), name=message.name)
        case "assistant":
            signed_blocks = read_signed_blocks(message, model)
            content: str | list[MessageBlock] = _format_content(message.parts)
            if signed_blocks:
                content = [*signed_blocks, *([{"type": "text", "text": message.text}] if message.text else [])]
            return AIMessage(content=content, tool_calls=[_format_call(call) for call in message.calls])
        case "tool":
            return ToolMessage(
                content=_format_content(message.parts), tool_call_id=message.call_id or "", name=message.name
            )
        case _:
            assert_never(message.role)


def _format_call(call: ToolCall) -> Any:
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


def _format_content(parts: tuple[MessagePart, ...]) -> str | list[MessageBlock]:
    if all(isinstance(part, TextMessagePart) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, TextMessagePart))
    return [_format_part(part) for part in parts]


def _format_part(part: MessagePart) -> MessageBlock:
    match part:
        case TextMessagePart():
            return {"type": "text", "text": part.text}
        case ImageMessagePart():
            detail = {} if part.detail is None else {"detail": part.detail}
            return {"type": "image_url", "image_url": {"url": part.url, **detail}}
        case FileMessagePart():
            return {"type": "file", "file": _format_file(part)}
        case _:
            assert_never(part)


def _format_file(part: FileMessagePart) -> dict[str, str]:
    data = part.data
    if data is not None and not data.startswith("data:"):
        data = f"data:{part.media_type or 'application/octet-stream'};base64,{data}"
    fields = {"filename": part.name, "file_id": part.file_id, "file_data": data}
    return {key: value for key, value in fields.items() if value is not None}
