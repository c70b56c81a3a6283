"""What a check says of a text: nothing against it, not allowed, or allowed with other words."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from rightseat.types.turn import Turn

Direction = Literal["input", "output"]
Failing = Literal["refuse", "allow"]
"""What happens to a text when a check cannot be made."""


class Refuse(Struct, frozen=True):
    """Not allowed. The reason is shown to whoever asked; without one, a sentence of ours is."""

    reason: str = ""


class Replace(Struct, frozen=True):
    """Allowed with this text instead."""

    text: str


Verdict = Refuse | Replace | None
UNCHECKED = Refuse("\x00")
"""The check could not be made, and what cannot be checked is not allowed."""


class Check(Protocol):
    """Somebody who is asked about a whole text."""

    topical: bool
    """Whether it judges what a text is about, by the topics that are set up and those a client adds."""
    directions: tuple[Direction, ...]

    async def verdict(self, text: str, direction: Direction, turn: Turn, /) -> Verdict: ...
    async def close(self) -> None: ...
