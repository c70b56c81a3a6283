"""Events of tools with fields of the types that doors read.

Authors of tools often run no type checker: a name may be a number, a source a text, a page bytes. What is clear is
converted; what is not is refused with the reason.
"""

from __future__ import annotations

import mimetypes
from typing import Any

from msgspec.structs import replace

from rightseat.types.events import Artifact, Citations, Event, StepEnd, StepStart, Suggestions
from rightseat.types.json_values import to_json_value

FILE_CONTENT = "the content of a file is bytes, text, or an object with its bytes or base64 as data."


class UnusableEventError(ValueError):
    """An event that no client can show. The message is the reason, a sentence."""


def normalize_event(event: Event) -> Event:
    """Return an event with fields of the declared types. Raise UnusableEventError where that is impossible."""
    match event:
        case Artifact(id, kind, name, content, description):
            kind_name = _to_text(kind) or "text"
            texts = {"id": _to_text(id), "name": _to_text(name), "description": _to_text(description)}
            normalized = _normalize_content(kind_name, texts["name"], content)
            return replace(event, **texts, kind=kind_name, content=normalized)
        case Citations(items):
            return replace(event, items=_normalize_sources(items))
        case Suggestions(prompts):
            return replace(event, prompts=_normalize_prompts(prompts))
        case StepStart(name) | StepEnd(name):
            return replace(event, name=_to_text(name))
        case _:
            return event


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _normalize_content(kind: str, name: str, content: Any) -> Any:
    match kind:
        case "file":
            return _normalize_file(name, content)
        case "html" if isinstance(content, bytes | bytearray):
            return content.decode("utf-8", "replace")
        case "html" if not isinstance(content, str):
            raise UnusableEventError("the content of a page is text.")
        case _ if content is None:
            raise UnusableEventError("it has no content.")
        case _:
            return content


def _normalize_file(name: str, content: Any) -> dict[str, Any]:
    if isinstance(content, str | bytes | bytearray | memoryview):
        file = content.encode("utf-8", "replace") if isinstance(content, str) else bytes(content)
        return {"media_type": mimetypes.guess_type(name)[0] or "application/octet-stream", "data": file}
    if not isinstance(content, dict):
        raise UnusableEventError(FILE_CONTENT)
    data = content.get("data")
    fields = to_json_value({key: value for key, value in content.items() if key != "data"})
    match data:
        case None:
            return {**fields}
        case str() | bytes():
            return {**fields, "data": data}
        case bytearray() | memoryview():
            return {**fields, "data": bytes(data)}
        case _:
            raise UnusableEventError(FILE_CONTENT)


def _normalize_sources(items: Any) -> list[dict[str, Any]]:
    """Return sources as objects; a text or a number is the title of one."""
    sources = to_json_value(items)
    listed = sources if isinstance(sources, list) else [sources]
    return [item if isinstance(item, dict) else {"title": _to_text(item)} for item in listed if item is not None]


def _normalize_prompts(prompts: Any) -> tuple[str, ...]:
    if prompts is None:
        return ()
    listed = [prompts] if isinstance(prompts, str) else list(prompts)
    return tuple(dict.fromkeys(filter(None, (_to_text(prompt).strip() for prompt in listed))))
