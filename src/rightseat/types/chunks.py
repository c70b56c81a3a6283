"""Chunks that a model streams, without ids, starts or ends: `engine/assembler.py` makes events of them."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from rightseat.types.events import Usage


class Text(Struct, frozen=True):
    text: str
    logprobs: Any = None


class Reasoning(Struct, frozen=True):
    text: str


class Refusal(Struct, frozen=True):
    text: str


class CallName(Struct, frozen=True):
    """Start of call number `index` of this answer. `enforced`: a grammar or the upstream guarantees that the
    arguments satisfy the tool's schema, so they may be streamed before they are complete."""

    index: int
    name: str
    enforced: bool = False


class CallArgs(Struct, frozen=True):
    index: int
    json: str


class Opaque(Struct, frozen=True):
    provider: str
    blob: Any


class Used(Struct, frozen=True):
    usage: Usage


class Finish(Struct, frozen=True):
    """Finish reason of the answer. An answer without one is incomplete."""

    reason: Literal["stop", "length", "content_filter", "calls"]


Fragment = Text | Reasoning | Refusal | CallName | CallArgs | Opaque | Used | Finish


def joined(found: list[Fragment]) -> list[Fragment]:
    """Merge adjacent text chunks: every later step costs the same for one chunk of any length."""
    out: list[Fragment] = []
    texts: list[str] = []
    for fragment in found:
        if type(fragment) is Text and fragment.logprobs is None:
            texts.append(fragment.text)
            continue
        if texts:
            out.append(Text("".join(texts)))
            texts = []
        out.append(fragment)
    if texts:
        out.append(Text("".join(texts)))
    return out
