"""Prompt → JSON body of POST /responses. Nothing is stored upstream: the whole history is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from rightseat.models.openai.request import Dialect, format_file, messages_with_schema
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart, TextMessagePart
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec

# Provider of opaque parts that hold encrypted reasoning.
RESPONSES_PROVIDER = "openai-responses"
# Fields of `extra` that this API knows by the same name.
PASSED_SETTINGS = frozenset(
    {"metadata", "prompt_cache_key", "safety_identifier", "service_tier"}
) | frozenset({"top_logprobs", "truncation", "user"})


def build_responses_body(
    model: str, prompt: Prompt, dialect: Dialect, *, supports_reasoning: bool, summary: str | None
) -> dict[str, Any]:
    out: dict[str, Any] = {
        "model": model,
        "input": [
            item
            for message in messages_with_schema(prompt, dialect)
            for item in _format_items(message, dialect)
        ],
        "stream": True,
        "store": False,
    }
    if prompt.tools:
        out["tools"] = [_format_responses_tool(tool, dialect.strict_tools) for tool in prompt.tools]
        if prompt.tool_choice.mode != "auto":
            out["tool_choice"] = _format_responses_tool_choice(prompt.tool_choice)
        if prompt.settings.parallel_calls is not None:
            out["parallel_tool_calls"] = prompt.settings.parallel_calls
    if supports_reasoning:
        # Without it the next turn would have to repeat the reasoning.
        out["include"] = ["reasoning.encrypted_content"]
    out |= (
        _build_responses_sampling(prompt.settings)
        | _build_text_options(prompt, dialect)
        | _build_reasoning(prompt.settings, summary)
    )
    out.update((key, value) for key, value in prompt.settings.extra.items() if key in PASSED_SETTINGS)
    for key in dialect.unsupported:
        out.pop(key, None)
    return out


def _build_responses_sampling(settings: SamplingSettings) -> dict[str, Any]:
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_tokens,
    }
    return {key: value for key, value in values.items() if value is not None}


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
            yield {
                "type": "function_call_output",
                "call_id": message.call_id or "",
                "output": message.text,
            }
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
        part.blob
        for part in message.opaque
        if part.provider == RESPONSES_PROVIDER and isinstance(part.blob, dict)
    ]
    out = [thought["item"] for thought in thoughts if not thought["said"] and not thought["calls"]]
    if message.text:
        content = [{"type": "output_text", "text": message.text, "annotations": []}]
        out.append({"type": "message", "role": "assistant", "content": content})
    out += [thought["item"] for thought in thoughts if thought["said"] and not thought["calls"]]
    for number, call in enumerate(message.calls, 1):
        out.append(
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        )
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
    return {"type": "function", "name": choice.name} if choice.mode == "named" else choice.mode
