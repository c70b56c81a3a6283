"""Stream events of the Messages API, limited to the fields we read. Any field may be missing or null."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder


class AnthropicContentBlock(Struct, gc=False):
    """A content_block_start: text, thinking, redacted_thinking, tool_use, or a server tool block."""

    type: str = ""
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    # Raw bytes, so that numbers keep their exact spelling.
    input: Raw | UnsetType = UNSET


class AnthropicDelta(Struct, gc=False):
    """A delta of a content block, or of the message (with `stop_reason`)."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class AnthropicUsage(Struct, gc=False):
    """Cumulative token counts; null means unchanged."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class AnthropicMessageStart(Struct, gc=False):
    usage: AnthropicUsage | None = None


class AnthropicEvent(Struct, gc=False):
    type: str
    index: int | None = None
    message: AnthropicMessageStart | None = None
    content_block: AnthropicContentBlock | None = None
    delta: AnthropicDelta | None = None
    usage: AnthropicUsage | None = None
    error: Any = None


EVENT_DECODER = Decoder(AnthropicEvent)
