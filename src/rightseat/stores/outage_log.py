"""OutageLog: one line when entries of threads begin to wait for the store, and one when what waited is kept."""

from __future__ import annotations

import contextvars
import logging


class OutageLog:
    """Says what an outage costs. Its lines have no request's id: whichever request meets the outage, or its end, has
    nothing to do with what the others wrote."""

    def __init__(self, log: logging.Logger) -> None:
        self.log = log
        self.is_on = False
        """Whether something waits, or has waited and is being written."""
        self.kept = 0
        self.dropped = 0
        self.due: int | None = None
        """How many of what waited are to be written after the outage; None while it lasts."""
        self.done = 0

    def say(self, level: int, text: str, *values: object) -> None:
        contextvars.Context().run(self.log.log, level, text, *values)

    def note_failure(self, waiting: int) -> None:
        """Note that entries could not be written, and how many wait."""
        self.due, self.done = None, 0
        if not self.is_on:
            self.is_on, self.kept, self.dropped = True, 0, 0
            self.say(logging.ERROR, "%d entries of threads wait to be kept, and more may follow", waiting)

    def note_dropped(self, count: int) -> None:
        """Note entries that are not kept because too many wait."""
        if not self.dropped:
            self.say(logging.ERROR, "%d entries of threads are not kept: the store has been away for too long", count)
        self.dropped += count

    def note_written(self, kept: int, refused: int, waiting: int) -> None:
        """Note entries that were written after an outage, those that are another worker's by now, and how many wait."""
        if not self.is_on:
            return
        if self.due is None:
            self.due = kept + refused + waiting
        self.kept += kept
        self.done += kept + refused
        if self.done >= self.due:
            self.is_on = False
            self.say(logging.WARNING, "%d entries of threads that waited are kept, %d are not", self.kept, self.dropped)
            self.dropped = 0
