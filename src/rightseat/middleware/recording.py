"""Attached runs in the Journal: a client may ask for a conversation again although its runs end with it.

A run that outlives its client has its log already (`detached.py`). Here nobody follows by number, so several
pieces of what is said are written as one.
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
"""Pieces that are written as one: so few are lost with a process that is killed."""


def record(journal: Journal, which: Which = "threads", most: int = Rules().run_bytes) -> Layer:
    """`threads` are the turns whose client may come back for them; of one run `most` characters are kept."""

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
    """Lease the thread for as long as the run lives. An answer is given although it cannot be kept."""
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
    """What is written of one run."""

    def __init__(self, journal: Journal, turn: Turn, thread: str, before: int, most: int) -> None:
        self.journal = journal
        self.owner = turn.owner
        self.thread = thread
        self.number = before
        self.left = most
        self.opened = Opened()
        self.delta: Delta | None = None
        """What is being said; `pieces` are its words so far."""
        self.pieces: list[str] = []
        self.over = False

    def take(self, event: Event) -> None:
        before, pieces = self.delta, self.pieces
        if type(event) is TextDelta and type(before) is TextDelta and before.id == event.id:
            # Nearly all go on with a text: the short way of what follows.
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
            # Without likelihoods: they are of each piece.
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
        """Its client left in the middle: what was said so far stays, closed as it should be."""
        if not self.over:
            self.end(STOPPED)
