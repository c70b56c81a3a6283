"""What a peer calls the results of its own calls. Our clients post them back under names that our doors made,
and a peer that keeps threads would take them for others. Held in memory, for those that came last."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

_MOST = 5000


class Aliases:
    def __init__(self) -> None:
        self._known: dict[tuple[uuid.UUID, str], str] = {}

    def learn(self, thread: uuid.UUID, results: Mapping[str, str]) -> None:
        """`results`: the message by the call that it answers."""
        for call, message in results.items():
            self._known[thread, call] = message
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def of(self, thread: uuid.UUID, call: str | None) -> str | None:
        return self._known.get((thread, call)) if call else None
