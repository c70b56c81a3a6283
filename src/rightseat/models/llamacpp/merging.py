"""Convert messages to a template's form: unsupported roles become text, same-role neighbours are merged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rightseat.models.llamacpp.abilities import TemplateCapabilities
from rightseat.models.llamacpp.control import TrustedText
from rightseat.types.messages import Message, ToolCall

TemplateMessage = dict[str, Any]
# User text inserted where a template requires a user message first.
OPENING_USER_TEXT = "(The conversation goes on.)"


def to_template_messages(
    messages: Sequence[Message], capabilities: TemplateCapabilities
) -> list[TemplateMessage]:
    template_messages = [_to_template_message(message, capabilities) for message in messages]
    if not capabilities.system:
        template_messages = _fold_system_messages(template_messages)
    if capabilities.alternation:
        template_messages = _merge_same_role(template_messages)
    if capabilities.content_parts:
        template_messages = [
            {**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in template_messages
        ]
    return template_messages


def _to_template_message(message: Message, capabilities: TemplateCapabilities) -> TemplateMessage:
    role = "system" if message.role == "developer" else message.role
    text = _message_text(message)
    if role == "tool":
        return _to_tool_result(message, text, capabilities)
    if not message.calls:
        return {"role": role, "content": text}
    if capabilities.tool_calls:
        calls = [_to_tool_call(call, capabilities.object_arguments) for call in message.calls]
        content = text if text or capabilities.empty_content else None
        return {"role": role, "content": content, "tool_calls": calls}
    # Written in the form of GenericFormat, which the model is asked to produce.
    calls_text = json.dumps(
        {"tool_calls": [{"name": call.name, "arguments": _parse_arguments(call)} for call in message.calls]},
        ensure_ascii=False,
    )
    return {"role": role, "content": f"{text}\n{calls_text}" if text else calls_text}


def _message_text(message: Message) -> str:
    """Return the message's text, as TrustedText if all its parts are trusted."""
    texts = [part.text for part in message.parts if hasattr(part, "text")]
    if texts and all(isinstance(text, TrustedText) for text in texts):
        return TrustedText("".join(texts))
    return "".join(texts)


def _to_tool_result(message: Message, text: str, capabilities: TemplateCapabilities) -> TemplateMessage:
    if capabilities.tool_role:
        turn: TemplateMessage = {"role": "tool", "content": text, "tool_call_id": message.call_id or ""}
        return {**turn, "name": message.name} if message.name else turn
    name = f" of {message.name}" if message.name else ""
    return {"role": "user", "content": f"Result{name} (call {message.call_id or '?'}):\n{text}"}


def _to_tool_call(call: ToolCall, as_object: bool) -> TemplateMessage:
    arguments = _parse_arguments(call) if as_object else call.arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _parse_arguments(call: ToolCall) -> Any:
    try:
        return msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return call.arguments


def _fold_system_messages(turns: list[TemplateMessage]) -> list[TemplateMessage]:
    """Move system messages into the next user message, for templates without a system role."""
    out: list[TemplateMessage] = []
    pending: list[str] = []
    for turn in turns:
        if turn["role"] == "system":
            pending.append(turn["content"])
        elif turn["role"] == "user" and pending:
            out.append({**turn, "content": join_texts([*pending, turn["content"]])})
            pending = []
        else:
            out.append(turn)
    return [*out, {"role": "user", "content": join_texts(pending)}] if pending else out


def _merge_same_role(turns: list[TemplateMessage]) -> list[TemplateMessage]:
    out: list[TemplateMessage] = []
    for turn in turns:
        last = out[-1] if out else None
        if last is not None and last["role"] == turn["role"] != "tool" and "tool_calls" not in last:
            out[-1] = {**last, **turn, "content": join_texts([last["content"], turn["content"]])}
        else:
            if turn["role"] == "assistant" and (last is None or last["role"] == "system"):
                out.append({"role": "user", "content": OPENING_USER_TEXT})
            out.append(turn)
    return out


def join_texts(texts: Iterable[str]) -> str:
    non_empty = [text for text in texts if text]
    result = "\n\n".join(non_empty)
    return (
        TrustedText(result)
        if non_empty and all(isinstance(text, TrustedText) for text in non_empty)
        else result
    )
