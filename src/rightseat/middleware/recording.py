"""Recording of attached runs in the thread store, so that a client can load a conversation again.

Detached runs are already recorded (`runtime/threads.py`). Nobody follows an attached run by entry number, so
several deltas are written as one entry.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Literal

from rightseat.engine.assembler import Opened
from rightseat.errors import Conflict, StoreFailed
from rightseat.runtime.runtime import DEFAULT
from rightseat.runtime.threads import STOPPED, TOO_LONG, Rules
from rightseat.types.events import Event, RunStarted, TextDelta
from rightseat.types.responder import Layer, Responder
from rightseat.types.streams import closing
from rightseat.types.threads import Delta, Entry, Journal, ends, is_delta, posted, saying, title, words
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
Which = Literal["off", "threads", "all"]
TOGETHER = 16
"""Deltas that are joined into one entry: the most that a killed process loses."""


def record(journal: Journal, which: Which = "threads", most: int = Rules().run_bytes) -> Layer:
    """Layer that records runs. Mode `threads`: turns whose client may load them again. At most `max_chars`
    characters of a run are kept."""

    def layer(inner: Responder) -> Responder:
        def respond(turn: Turn) -> AsyncIterator[Event]:
            return recorded(inner, turn, journal, most) if wanted(turn, which) else inner(turn)

        return respond

    return layer if which != "off" else lambda inner: inner


def wanted(turn: Turn, which: Which) -> bool:
    if turn.keep == "never" or turn.raw is not None:
        return False
    return which == "all" or turn.keep == "asked"


async def recorded(inner: Responder, turn: Turn, journal: Journal, most: int) -> AsyncIterator[Event]:
    notes: Notes | None = None
    async with closing(inner(turn)) as events:
        try:
            async for event in events:
                if type(event) is RunStarted:
                    notes = await begun(turn, event, journal, most)
                elif notes is not None:
                    notes.take(event)
                yield event
        finally:
            if notes is not None:
                notes.close()


async def begun(turn: Turn, started: RunStarted, journal: Journal, most: int) -> Notes | None:
    """Lease the thread for the run and return its recorder; None if the store cannot record it."""
    thread = turn.conversation or started.thread
    name = title(turn.messages)
    try:
        before = await journal.begin(
            turn.owner, thread, started.run, assistant=turn.assistant or DEFAULT, name=name
        )
    except Conflict:
        log.debug("an answer is not kept: another run has its thread")
        return None
    except StoreFailed:
        log.warning("an answer is not kept: the store failed")
        return None
    notes = Notes(journal, turn, thread, before, most)
    notes.write(posted(turn, new=before == 0, results=True))
    notes.write(started)
    return notes


class Notes:
    """Writes the entries of one run."""

    def __init__(self, journal: Journal, turn: Turn, thread: str, before: int, most: int) -> None:
        self.journal = journal
        self.owner = turn.owner
        self.thread = thread
        self.number = before
        self.left = most
        self.opened = Opened()
        self.delta: Delta | None = None
        """The delta that is being joined; `pieces` are its texts so far."""
        self.pieces: list[str] = []
        self.over = False

    def take(self, event: Event) -> None:
        before, pieces = self.delta, self.pieces
        if type(event) is TextDelta and type(before) is TextDelta and before.id == event.id:
            # Fast path: nearly all events continue a text.
            left = self.left - len(event.text)
            if left >= 0 and len(pieces) + 1 < TOGETHER:
                self.left = left
                pieces.append(event.text)
                return
        if self.over:
            return
        if is_delta(event):
            self.hear(event)
            return
        self.opened.see(event)
        self.flush()
        self.write(event)

    def hear(self, event: Delta) -> None:
        said = words(event)
        self.left -= len(said)
        before = self.delta
        if before is None or before.id != event.id or type(before) is not type(event):
            self.flush()
            # Logprobs belong to single deltas and are dropped.
            self.delta = TextDelta(event.id, "") if type(event) is TextDelta else event
        self.pieces.append(said)
        if self.left < 0:
            self.end(TOO_LONG)
        elif len(self.pieces) == TOGETHER:
            self.flush()

    def flush(self) -> None:
        if self.delta is not None:
            whole = saying(self.delta, "".join(self.pieces))
            self.delta, self.pieces = None, []
            self.write(whole)

    def write(self, entry: Entry) -> None:
        self.number += 1
        self.journal.append(self.owner, self.thread, self.number, (entry,))
        self.over = ends(entry)

    def end(self, entry: Event) -> None:
        self.flush()
        for event in (*self.opened.ends(), entry):
            self.write(event)

    def close(self) -> None:
        """End the record of a run whose client left: close open items and mark it stopped."""
        if not self.over:
            self.end(STOPPED)
