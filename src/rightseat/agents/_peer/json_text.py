"""JSON in the texts of peers: partial arguments, questions, answers, message contents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rightseat.types.turn import InterruptAnswer

# What code raises that meets a value of a shape it does not expect. A peer's value may have any.
SHAPE_ERRORS = (AttributeError, TypeError, LookupError, ValueError, RecursionError, msgspec.MsgspecError)


def decode_json_or_text(text: str) -> Any:
    """Decode JSON; return the text itself if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text


def decode_json_object(text: str) -> dict[str, Any]:
    """Decode a call's arguments; return an empty object if they are none."""
    value = decode_json_or_text(text)
    return value if isinstance(value, dict) else {}


def decode_answer(answer: InterruptAnswer) -> Any:
    """Return an answer's payload, or its text, decoded if that is a JSON object, array or boolean."""
    if answer.text is None:
        return answer.payload
    value = decode_json_or_text(answer.text)
    return value if isinstance(value, dict | list | bool) else answer.text


def to_text(value: Any) -> str:
    """Return a text unchanged, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def find_question_text(value: Any, keys: Iterable[str]) -> str:
    """Return the text of an interrupt's value that a person can read, or an empty one."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    return next((value[key] for key in keys if isinstance(value.get(key), str) and value[key]), "")


def join_content_text(content: Any) -> str:
    """Join the text of a message's content, which is a text or a list of blocks; other blocks are dropped."""
    if isinstance(content, list):
        return "".join(extract_block_text(block) for block in content)
    return content if isinstance(content, str) else ""


def extract_block_text(block: Any) -> str:
    match block:
        case str(text) | {"type": "text", "text": str(text)}:
            return text
        case _:
            return ""


def dict_items(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a JSON array; empty for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def drop_oldest(entries: dict[Any, Any], limit: int) -> None:
    """Remove the oldest entries beyond `limit`."""
    while len(entries) > limit:
        del entries[next(iter(entries))]
