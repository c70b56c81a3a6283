"""Prompt → `contents` and `config` of `generate_content_stream`, as plain values."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.google.marks import Mark, marks
from rightseat.models.google.schemas import narrowed, parameters
from rightseat.types.capabilities import bare
from rightseat.types.messages import Call, File, Image, Message, Part, Text
from rightseat.types.model import Prompt, Settings, ToolChoice

Json = dict[str, Any]

# Google's placeholder signature for calls of other models; Gemini 3 refuses unsigned calls.
UNSIGNED = b"skip_thought_signature_validator"
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,", re.ASCII)
_MODES = {"none": "NONE", "required": "ANY", "named": "ANY"}
_RULE = "When you answer in words, answer with one JSON value that fits this JSON Schema, and nothing else:\n"
_KNOBS = ("top_k", "presence_penalty", "frequency_penalty")


class Manner(Struct, frozen=True, kw_only=True):
    """Requirements of one model, and its thinking options."""

    thoughts: bool = False
    budget: int | None = None
    level: str | None = None
    signs: bool = False
    """The model refuses calls without a signature."""
    schema: bool = True
    """The model enforces an output schema."""
    schema_beside_tools: bool = False


def manner(
    name: str, thoughts: bool, budget: int | None, level: str | None, *, schema: bool = True
) -> Manner:
    younger = re.match(r"gemini-(?![12](\D|$))", bare(name)) is not None
    return Manner(
        thoughts=thoughts,
        budget=budget,
        level=level,
        signs=younger,
        schema=schema,
        schema_beside_tools=younger,
    )


def contents(prompt: Prompt, manner: Manner) -> list[Json]:
    """Return the conversation as contents, without empty ones, which Google refuses."""
    out: list[Json] = []
    called: dict[str, tuple[str, str | None]] = {}
    answering = False
    for message in prompt.messages:
        match message.role:
            case "tool":
                responses, shown = _result(message, called)
                if answering and responses:
                    # All results of one turn go into one content.
                    out[-1]["parts"] += responses
                elif responses:
                    out.append({"role": "user", "parts": responses})
                answering = bool(responses) and not shown
                _add(out, "user", shown)
                continue
            case "assistant":
                placed = marks(message)
                called |= {call.id: (call.name, _id(placed, n, call)) for n, call in enumerate(message.calls)}
                _add(out, "model", _said(message, placed, manner))
            case "user":
                _add(out, "user", [part for one in message.parts if (part := _part(one)) is not None])
        answering = False
    if not out or out[0]["role"] == "model":
        # The first content must be from the user: insert a placeholder.
        out.insert(0, {"role": "user", "parts": [{"text": "…"}]})
    return out


def config(prompt: Prompt, manner: Manner) -> Json:
    out: Json = {
        # The engine runs the tools; the SDK must not send follow-up requests.
        "automatic_function_calling": {"disable": True},
        "automatic_continuation": False,
        **_sampling(prompt.settings),
    }
    told = [message.text for message in prompt.messages if message.role in ("system", "developer")]
    # Older models refuse a schema together with tools: put it into the instructions and validate here.
    enforced = manner.schema and (manner.schema_beside_tools or not prompt.callable)
    if prompt.output_schema is not None and not enforced:
        told.append(_RULE + msgspec.json.encode(prompt.output_schema).decode())
    if system := "\n\n".join(text for text in told if text):
        out["system_instruction"] = {"parts": [{"text": system}]}
    if prompt.tools:
        out["tools"] = [{"function_declarations": [_declared(tool) for tool in prompt.tools]}]
        if prompt.tool_choice.mode != "auto":
            out["tool_config"] = {"function_calling_config": _choice(prompt.tool_choice)}
    if prompt.output_schema is not None and enforced:
        out["response_mime_type"] = "application/json"
        out["response_json_schema"] = narrowed(prompt.output_schema)
    if thinking := _thinking(manner):
        out["thinking_config"] = thinking
    return out


def _sampling(settings: Settings) -> Json:
    given = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_tokens,
        "stop_sequences": list(settings.stop) or None,
        "seed": settings.seed,
    }
    extra = settings.extra
    more = {key: extra[key] for key in _KNOBS if type(extra.get(key)) in (int, float)}
    return {**more, **{key: value for key, value in given.items() if value is not None}}


def _thinking(manner: Manner) -> Json:
    given = {
        "include_thoughts": manner.thoughts or None,
        "thinking_budget": manner.budget,
        "thinking_level": manner.level,
    }
    return {key: value for key, value in given.items() if value is not None}


def _declared(tool: Any) -> Json:
    out = {"name": tool.name, "parameters_json_schema": parameters(tool.parameters)}
    return {**out, "description": tool.description} if tool.description else out


def _choice(choice: ToolChoice) -> Json:
    out: Json = {"mode": _MODES[choice.mode]}
    if choice.mode == "named":
        out["allowed_function_names"] = [choice.name]
    return out


def _add(out: list[Json], role: str, parts: list[Json]) -> None:
    if parts:
        out.append({"role": role, "parts": parts})


def _id(placed: list[Mark], number: int, call: Call) -> str | None:
    mark = _of_call(placed, number, call)
    return mark.id if mark else None


def _of_call(placed: list[Mark], number: int, call: Call) -> Mark | None:
    return next((mark for mark in placed if mark.call == number and mark.name == call.name), None)


def _said(message: Message, placed: list[Mark], manner: Manner) -> list[Json]:
    """Return thoughts, texts and calls of an assistant message, each with its original signature."""
    out: list[Json] = [
        {"text": mark.thought, "thought": True, "thought_signature": signed}
        for mark in placed
        if mark.thought is not None and (signed := mark.signed)
    ]
    out += _texts(message.text, placed)
    out += [made for one in message.parts if not isinstance(one, Text) and (made := _part(one)) is not None]
    calls = [_called(call, _of_call(placed, number, call)) for number, call in enumerate(message.calls)]
    if calls and manner.signs and not any("thought_signature" in call for call in calls):
        calls[0]["thought_signature"] = UNSIGNED
    return out + calls


def _texts(text: str, placed: list[Mark]) -> list[Json]:
    out: list[Json] = []
    at = 0
    for mark in placed:
        start, end, signed = mark.start, mark.end, mark.signed
        # The text has changed since: drop the mark.
        if start is None or end is None or signed is None or not at <= start <= end <= len(text):
            continue
        if start > at:
            out.append({"text": text[at:start]})
        out.append({"text": text[start:end], "thought_signature": signed})
        at = end
    if at < len(text):
        out.append({"text": text[at:]})
    return out


def _called(call: Call, mark: Mark | None) -> Json:
    function: Json = {"name": call.name, "args": _object(call.arguments) or {}}
    if mark and mark.id:
        function["id"] = mark.id
    out: Json = {"function_call": function}
    if mark and (signed := mark.signed):
        out["thought_signature"] = signed
    return out


def _result(message: Message, called: dict[str, tuple[str, str | None]]) -> tuple[list[Json], list[Json]]:
    """Return the function response of a tool message, and its images and files as separate parts."""
    shown = [made for one in message.parts if not isinstance(one, Text) and (made := _part(one)) is not None]
    name, id = called.get(message.call_id or "", (message.name, None))
    if not name:
        # The tool is unknown, and Google refuses a response without its call: send text.
        return [], [{"text": message.text}, *shown] if message.text else shown
    value = _object(message.text)
    response: Json = {"name": name, "response": {"output": message.text} if value is None else value}
    if id:
        response["id"] = id
    return [{"function_response": response}], shown


def _object(text: str) -> Json | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _part(part: Part) -> Json | None:
    match part:
        case Text():
            return {"text": part.text} if part.text else None
        case Image():
            return _located(part.url, None, "image")
        case File():
            if part.file_id is not None:
                return {"file_data": _typed({"file_uri": part.file_id}, part.media_type)}
            return _located(part.data or "", part.media_type, "file")
        case _:
            assert_never(part)


def _located(where: str, kind: str | None, what: str) -> Json:
    if where.startswith(("https://", "gs://")):
        return {
            "file_data": _typed({"file_uri": where}, kind or mimetypes.guess_type(where.split("?")[0])[0])
        }
    head = _DATA.match(where)
    data = where[head.end() :] if head else where
    if head is None and (what == "image" or not where):
        raise CallerError(f"The model takes an {what} as a data: URL in base64, or by an https:// address.")
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CallerError(f"The {what} in a message is not base64.") from error
    kind = (head[1] if head else None) or kind or "application/octet-stream"
    return {"inline_data": {"mime_type": kind, "data": decoded}}


def _typed(data: Json, kind: str | None) -> Json:
    return {**data, "mime_type": kind} if kind else data
