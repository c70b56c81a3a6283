"""What the Messages API streams, as far as it is read here: every field may be missing or null."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder


class Block(Struct, gc=False):
    """How a content block begins: text, thinking, redacted_thinking, tool_use, or one of a server's own."""

    type: str = ""
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    # Kept as bytes, so that no number is rewritten.
    input: Raw | UnsetType = UNSET


class Delta(Struct, gc=False):
    """A piece of a block, or of the message: there it says why it ends."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class Counts(Struct, gc=False):
    """Counted up over the whole answer; what is null stays as it was."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Start(Struct, gc=False):
    usage: Counts | None = None


class Event(Struct, gc=False):
    type: str
    index: int | None = None
    message: Start | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    usage: Counts | None = None
    error: Any = None


EVENT = Decoder(Event)
