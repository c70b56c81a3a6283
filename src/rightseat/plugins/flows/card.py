"""The ToolSource of a listed flow: no tools, because the flow's file names what is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn


class Card(Struct, frozen=True):
    """A ToolSource that offers no tools and may suggest questions."""

    questions: tuple[str, ...] = ()

    def __contains__(self, name: object, /) -> bool:
        return False

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def asked(self, turn: Turn, /) -> Turn:
        return turn

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        """Add nothing: the flow's file names what is called."""

    def digest(self, names: Iterable[str], /) -> str:
        return ""
