"""Chunks of an OpenAI stream for these tests, as payloads."""

from typing import Any

from rightseat.models.openai.answer import Answer
from rightseat.types.chunks import Fragment
from tests.kit.chunks import chunk, dump


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return dump(chunk(fields, finish))


def calls(*pieces: dict[str, Any]) -> bytes:
    return delta(tool_calls=list(pieces))


def answered(*payloads: bytes, strict: tuple[str, ...] = ()) -> list[Fragment]:
    """The fragments of a stream with these payloads and a clean end."""
    answer = Answer(frozenset(strict))
    return [fragment for payload in payloads for fragment in answer.feed(payload)] + answer.end()
