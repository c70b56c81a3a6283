"""Prompt → JSON body of POST /chat/completions."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import Struct

from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    TextMessagePart,
    text_message,
)
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec

# Fields that `extra` may not set: the model, and all that changes how we parse the answer.
RESERVED_KEYS = frozenset({"model", "messages", "stream", "stream_options", "n"}) | frozenset(
    {"tools", "tool_choice", "functions", "function_call"}
)


class Dialect(Struct, frozen=True, kw_only=True):
    """What one server accepts in a request."""

    developer_role: bool
    max_completion_tokens: bool
    strict_tools: bool
    usage: bool
    schema: bool = True
    """The server takes an output schema; else it goes into a system message."""
    unsupported: frozenset[str] = frozenset()
    """Settings that the server refuses; they are left out."""


def build_chat_body(model: str, prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    out: dict[str, Any] = {
        "model": model,
        "messages": [
            _format_chat_message(message, dialect) for message in messages_with_schema(prompt, dialect)
        ],
        "stream": True,
    }
    if dialect.usage:
        out["stream_options"] = {"include_usage": True}
    if prompt.tools:
        out["tools"] = [_format_chat_tool(tool, dialect.strict_tools) for tool in prompt.tools]
        if prompt.tool_choice.mode != "auto":
            out["tool_choice"] = _format_chat_tool_choice(prompt.tool_choice)
        if prompt.settings.parallel_calls is not None:
            out["parallel_tool_calls"] = prompt.settings.parallel_calls
    if prompt.output_schema is not None and dialect.schema:
        json_schema: dict[str, Any] = {"name": "answer", "schema": prompt.output_schema}
        if dialect.strict_tools:
            json_schema["strict"] = True
        out["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    out.update(_build_chat_sampling(prompt.settings, dialect.max_completion_tokens))
    out.update((key, value) for key, value in prompt.settings.extra.items() if key not in RESERVED_KEYS)
    for key in dialect.unsupported:
        out.pop(key, None)
    return out


def messages_with_schema(prompt: Prompt, dialect: Dialect) -> tuple[Message, ...]:
    """Return the messages, with the output schema as a system message if the server takes none."""
    if prompt.output_schema is None or dialect.schema:
        return prompt.messages
    return (
        text_message("system", SCHEMA_INSTRUCTION + msgspec.json.encode(prompt.output_schema).decode()),
        *prompt.messages,
    )


def _build_chat_sampling(settings: SamplingSettings, max_completion_tokens: bool) -> dict[str, Any]:
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_completion_tokens" if max_completion_tokens else "max_tokens": settings.max_tokens,
        "stop": list(settings.stop) or None,
        "seed": settings.seed,
    }
    return {key: value for key, value in values.items() if value is not None}


def _format_chat_message(message: Message, dialect: Dialect) -> dict[str, Any]:
    role = message.role
    if role == "developer" and not dialect.developer_role:
        role = "system"
    out: dict[str, Any] = {"role": role, "content": _format_chat_content(message.parts)}
    if role == "tool":
        out["tool_call_id"] = message.call_id or ""
    elif message.name:
        out["name"] = message.name
    if message.calls:
        # With calls, send null instead of "", which some servers refuse.
        out["content"] = out["content"] or None
        out["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return out


def _format_chat_content(parts: tuple[MessagePart, ...]) -> str | list[dict[str, Any]]:
    match parts:
        case ():
            return ""
        case (TextMessagePart(text=text),):
            return text
        case _:
            return [_format_chat_part(part) for part in parts]


def _format_chat_part(part: MessagePart) -> dict[str, Any]:
    match part:
        case TextMessagePart():
            return {"type": "text", "text": part.text}
        case ImageMessagePart():
            image = {"url": part.url} if part.detail is None else {"url": part.url, "detail": part.detail}
            return {"type": "image_url", "image_url": image}
        case FileMessagePart():
            return {"type": "file", "file": format_file(part)}
        case _:
            assert_never(part)


def format_file(part: FileMessagePart) -> dict[str, str]:
    out: dict[str, str] = {}
    if part.name is not None:
        out["filename"] = part.name
    if part.file_id is not None:
        out["file_id"] = part.file_id
    if part.data is not None:
        kind = part.media_type or "application/octet-stream"
        out["file_data"] = part.data if part.data.startswith("data:") else f"data:{kind};base64,{part.data}"
    return out


def _format_chat_tool(tool: ToolSpec, strict: bool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters}
    if tool.description:
        function["description"] = tool.description
    if strict or tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _format_chat_tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.mode == "named":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode
