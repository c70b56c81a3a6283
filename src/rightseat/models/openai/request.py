"""Prompt → JSON body of POST /chat/completions and of POST /responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.models._vendor.reasoning import ReasoningRules, add_reasoning
from rightseat.models._vendor.request import format_chat_part, format_file, without_none
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    TextMessagePart,
    text_message,
)
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.settings import CONTINUE, CONTINUE_IF_POSSIBLE

# Fields that `extra` may not set: the model, and all that changes how we parse the answer.
RESERVED_KEYS = frozenset({"model", "messages", "stream", "stream_options", "n"}) | frozenset(
    {"tools", "tool_choice", "functions", "function_call"}
)


# Settings of OpenAI's chat completions, which have the same names there.
SETTINGS = frozenset(
    {"temperature", "top_p", "max_tokens", "stop", "seed", "parallel_tool_calls", "frequency_penalty"}
    | {"presence_penalty", "logprobs", "top_logprobs", "logit_bias", "reasoning_effort", "verbosity", "prediction"}
    | {"service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_options"}
    | {"prompt_cache_retention", "web_search_options", "response_format"}
)
# Settings of the responses API, and where they are in its request.
RESPONSES_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
    "service_tier": "service_tier",
    "user": "user",
    "safety_identifier": "safety_identifier",
    "prompt_cache_key": "prompt_cache_key",
    "prompt_cache_retention": "prompt_cache_retention",
    "response_format": "text.format",
}


class Dialect(Struct, frozen=True, kw_only=True):
    """What one server accepts in a request."""

    developer_role: bool
    max_completion_tokens: bool
    strict_tools: bool
    usage: bool
    schema: bool = True
    """The server takes an output schema; else it goes into a system message."""
    reasoning: bool = False
    reasoning_summary: str | None = None
    """The length of the reasoning summary to request from the responses API."""
    unsupported: frozenset[str] = frozenset()
    """Settings that the server refuses; they are left out."""
    reasoning_rules: ReasoningRules = ReasoningRules()
    """Which thoughts of earlier answers the server wants back."""


def build_chat_body(model: str, prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    out: dict[str, Any] = {
        "model": model,
        "messages": _format_chat_messages(messages_with_schema(prompt, dialect), dialect),
        "stream": True,
        **dialect.reasoning_rules.body,
    }
    if dialect.usage:
        out["stream_options"] = {"include_usage": True}
    if prompt.tools:
        out["tools"] = [_format_chat_tool(tool, dialect.strict_tools) for tool in prompt.tools]
        if prompt.tool_choice != ToolChoice():
            out["tool_choice"] = _format_chat_tool_choice(prompt.tool_choice)
        if prompt.settings.parallel_calls is not None:
            out["parallel_tool_calls"] = prompt.settings.parallel_calls
    if prompt.output_schema is not None and dialect.schema:
        json_schema: dict[str, Any] = {"name": "answer", "schema": prompt.output_schema}
        if dialect.strict_tools:
            json_schema["strict"] = True
        out["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    settings = prompt.settings
    out |= without_none(
        {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_completion_tokens" if dialect.max_completion_tokens else "max_tokens": settings.max_tokens,
            "stop": list(settings.stop) or None,
            "seed": settings.seed,
        }
    )
    out.update((key, value) for key, value in prompt.settings.extra.items() if key not in RESERVED_KEYS)
    if dialect.reasoning_rules.disables_by_type and out.get("reasoning_effort") in ("none", "minimal"):
        out["thinking"] = {"type": "disabled"}
        del out["reasoning_effort"]
    if (continues := out.pop(CONTINUE, None)) not in (None, CONTINUE_IF_POSSIBLE):
        out |= {CONTINUE: continues, "add_generation_prompt": False}
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


def _format_chat_messages(messages: tuple[Message, ...], dialect: Dialect) -> list[dict[str, Any]]:
    rules = dialect.reasoning_rules
    formatted = [_format_chat_message(message, dialect) for message in messages]
    if rules.active:
        in_tool_loop = any(message.calls for message in messages)
        for out, message in zip(formatted, messages, strict=True):
            if message.role == "assistant":
                add_reasoning(out, message, rules, in_tool_loop=in_tool_loop)
    return formatted


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
            return [format_chat_part(part) for part in parts]


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
    if choice.allowed:
        tools = [{"type": "function", "function": {"name": name}} for name in choice.allowed]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}
    return choice.mode


# Provider of opaque parts that hold encrypted reasoning.
RESPONSES_PROVIDER = "openai-responses"

# Fields of `extra` that this API knows by the same name.
PASSED_SETTINGS = frozenset({"metadata", "prompt_cache_key", "safety_identifier", "service_tier"}) | frozenset(
    {"prompt_cache_retention", "top_logprobs", "truncation", "user"}
)


def build_responses_body(model: str, prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    out: dict[str, Any] = {
        "model": model,
        "input": [
            item for message in messages_with_schema(prompt, dialect) for item in _format_items(message, dialect)
        ],
        "stream": True,
        "store": False,
    }
    if prompt.tools:
        out["tools"] = [_format_responses_tool(tool, dialect.strict_tools) for tool in prompt.tools]
        if prompt.tool_choice != ToolChoice():
            out["tool_choice"] = _format_responses_tool_choice(prompt.tool_choice)
        if prompt.settings.parallel_calls is not None:
            out["parallel_tool_calls"] = prompt.settings.parallel_calls
    if dialect.reasoning:
        # Without it the next turn would have to repeat the reasoning.
        out["include"] = ["reasoning.encrypted_content"]
    settings = prompt.settings
    out |= without_none(
        {"temperature": settings.temperature, "top_p": settings.top_p, "max_output_tokens": settings.max_tokens}
    )
    out |= _build_text_options(prompt, dialect) | _build_reasoning(settings, dialect.reasoning_summary)
    out.update((key, value) for key, value in prompt.settings.extra.items() if key in PASSED_SETTINGS)
    for key in dialect.unsupported:
        out.pop(key, None)
    return out


def _build_text_options(prompt: Prompt, dialect: Dialect) -> dict[str, Any]:
    """Return the `text` field: output format and verbosity."""
    text: dict[str, Any] = {}
    response_format = prompt.settings.extra.get("response_format")
    if prompt.output_schema is not None and dialect.schema:
        text["format"] = {
            "type": "json_schema",
            "name": "answer",
            "schema": prompt.output_schema,
            "strict": dialect.strict_tools,
        }
    elif isinstance(response_format, dict) and response_format.get("type") == "json_object":
        text["format"] = {"type": "json_object"}
    verbosity = prompt.settings.extra.get("verbosity")
    if verbosity is not None and "verbosity" not in dialect.unsupported:
        text["verbosity"] = verbosity
    return {"text": text} if text else {}


def _build_reasoning(settings: SamplingSettings, summary: str | None) -> dict[str, Any]:
    requested = settings.extra.get("reasoning")
    reasoning = dict(requested) if isinstance(requested, dict) else {}
    if effort := settings.extra.get("reasoning_effort"):
        reasoning["effort"] = effort
    if summary:
        reasoning.setdefault("summary", summary)
    return {"reasoning": reasoning} if reasoning else {}


def _format_items(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    match message.role:
        case "tool":
            has_text_only = all(isinstance(part, TextMessagePart) for part in message.parts)
            output = message.text if has_text_only else [_format_responses_part(part) for part in message.parts]
            yield {"type": "function_call_output", "call_id": message.call_id or "", "output": output}
        case "assistant":
            yield from _format_assistant_items(message)
        case role:
            upstream_role = "developer" if role == "system" and dialect.developer_role else role
            if upstream_role == "developer" and not dialect.developer_role:
                upstream_role = "system"
            yield {
                "type": "message",
                "role": upstream_role,
                "content": [_format_responses_part(part) for part in message.parts],
            }


def _format_assistant_items(message: Message) -> list[dict[str, Any]]:
    """Return the items of an assistant message, with reasoning items in their original order."""
    thoughts = [
        part.blob for part in message.opaque if part.provider == RESPONSES_PROVIDER and isinstance(part.blob, dict)
    ]
    out = [thought["item"] for thought in thoughts if not thought["said"] and not thought["calls"]]
    if message.text:
        content = [{"type": "output_text", "text": message.text, "annotations": []}]
        out.append({"type": "message", "role": "assistant", "content": content})
    out += [thought["item"] for thought in thoughts if thought["said"] and not thought["calls"]]
    for number, call in enumerate(message.calls, 1):
        out.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
        out += [thought["item"] for thought in thoughts if thought["calls"] == number]
    # The API refuses reasoning items without a following item.
    while out and out[-1]["type"] == "reasoning":
        out.pop()
    return out


def make_reasoning_blob(item: dict[str, Any], *, said: bool, calls: int) -> dict[str, Any] | None:
    """Return a reasoning item with its position, or None if it has no encrypted content to send back."""
    if not item.get("encrypted_content"):
        return None
    reasoning_item = {key: item[key] for key in ("type", "id", "summary", "encrypted_content") if key in item}
    return {"said": said, "calls": calls, "item": {"summary": [], **reasoning_item}}


def _format_responses_part(part: MessagePart) -> dict[str, Any]:
    match part:
        case TextMessagePart():
            return {"type": "input_text", "text": part.text}
        case ImageMessagePart():
            return {"type": "input_image", "image_url": part.url, "detail": part.detail or "auto"}
        case FileMessagePart():
            return {"type": "input_file", **format_file(part)}
        case _:
            assert_never(part)


def _format_responses_tool(tool: ToolSpec, strict: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "type": "function",
        "name": tool.name,
        "parameters": tool.parameters,
        # Unlike chat completions, this API defaults to strict.
        "strict": strict or tool.strict,
    }
    if tool.description:
        out["description"] = tool.description
    return out


def _format_responses_tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.allowed:
        tools = [{"type": "function", "name": name} for name in choice.allowed]
        return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}
    return {"type": "function", "name": choice.name} if choice.mode == "named" else choice.mode
