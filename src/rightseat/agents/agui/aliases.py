"""Message ids that a peer gave the results of its own tool calls. Our clients post these results back under
ids that our doors made, and a peer that keeps threads would take them for new messages. The latest ones are
held in memory."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

_MAX_RESULT_IDS = 5000


class ToolResultIds:
    def __init__(self) -> None:
        self._known: dict[tuple[uuid.UUID, str], str] = {}

    def add(self, thread: uuid.UUID, results: Mapping[str, str]) -> None:
        """Store `results`: message ids by the call that each answers."""
        for call, message in results.items():
            self._known[thread, call] = message
        while len(self._known) > _MAX_RESULT_IDS:
            del self._known[next(iter(self._known))]

    def get(self, thread: uuid.UUID, call: str | None) -> str | None:
        return self._known.get((thread, call)) if call else None
