"""Chunks of an OpenAI stream for these tests, as payloads."""

from typing import Any

from rightseat.models.openai.client import OpenAIChatParser
from rightseat.types.chunks import ModelChunk
from tests.kit.chunks import encode_json, make_chunk


def make_delta_payload(finish: str | None = None, **fields: Any) -> bytes:
    return encode_json(make_chunk(fields, finish))


def make_tool_calls_payload(*pieces: dict[str, Any]) -> bytes:
    return make_delta_payload(tool_calls=list(pieces))


def parse_payloads(*payloads: bytes, strict: tuple[str, ...] = ()) -> list[ModelChunk]:
    """The fragments of a stream with these payloads and a clean end."""
    parser = OpenAIChatParser(frozenset(strict))
    return [fragment for payload in payloads for fragment in parser.feed(payload)] + parser.finish()
