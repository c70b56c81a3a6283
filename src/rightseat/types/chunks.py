"""Chunks that a model streams, without ids, starts or ends: `engine/assembler.py` makes events of them."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from rightseat.types.events import Custom, StateSnapshot, Usage


class TextChunk(Struct, frozen=True):
    text: str
    logprobs: Any = None


class ReasoningChunk(Struct, frozen=True):
    text: str


class RefusalChunk(Struct, frozen=True):
    text: str


class ToolCallStart(Struct, frozen=True):
    """Start of call number `index` of this answer. `enforced`: a grammar or the upstream guarantees that the
    arguments satisfy the tool's schema, so they may be streamed before they are complete."""

    index: int
    name: str
    enforced: bool = False


class ToolCallArgs(Struct, frozen=True):
    index: int
    json: str


class ProviderDataChunk(Struct, frozen=True):
    provider: str
    blob: Any


class EventChunk(Struct, frozen=True):
    """An event that the model adds to the run, beside its text and calls: it is passed on as it is."""

    event: Custom | StateSnapshot


class UsageChunk(Struct, frozen=True):
    usage: Usage


class FinishChunk(Struct, frozen=True):
    """Finish reason of the answer. An answer without one is incomplete."""

    reason: Literal["stop", "length", "content_filter", "calls"]
    report: Any = None
    """What a local engine tells of the answer: stop type, counts, timings."""


ModelChunk = (
    TextChunk
    | ReasoningChunk
    | RefusalChunk
    | ToolCallStart
    | ToolCallArgs
    | ProviderDataChunk
    | EventChunk
    | UsageChunk
    | FinishChunk
)


def merge_text_chunks(chunks: list[ModelChunk]) -> list[ModelChunk]:
    """Merge adjacent text chunks: every later step costs the same for one chunk of any length."""
    merged: list[ModelChunk] = []
    texts: list[str] = []
    for chunk in chunks:
        if type(chunk) is TextChunk and chunk.logprobs is None:
            texts.append(chunk.text)
            continue
        if texts:
            merged.append(TextChunk("".join(texts)))
            texts = []
        merged.append(chunk)
    if texts:
        merged.append(TextChunk("".join(texts)))
    return merged
