"""What a flow that doors list says of its tools: it chooses them itself, takes files, and may suggest a
question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn


class Card(Struct, frozen=True):
    """A ToolSource without tools."""

    questions: tuple[str, ...] = ()

    def __contains__(self, name: object, /) -> bool:
        return False

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def asked(self, turn: Turn, /) -> Turn:
        return turn

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        """Nothing: the flow's file says what is called."""

    def digest(self, names: Iterable[str], /) -> str:
        return ""
