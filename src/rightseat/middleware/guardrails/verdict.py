"""Verdicts of checks: None (allowed), Refuse, or Replace."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from rightseat.types.turn import Turn

Direction = Literal["input", "output"]
FailureMode = Literal["refuse", "allow"]
"""Treatment of a text whose check failed to run."""


class Refuse(Struct, frozen=True):
    """Refuse the text. The reason is shown to the user; empty: a standard message."""

    reason: str = ""


class Replace(Struct, frozen=True):
    """Allow this text instead."""

    text: str


Verdict = Refuse | Replace | None
UNCHECKED = Refuse("\x00")
"""Refusal of a text whose check failed to run."""


class Check(Protocol):
    """A check of whole texts."""

    topical: bool
    """Whether the check judges topics, configured ones and the client's."""
    directions: tuple[Direction, ...]

    async def verdict(self, text: str, direction: Direction, turn: Turn, /) -> Verdict: ...
    async def close(self) -> None: ...
