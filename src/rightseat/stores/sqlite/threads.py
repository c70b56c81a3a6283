"""ThreadTable: rows of threads, entries and leases. All methods run in the writer thread."""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from rightseat.engine.assembler import Opened
from rightseat.errors import Conflict
from rightseat.types.events import RunStarted
from rightseat.types.threads import (
    PAGE_BYTES,
    RESTARTED,
    Entry,
    Keep,
    Numbered,
    Posted,
    Row,
    Thread,
    ends,
    rows,
)

log = logging.getLogger(__name__)
BUSY = "Thread already running. Wait for its answer or stop it."
DAY = 86400.0
Key = tuple[str, str]
Written = tuple[Key, int, Entry]
_encode = msgspec.json.Encoder(enc_hook=str).encode
_entry = msgspec.json.Decoder(Entry)
_cuts = msgspec.json.Decoder(tuple[int, ...])


class Threads:
    def __init__(self, database: sqlite3.Connection, keep: Keep, clock: Callable[[], float]) -> None:
        self.database = database
        self.keep = keep
        self.clock = clock
        self.process = f"{socket.gethostname()}:{os.getpid()}"
        self.keys: set[Key] = set()
        """Keys of all threads. Read by other OS threads: a set look-up is atomic."""
        self.owners = Counter[str]()
        """Number of threads per owner."""
        self.size = 0
        """Size of all threads, cached: a query would scan them for every run."""
        self.count()
        began = database.execute(
            "INSERT INTO epochs (process, began) VALUES (?, ?)", (self.process, self.clock())
        )
        self.epoch = began.lastrowid

    def count(self) -> None:
        """Reload the cached keys and totals, at the start and after a rollback."""
        self.keys = set(self.database.execute("SELECT owner, id FROM threads"))
        self.owners = Counter(owner for owner, _ in self.keys)
        (self.size,) = self.database.execute("SELECT COALESCE(SUM(size), 0) FROM threads").fetchone()

    def begin(self, key: Key, run: str, assistant: str, name: str) -> int:
        now = self.clock()
        held = self.database.execute("SELECT run FROM leases WHERE owner = ? AND thread = ?", key).fetchone()
        if held:
            raise Conflict(BUSY)
        self.database.execute(
            "INSERT INTO threads (owner, id, name, assistant, created, updated) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (owner, id) DO UPDATE SET updated = excluded.updated",
            (*key, name, assistant, now, now),
        )
        self.database.execute("UPDATE threads SET runs = runs + 1 WHERE owner = ? AND id = ?", key)
        self.database.execute(
            "INSERT INTO leases (owner, thread, run, process, epoch, beat) VALUES (?, ?, ?, ?, ?, ?)",
            (*key, run, self.process, self.epoch, now),
        )
        if key not in self.keys:
            self.keys.add(key)
            self.owners[key[0]] += 1
        self.shorten(key)
        self.tidy(key[0])
        last, _ = self.state(key)
        return last

    def release(self, key: Key, run: str) -> None:
        """Release an unused lease, and delete the thread if it was created for it."""
        given = self.database.execute(
            "DELETE FROM leases WHERE owner = ? AND thread = ? AND run = ?", (*key, run)
        )
        if given.rowcount and self.state(key) == (0, 1):
            self.delete(key)

    def state(self, key: Key) -> tuple[int, int]:
        """Return the numbers of the thread's last entry and last run."""
        found = self.database.execute("SELECT last, runs FROM threads WHERE owner = ? AND id = ?", key)
        last, runs = found.fetchone()
        return last, runs

    def write(self, written: Iterable[Written]) -> None:
        # Entries of concurrent runs are interleaved: group them by thread.
        found: defaultdict[Key, list[Numbered]] = defaultdict(list)
        for key, number, entry in written:
            found[key].append((number, entry))
        # Skip threads that were deleted meanwhile.
        self.extend({key: numbered for key, numbered in found.items() if key in self.keys})

    def extend(self, found: Mapping[Key, Sequence[Numbered]]) -> None:
        now = self.clock()
        made, grown, over = [], [], set[Key]()
        for key, numbered in found.items():
            size = 0
            for row in rows(numbered):
                if ends(row.entry):
                    over.add(key)
                body = encoded(row.entry)
                if body is not None:
                    made.append((*key, row.first, row.last, *key, _encode(row.cuts), body))
                    size += len(body)
            grown.append((numbered[-1][0], size, now, *key))
            self.size += size
        # One statement for all threads: with many runs the statements dominate the cost of a token.
        self.database.executemany(
            "INSERT OR REPLACE INTO entries (owner, thread, first, last, run, cuts, body) "
            "VALUES (?, ?, ?, ?, (SELECT runs FROM threads WHERE owner = ? AND id = ?), ?, ?)",
            made,
        )
        self.database.executemany(
            "UPDATE threads SET last = MAX(last, ?), size = size + ?, updated = ? WHERE owner = ? AND id = ?",
            grown,
        )
        self.database.executemany("DELETE FROM leases WHERE owner = ? AND thread = ?", over)

    def read(self, key: Key, after: int, until: int | None) -> list[Numbered]:
        found: list[Numbered] = []
        size = 0
        selected = self.database.execute(
            "SELECT first, last, cuts, body FROM entries WHERE owner = ? AND thread = ? AND last > ? "
            "ORDER BY last",
            (*key, after),
        )
        for first, last, cuts, body in selected:
            row = decoded(first, last, cuts, body)
            numbered = row.between(after, until) if row else None
            if (until is not None and first > until) or size >= PAGE_BYTES:
                break
            if numbered is not None:
                found.append(numbered)
            size += len(body)
        return found

    def opening(self, key: Key, number: int) -> int:
        (first,) = self.database.execute(
            "SELECT MIN(first) FROM entries WHERE owner = ? AND thread = ? AND run = (SELECT run FROM "
            "entries WHERE owner = ? AND thread = ? AND first <= ? ORDER BY last DESC LIMIT 1)",
            (*key, *key, number),
        ).fetchone()
        return first - 1 if first else 0

    def find(self, key: Key) -> Thread | None:
        found = self.database.execute(
            "SELECT id, name, assistant, created, updated, last, size, archived, run FROM listed "
            "WHERE owner = ? AND id = ?",
            key,
        ).fetchone()
        return thread(found) if found else None

    def every(self, owner: str, assistant: str | None, archived: bool, limit: int, skip: int) -> list[Thread]:
        found = self.database.execute(
            "SELECT id, name, assistant, created, updated, last, size, archived, run FROM listed "
            "WHERE owner = ? AND (? OR NOT archived) AND (? IS NULL OR assistant = ?) "
            "ORDER BY updated DESC, id LIMIT ? OFFSET ?",
            (owner, archived, assistant, assistant, limit, skip),
        )
        return [thread(row) for row in found]

    def change(self, key: Key, name: str | None, archived: bool | None) -> Thread | None:
        self.database.execute(
            "UPDATE threads SET name = COALESCE(?, name), archived = COALESCE(?, archived) "
            "WHERE owner = ? AND id = ?",
            (name, archived, *key),
        )
        return self.find(key)

    def entries(self, key: Key, run: int | None = None) -> list[Entry]:
        """Return all entries of a thread, or of one of its runs."""
        found = self.database.execute(
            "SELECT first, last, cuts, body FROM entries "
            "WHERE owner = ? AND thread = ? AND (? IS NULL OR run = ?) ORDER BY last",
            (*key, run, run),
        )
        return [row.entry for line in found if (row := decoded(*line))]

    def delete(self, key: Key) -> bool:
        found = self.database.execute("SELECT size FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        self.database.execute("DELETE FROM entries WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM leases WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM threads WHERE owner = ? AND id = ?", key)
        if found is None:
            return False
        self.keys.discard(key)
        self.owners[key[0]] -= 1
        self.size -= found[0]
        return True

    def shorten(self, key: Key) -> None:
        """Delete the oldest runs of a thread that is over its size; the newest run always stays."""
        found = self.database.execute("SELECT size FROM threads WHERE owner = ? AND id = ?", key)
        (size,) = found.fetchone()
        if size <= self.keep.thread_bytes:
            return
        weights = self.database.execute(
            "SELECT run, SUM(LENGTH(body)) FROM entries WHERE owner = ? AND thread = ? "
            "GROUP BY run ORDER BY run",
            key,
        ).fetchall()
        for run, weight in weights[:-1]:
            if size <= self.keep.thread_bytes:
                break
            self.database.execute(
                "DELETE FROM entries WHERE owner = ? AND thread = ? AND run = ?", (*key, run)
            )
            size -= weight
            self.size -= weight
        self.database.execute("UPDATE threads SET size = ? WHERE owner = ? AND id = ?", (size, *key))

    def tidy(self, owner: str) -> None:
        """Delete the least recently used threads beyond the limits of age, count and total size."""
        if self.keep.days:
            since = self.clock() - self.keep.days * DAY
            self.forget(self.database.execute("SELECT owner, id FROM idle WHERE updated < ?", (since,)))
        over = self.owners[owner] - self.keep.threads
        if over > 0:
            oldest = "SELECT owner, id FROM idle WHERE owner = ? ORDER BY updated LIMIT ?"
            self.forget(self.database.execute(oldest, (owner, over)))
        oldest = "SELECT owner, id FROM idle ORDER BY updated LIMIT 1"
        while self.size > self.keep.bytes and self.forget(self.database.execute(oldest)):
            pass

    def forget(self, found: Iterable[Key]) -> int:
        return sum(self.delete(key) for key in list(found))

    def recover(self) -> int:
        """End the runs of dead processes and return their number; the folder lock excludes live ones."""
        dead = self.database.execute("SELECT owner, thread, run FROM leases WHERE epoch <> ?", (self.epoch,))
        leases = dead.fetchall()
        for owner, thread, name in leases:
            key = (owner, thread)
            last, run = self.state(key)
            opened = Opened()
            said = [entry for entry in self.entries(key, run) if not isinstance(entry, Posted)]
            for entry in said:
                opened.see(entry)
            # RunStarted may not have been written; clients need it before the end.
            begun = [] if said else [RunStarted(thread, name)]
            self.extend({key: list(enumerate([*begun, *opened.ends(), RESTARTED], last + 1))})
        return len(leases)


def thread(row: tuple[str, str, str, float, float, int, int, int, str]) -> Thread:
    id, name, assistant, created, updated, last, size, archived, run = row
    return Thread(
        id=id,
        name=name,
        assistant=assistant,
        created=created,
        updated=updated,
        last=last,
        size=size,
        archived=bool(archived),
        run=run,
    )


def encoded(entry: Entry) -> bytes | None:
    """Encode an entry; None if JSON cannot represent it, such as a lone surrogate."""
    try:
        return _encode(entry)
    except (TypeError, ValueError, OverflowError, RecursionError):
        log.warning("a %s of a thread cannot be kept: it is not JSON", type(entry).__name__)
        return None


def decoded(first: int, last: int, cuts: bytes, body: bytes) -> Row | None:
    """Decode a row; None if it was changed by hand and is invalid."""
    try:
        return Row(first, last, _entry.decode(body), _cuts.decode(cuts))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        log.warning("an entry of a thread cannot be read and is left out")
        return None
