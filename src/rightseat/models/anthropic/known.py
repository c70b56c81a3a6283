"""What each Claude model accepts; the API refuses fields that a model does not support."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

K = 1000
# max_tokens for a model that is not in the table.
UNKNOWN_LONGEST = 8 * K

_NEW_NAME = re.compile(r"claude-([a-z]+)-(\d+)(?:[-.](\d{1,2})(?!\d))?")
_OLD_NAME = re.compile(r"claude-(\d)(?:[-.](\d)(?!\d))?-(?:opus|sonnet|haiku)")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Claude(Struct, frozen=True, kw_only=True):
    longest: int | None = None
    """The maximum output tokens; None if unknown."""
    thinks: Literal["never", "budget", "asked", "default", "always"] = "budget"
    """never; with a token budget; on request, adaptively; by default unless disabled; always."""
    forced_thinks: bool = False
    """Whether it may think when a tool call is forced."""
    prefill: bool = False
    """Whether it continues a final assistant message."""
    mid_system: bool = False
    """Whether a system message may follow a user message."""
    efforts: tuple[str, ...] = ()


_FIVE = Claude(longest=128 * K, thinks="always", forced_thinks=True, mid_system=True, efforts=_EFFORTS)
_FOUR_FIVE = Claude(longest=64 * K, prefill=True)
# By version, newest first; an unknown newer version uses the first row.
_ROWS: tuple[tuple[tuple[int, int], Claude], ...] = (
    ((5, 1), _FIVE),
    ((5, 0), replace(_FIVE, thinks="default")),
    ((4, 8), replace(_FIVE, thinks="asked")),
    ((4, 7), replace(_FIVE, thinks="asked", forced_thinks=False, mid_system=False)),
    ((4, 6), Claude(longest=128 * K, thinks="asked", efforts=("low", "medium", "high", "max"))),
    ((4, 5), _FOUR_FIVE),
    ((4, 0), replace(_FOUR_FIVE, longest=32 * K)),
    ((3, 7), _FOUR_FIVE),
    ((3, 5), Claude(longest=8192, thinks="never", prefill=True)),
    ((0, 0), Claude(longest=4096, thinks="never", prefill=True)),
)  # fmt: skip
# Families that differ from their version.
_SPECIAL: dict[tuple[str, int, int], Claude] = {
    ("sonnet", 5, 0): replace(_FIVE, thinks="default", mid_system=False),
    ("haiku", 5, 5): replace(_FIVE, longest=64 * K),
    ("opus", 4, 5): replace(_FOUR_FIVE, efforts=("low", "medium", "high")),
    ("sonnet", 4, 0): _FOUR_FIVE,
}


def claude(name: str) -> Claude:
    """Find a model by name, which may have a vendor prefix or a date suffix."""
    plain = name.lower()
    if "claude-mythos" in plain or "claude-fable" in plain:
        return _FIVE
    if found := _NEW_NAME.search(plain):
        family, major, minor = found[1], int(found[2]), int(found[3] or 0)
    elif found := _OLD_NAME.search(plain):
        family, major, minor = "", int(found[1]), int(found[2] or 0)
    else:
        return Claude()
    row = next(row for since, row in _ROWS if (major, minor) >= since)
    return _SPECIAL.get((family, major, minor), row)


def effort(asked: str | None, model: Claude) -> str | None:
    """Return the highest effort level that the model supports and that is at most `requested`, else None."""
    if asked not in _EFFORTS or not model.efforts:
        return None
    below = _EFFORTS[: _EFFORTS.index(asked) + 1]
    return next((word for word in reversed(below) if word in model.efforts), None)
