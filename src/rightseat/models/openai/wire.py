"""Chat completion chunks as servers send them. Any field may be missing or null."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder


class UpstreamFunctionDelta(Struct, gc=False):
    name: str | None = None
    # A string by the spec, an object at some servers; raw bytes, so that numbers keep their exact spelling.
    arguments: Raw | UnsetType = UNSET


class UpstreamToolCallDelta(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: UpstreamFunctionDelta | None = None


class UpstreamChatDelta(Struct, gc=False):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[UpstreamToolCallDelta] | None = None
    function_call: UpstreamFunctionDelta | None = None


class UpstreamChatChoice(Struct, gc=False):
    index: int | None = None
    delta: UpstreamChatDelta | None = None
    message: UpstreamChatDelta | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class UpstreamChatUsage(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class UpstreamChatChunk(Struct, gc=False):
    """A streamed chunk, a whole chat.completion, or an error, distinguished by the fields present."""

    choices: list[UpstreamChatChoice] | None = None
    usage: UpstreamChatUsage | None = None
    error: Any = None


CHUNK_DECODER = Decoder(UpstreamChatChunk)
STRING_DECODER = Decoder(str)
