"""Chat completion chunks as servers send them. Any field may be missing or null."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder


class Function(Struct, gc=False):
    name: str | None = None
    # A string by the spec, an object at some servers; raw bytes, so that numbers keep their exact spelling.
    arguments: Raw | UnsetType = UNSET


class ToolCall(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(Struct, gc=False):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None


class Choice(Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class Usage(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Chunk(Struct, gc=False):
    """A streamed chunk, a whole chat.completion, or an error, distinguished by the fields present."""

    choices: list[Choice] | None = None
    usage: Usage | None = None
    error: Any = None


CHUNK = Decoder(Chunk)
TEXT = Decoder(str)
