"""What a model yields. Fragments have no ids and no open or close: `assemble.py` makes events of them."""

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
    """Call number `index` of this answer is to `name`. `enforced`: its arguments are certain to satisfy the
    tool's schema (a grammar or the upstream sees to it), so they may be shown before they are complete."""

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
    """Why the model stopped. An answer without a Finish is not an answer."""

    reason: Literal["stop", "length", "content_filter", "calls"]


Fragment = Text | Reasoning | Refusal | CallName | CallArgs | Opaque | Used | Finish


def joined(found: list[Fragment]) -> list[Fragment]:
    """Words that came at once as one: every further step costs as much for one as for many."""
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
