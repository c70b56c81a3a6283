"""LeaseLog: entries of one lease on their way into the database.

It has what the writer knows of a run, so that a token is one call, without a search by names and without a future.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rightseat.stores.postgres.keys import encode_key
from rightseat.types.events import TextDelta
from rightseat.types.threads import LeaseLost, NumberedEntry, StoredListener, ThreadEntry

if TYPE_CHECKING:
    from rightseat.stores.postgres.writer import EntryWriter

ThreadKey = tuple[str, str]
FencedKey = tuple[ThreadKey, int]
"""A thread and the fence of the lease that writes to it."""


class OpenText:
    """Adjacent deltas of one text that are written, in rows that may become one."""

    __slots__ = ("entries", "id", "last", "rows", "size")

    def __init__(self, entries: list[NumberedEntry], size: int) -> None:
        self.entries = entries
        self.last, entry = entries[-1]
        self.id = entry.id if isinstance(entry, TextDelta) and entry.logprobs is None else None
        """Id of the message, if one of its further deltas may be added without a look at the last one."""
        self.rows = 1
        self.size = size
        """Bytes of the rows."""


class LeaseLog:
    __slots__ = ("fence", "key", "listener", "names", "record", "stored", "taken", "text", "waiting", "writer")

    def __init__(self, writer: EntryWriter, key: ThreadKey, fence: int) -> None:
        self.writer = writer
        self.key = key
        self.fence = fence
        self.names = (encode_key(key[0]), encode_key(key[1]))
        self.waiting: list[NumberedEntry] = []
        """Entries for the next window."""
        self.text: OpenText | None = None
        """Text that has been written in part."""
        self.record: str | None = None
        """Key of the run's record, which was written with the lease and goes with the run's end."""
        self.listener: StoredListener | None = None
        self.stored: asyncio.Future[None] | None = None
        """Future of callers without a listener, done when what waits is written."""
        self.taken: asyncio.Future[None] | None = None
        """The same for the window that is being written."""

    @property
    def leased(self) -> FencedKey:
        return self.key, self.fence

    def append(self, number: int, entry: ThreadEntry) -> None:
        """Append an entry to the next window."""
        writer = self.writer
        if not self.waiting:
            writer.unwritten.append(self)
        self.waiting.append((number, entry))
        writer.count += 1
        if type(entry) is not TextDelta or writer.is_away:
            writer.on_append(self, number, entry)
        elif writer.timer is None and writer.task is None:
            writer.schedule()

    def take(self) -> list[NumberedEntry]:
        """Take all that waits, for a window."""
        taken, self.waiting = self.waiting, []
        if self.stored is not None:
            if self.taken is not None:
                # Of the window before, which is about to be settled.
                settle_future(self.taken)
            self.taken, self.stored = self.stored, None
        return taken

    def get_stored(self) -> asyncio.Future[None]:
        """Return the future of what waits."""
        if self.stored is None:
            self.stored = asyncio.get_running_loop().create_future()
        return self.stored

    def settle(self, number: int) -> None:
        """Let readers have the entries of a window, up to a number."""
        if self.taken is not None:
            settle_future(self.taken)
            self.taken = None
        if self.listener is not None:
            self.listener(number, False)

    def show_waiting(self) -> None:
        """Let readers have what is not written yet."""
        if self.stored is not None:
            settle_future(self.stored)
            self.stored = None
        if self.waiting:
            self.tell_soon(self.waiting[-1][0])

    def lose(self, number: int) -> bool:
        """Say that the entries of a window are refused; return whether there is anybody to say it to."""
        taken, self.taken = self.taken, None
        if taken is not None and not taken.done():
            taken.set_exception(LeaseLost())
            # Retrieved: not every run waits for it.
            taken.exception()
        elif self.listener is None:
            return False
        self.tell_soon(number, is_lost=True)
        return True

    def tell_soon(self, number: int, *, is_lost: bool = False) -> None:
        """Tell the listener in a step of its own of the event loop: its run may be about to append."""
        if self.listener is not None:
            asyncio.get_running_loop().call_soon(self.listener, number, is_lost)


def settle_future(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
