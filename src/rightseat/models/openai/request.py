"""Prompt → JSON body of POST /chat/completions."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import Struct

from rightseat.engine.structured import RULE
from rightseat.types.messages import File, Image, Message, Part, Text, said
from rightseat.types.model import Prompt, Settings, ToolChoice, ToolSpec

# Fields that `extra` may not set: the model, and all that changes how we parse the answer.
RESERVED = frozenset({"model", "messages", "stream", "stream_options", "n"}) | frozenset(
    {"tools", "tool_choice", "functions", "function_call"}
)


class Dialect(Struct, frozen=True, kw_only=True):
    """What one server accepts in a request."""

    developer_role: bool
    completion_tokens: bool
    strict_tools: bool
    usage: bool
    schema: bool = True
    """The server takes an output schema; else it goes into a system message."""
    unknown: frozenset[str] = frozenset()
    """Settings that the server refuses; they are left out."""


def body(model: str, prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    out: dict[str, Any] = {
        "model": model,
        "messages": [_message(message, dialect) for message in spoken(prompt, dialect)],
        "stream": True,
    }
    if dialect.usage:
        out["stream_options"] = {"include_usage": True}
    if prompt.tools:
        out["tools"] = [_tool(tool, dialect.strict_tools) for tool in prompt.tools]
        if prompt.tool_choice.mode != "auto":
            out["tool_choice"] = _choice(prompt.tool_choice)
        if prompt.settings.parallel_calls is not None:
            out["parallel_tool_calls"] = prompt.settings.parallel_calls
    if prompt.output_schema is not None and dialect.schema:
        answer: dict[str, Any] = {"name": "answer", "schema": prompt.output_schema}
        if dialect.strict_tools:
            answer["strict"] = True
        out["response_format"] = {"type": "json_schema", "json_schema": answer}
    out.update(_sampling(prompt.settings, dialect.completion_tokens))
    out.update((key, value) for key, value in prompt.settings.extra.items() if key not in RESERVED)
    for key in dialect.unknown:
        out.pop(key, None)
    return out


def spoken(prompt: Prompt, dialect: Dialect) -> tuple[Message, ...]:
    """Return the messages, with the output schema as a system message if the server takes none."""
    if prompt.output_schema is None or dialect.schema:
        return prompt.messages
    return (said("system", RULE + msgspec.json.encode(prompt.output_schema).decode()), *prompt.messages)


def _sampling(settings: Settings, completion_tokens: bool) -> dict[str, Any]:
    given = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_completion_tokens" if completion_tokens else "max_tokens": settings.max_tokens,
        "stop": list(settings.stop) or None,
        "seed": settings.seed,
    }
    return {key: value for key, value in given.items() if value is not None}


def _message(message: Message, dialect: Dialect) -> dict[str, Any]:
    role = message.role
    if role == "developer" and not dialect.developer_role:
        role = "system"
    out: dict[str, Any] = {"role": role, "content": _content(message.parts)}
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


def _content(parts: tuple[Part, ...]) -> str | list[dict[str, Any]]:
    match parts:
        case ():
            return ""
        case (Text(text=text),):
            return text
        case _:
            return [_part(part) for part in parts]


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            image = {"url": part.url} if part.detail is None else {"url": part.url, "detail": part.detail}
            return {"type": "image_url", "image_url": image}
        case File():
            return {"type": "file", "file": file_of(part)}
        case _:
            assert_never(part)


def file_of(part: File) -> dict[str, str]:
    out: dict[str, str] = {}
    if part.name is not None:
        out["filename"] = part.name
    if part.file_id is not None:
        out["file_id"] = part.file_id
    if part.data is not None:
        kind = part.media_type or "application/octet-stream"
        out["file_data"] = part.data if part.data.startswith("data:") else f"data:{kind};base64,{part.data}"
    return out


def _tool(tool: ToolSpec, strict: bool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters}
    if tool.description:
        function["description"] = tool.description
    if strict or tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.mode == "named":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode
