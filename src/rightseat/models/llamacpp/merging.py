"""Convert messages to a template's form: unsupported roles become text, same-role neighbours are merged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rightseat.models.llamacpp.abilities import Abilities
from rightseat.models.llamacpp.control import Trusted
from rightseat.types.messages import Call, Message

Turn = dict[str, Any]
# User text inserted where a template requires a user message first.
OPENING = "(The conversation goes on.)"


def fitted(messages: Sequence[Message], can: Abilities) -> list[Turn]:
    turns = [_turn(message, can) for message in messages]
    if not can.system:
        turns = _without_system(turns)
    if can.alternation:
        turns = _alternating(turns)
    if can.content_parts:
        turns = [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in turns]
    return turns


def _turn(message: Message, can: Abilities) -> Turn:
    role = "system" if message.role == "developer" else message.role
    text = _text(message)
    if role == "tool":
        return _result(message, text, can)
    if not message.calls:
        return {"role": role, "content": text}
    if can.tool_calls:
        calls = [_call(call, can.object_arguments) for call in message.calls]
        content = text if text or can.empty_content else None
        return {"role": role, "content": content, "tool_calls": calls}
    # Written in the form of GenericFormat, which the model is asked to produce.
    said = json.dumps(
        {"tool_calls": [{"name": call.name, "arguments": _object(call)} for call in message.calls]},
        ensure_ascii=False,
    )
    return {"role": role, "content": f"{text}\n{said}" if text else said}


def _text(message: Message) -> str:
    """Return the message's text, as TrustedText if all its parts are trusted."""
    texts = [part.text for part in message.parts if hasattr(part, "text")]
    if texts and all(isinstance(text, Trusted) for text in texts):
        return Trusted("".join(texts))
    return "".join(texts)


def _result(message: Message, text: str, can: Abilities) -> Turn:
    if can.tool_role:
        turn: Turn = {"role": "tool", "content": text, "tool_call_id": message.call_id or ""}
        return {**turn, "name": message.name} if message.name else turn
    name = f" of {message.name}" if message.name else ""
    return {"role": "user", "content": f"Result{name} (call {message.call_id or '?'}):\n{text}"}


def _call(call: Call, as_object: bool) -> Turn:
    arguments = _object(call) if as_object else call.arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _object(call: Call) -> Any:
    try:
        return msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return call.arguments


def _without_system(turns: list[Turn]) -> list[Turn]:
    """Move system messages into the next user message, for templates without a system role."""
    out: list[Turn] = []
    waiting: list[str] = []
    for turn in turns:
        if turn["role"] == "system":
            waiting.append(turn["content"])
        elif turn["role"] == "user" and waiting:
            out.append({**turn, "content": joined([*waiting, turn["content"]])})
            waiting = []
        else:
            out.append(turn)
    return [*out, {"role": "user", "content": joined(waiting)}] if waiting else out


def _alternating(turns: list[Turn]) -> list[Turn]:
    out: list[Turn] = []
    for turn in turns:
        last = out[-1] if out else None
        if last is not None and last["role"] == turn["role"] != "tool" and "tool_calls" not in last:
            out[-1] = {**last, **turn, "content": joined([last["content"], turn["content"]])}
        else:
            if turn["role"] == "assistant" and (last is None or last["role"] == "system"):
                out.append({"role": "user", "content": OPENING})
            out.append(turn)
    return out


def joined(texts: Iterable[str]) -> str:
    kept = [text for text in texts if text]
    whole = "\n\n".join(kept)
    return Trusted(whole) if kept and all(isinstance(text, Trusted) for text in kept) else whole
