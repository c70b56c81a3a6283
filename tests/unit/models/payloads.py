"""Chunks of an OpenAI stream for these tests, as payloads."""

from typing import Any

from rightseat.models.openai.chat_parser import ChatStreamParser
from rightseat.types.chunks import ModelChunk
from tests.kit.chunks import chunk, dump


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return dump(chunk(fields, finish))


def calls(*pieces: dict[str, Any]) -> bytes:
    return delta(tool_calls=list(pieces))


def answered(*payloads: bytes, strict: tuple[str, ...] = ()) -> list[ModelChunk]:
    """The fragments of a stream with these payloads and a clean end."""
    answer = ChatStreamParser(frozenset(strict))
    return [fragment for payload in payloads for fragment in answer.feed(payload)] + answer.finish()
