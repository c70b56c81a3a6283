"""The ToolSource of a listed flow: no tools, because the flow's file names what is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn


class EmptyToolSource(Struct, frozen=True):
    """A ToolSource that offers no tools and may suggest questions."""

    suggestions: tuple[str, ...] = ()

    def __contains__(self, name: object, /) -> bool:
        return False

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def with_default_question(self, turn: Turn, /) -> Turn:
        return turn

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        """Add nothing: the flow's file names what is called."""

    def fingerprint(self, names: Iterable[str], /) -> str:
        return ""
