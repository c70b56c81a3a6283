"""ThreadTable: rows of threads, entries and leases. All methods run in the writer thread."""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from rightseat.errors import Conflict
from rightseat.types.events import OpenMessageTracker, RunStarted
from rightseat.types.threads import (
    PAGE_BYTES,
    RUN_NUMBERS,
    RUN_RESTARTED,
    THREAD_BUSY,
    EntryRow,
    NumberedEntry,
    Retention,
    RunEnded,
    Thread,
    ThreadEntry,
    UserInput,
    is_retryable,
    is_run_end,
    merge_rows,
)

log = logging.getLogger(__name__)
DAY_SECONDS = 86400.0
ThreadKey = tuple[str, str]
PendingEntry = tuple[ThreadKey, int, ThreadEntry]
_encode = msgspec.json.Encoder(enc_hook=str).encode
_entry_decoder = msgspec.json.Decoder(ThreadEntry)
_offsets_decoder = msgspec.json.Decoder(tuple[int, ...])


class ThreadTable:
    def __init__(self, database: sqlite3.Connection, retention: Retention, clock: Callable[[], float]) -> None:
        self.database = database
        self.retention = retention
        self.clock = clock
        self.process = f"{socket.gethostname()}:{os.getpid()}"
        self.recount()
        cursor = database.execute("INSERT INTO epochs (process, began) VALUES (?, ?)", (self.process, self.clock()))
        self.epoch = cursor.lastrowid

    def recount(self) -> None:
        """Reload the cached keys and totals, at the start and after a rollback. A query would scan all threads for
        every run. Other OS threads read `keys`: a set look-up is atomic."""
        self.keys: set[ThreadKey] = set(self.database.execute("SELECT owner, id FROM threads"))
        self.owners = Counter(owner for owner, _ in self.keys)
        (self.total_bytes,) = self.database.execute("SELECT COALESCE(SUM(size), 0) FROM threads").fetchone()

    def begin_run(self, key: ThreadKey, run: str, assistant: str, name: str, digest: str) -> int | RunEnded:
        now = self.clock()
        if self.database.execute("SELECT run FROM leases WHERE owner = ? AND thread = ?", key).fetchone():
            raise Conflict(THREAD_BUSY)
        if digest and (ended := self.find_ended_run(key, run, digest)):
            return ended
        self.database.execute(
            "INSERT INTO threads (owner, id, name, assistant, created, updated, runs) VALUES (?, ?, ?, ?, ?, ?, 1) "
            "ON CONFLICT (owner, id) DO UPDATE SET updated = excluded.updated, runs = runs + 1",
            (*key, name, assistant, now, now),
        )
        last, number = self.last_numbers(key)
        self.database.execute(
            "INSERT INTO leases (owner, thread, run, process, epoch, beat, reserved) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, run, self.process, self.epoch, now, last + RUN_NUMBERS),
        )
        if digest:
            self.database.execute(
                "INSERT OR REPLACE INTO runs (owner, thread, id, number, digest) VALUES (?, ?, ?, ?, ?)",
                (*key, run, number, digest),
            )
        if key not in self.keys:
            self.keys.add(key)
            self.owners[key[0]] += 1
        self.drop_oldest_runs(key)
        self.evict_threads(key[0])
        return last

    def find_ended_run(self, key: ThreadKey, run: str, digest: str) -> RunEnded | None:
        """Return where a run with this id and digest is; None if there is none, or it did nothing."""
        row = self.database.execute(
            "SELECT number FROM runs WHERE owner = ? AND thread = ? AND id = ? AND digest = ?", (*key, run, digest)
        ).fetchone()
        if row is None or is_retryable(self.all_entries(key, row[0])):
            return None
        before, last = self.database.execute(
            "SELECT MIN(first) - 1, MAX(last) FROM entries WHERE owner = ? AND thread = ? AND run = ?", (*key, row[0])
        ).fetchone()
        return RunEnded(before, last)

    def release_lease(self, key: ThreadKey, run: str) -> None:
        """Release an unused lease, and delete the thread if it was created for it."""
        cursor = self.database.execute("DELETE FROM leases WHERE owner = ? AND thread = ? AND run = ?", (*key, run))
        if cursor.rowcount and self.last_numbers(key) == (0, 1):
            self.delete_thread(key)

    def last_numbers(self, key: ThreadKey) -> tuple[int, int]:
        """Return the numbers of the thread's last entry and last run."""
        last, runs = self.database.execute("SELECT last, runs FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        return last, runs

    def write_entries(self, pending: Iterable[PendingEntry]) -> None:
        # Entries of concurrent runs are interleaved: group them by thread.
        by_thread: defaultdict[ThreadKey, list[NumberedEntry]] = defaultdict(list)
        for key, number, entry in pending:
            by_thread[key].append((number, entry))
        # Skip threads that were deleted meanwhile.
        self.append_rows({key: numbered for key, numbered in by_thread.items() if key in self.keys})

    def append_rows(self, by_thread: Mapping[ThreadKey, Sequence[NumberedEntry]]) -> None:
        now = self.clock()
        new_rows, thread_updates, ended = [], [], set[ThreadKey]()
        for key, numbered in by_thread.items():
            size = 0
            for row in merge_rows(numbered):
                if is_run_end(row.entry):
                    ended.add(key)
                body = encode_entry(row.entry)
                if body is not None:
                    new_rows.append((*key, row.first, row.last, *key, _encode(row.offsets), body))
                    size += len(body)
            thread_updates.append((numbered[-1][0], size, now, *key))
            self.total_bytes += size
        # One statement for all threads: with many runs the statements dominate the cost of a token.
        self.database.executemany(
            "INSERT OR REPLACE INTO entries (owner, thread, first, last, run, cuts, body) "
            "VALUES (?, ?, ?, ?, (SELECT runs FROM threads WHERE owner = ? AND id = ?), ?, ?)",
            new_rows,
        )
        self.database.executemany(
            "UPDATE threads SET last = MAX(last, ?), size = size + ?, updated = ? WHERE owner = ? AND id = ?",
            thread_updates,
        )
        self.database.executemany("DELETE FROM leases WHERE owner = ? AND thread = ?", ended)

    def read_entries(self, key: ThreadKey, after: int, until: int | None) -> list[NumberedEntry]:
        page: list[NumberedEntry] = []
        size = 0
        selected = self.database.execute(
            "SELECT first, last, cuts, body FROM entries WHERE owner = ? AND thread = ? AND last > ? ORDER BY last",
            (*key, after),
        )
        for first, last, cuts, body in selected:
            row = decode_row(first, last, cuts, body)
            numbered = row.slice(after, until) if row else None
            if (until is not None and first > until) or size >= PAGE_BYTES:
                break
            if numbered is not None:
                page.append(numbered)
            size += len(body)
        return page

    def run_start(self, key: ThreadKey, number: int) -> int:
        (first,) = self.database.execute(
            "SELECT MIN(first) FROM entries WHERE owner = ? AND thread = ? AND run = (SELECT run FROM "
            "entries WHERE owner = ? AND thread = ? AND first <= ? ORDER BY last DESC LIMIT 1)",
            (*key, *key, number),
        ).fetchone()
        return first - 1 if first else 0

    def get_thread(self, key: ThreadKey) -> Thread | None:
        threads = decode_threads(self.database.execute("SELECT * FROM listed WHERE owner = ? AND id = ?", key))
        return threads[0] if threads else None

    def list_threads(self, owner: str, assistant: str | None, archived: bool, limit: int, offset: int) -> list[Thread]:
        rows = self.database.execute(
            "SELECT * FROM listed WHERE owner = ? AND (? OR NOT archived) AND (? IS NULL OR assistant = ?) "
            "ORDER BY updated DESC, id LIMIT ? OFFSET ?",
            (owner, archived, assistant, assistant, limit, offset),
        )
        return decode_threads(rows)

    def update_thread(self, key: ThreadKey, name: str | None, archived: bool | None) -> Thread | None:
        self.database.execute(
            "UPDATE threads SET name = COALESCE(?, name), archived = COALESCE(?, archived) WHERE owner = ? AND id = ?",
            (name, archived, *key),
        )
        return self.get_thread(key)

    def all_entries(self, key: ThreadKey, run: int | None = None) -> list[ThreadEntry]:
        """Return all entries of a thread, or of one of its runs."""
        rows = self.database.execute(
            "SELECT first, last, cuts, body FROM entries "
            "WHERE owner = ? AND thread = ? AND (? IS NULL OR run = ?) ORDER BY last",
            (*key, run, run),
        )
        return [row.entry for line in rows if (row := decode_row(*line))]

    def delete_thread(self, key: ThreadKey) -> bool:
        row = self.database.execute("SELECT size FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        self.database.execute("DELETE FROM entries WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM leases WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM runs WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM threads WHERE owner = ? AND id = ?", key)
        if row is None:
            return False
        self.keys.discard(key)
        self.owners[key[0]] -= 1
        self.total_bytes -= row[0]
        return True

    def drop_oldest_runs(self, key: ThreadKey) -> None:
        """Delete the oldest runs of a thread that is over its size; the newest run always stays."""
        (size,) = self.database.execute("SELECT size FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        if size <= self.retention.thread_bytes:
            return
        weights = self.database.execute(
            "SELECT run, SUM(LENGTH(body)) FROM entries WHERE owner = ? AND thread = ? GROUP BY run ORDER BY run", key
        ).fetchall()
        for run, weight in weights[:-1]:
            if size <= self.retention.thread_bytes:
                break
            self.database.execute("DELETE FROM entries WHERE owner = ? AND thread = ? AND run = ?", (*key, run))
            self.database.execute("DELETE FROM runs WHERE owner = ? AND thread = ? AND number = ?", (*key, run))
            size -= weight
            self.total_bytes -= weight
        self.database.execute("UPDATE threads SET size = ? WHERE owner = ? AND id = ?", (size, *key))

    def evict_threads(self, owner: str) -> None:
        """Delete the least recently used threads beyond the limits of age, count and total size."""
        if self.retention.days:
            since = self.clock() - self.retention.days * DAY_SECONDS
            self.delete_threads(self.database.execute("SELECT owner, id FROM idle WHERE updated < ?", (since,)))
        over = self.owners[owner] - self.retention.threads
        if over > 0:
            oldest = "SELECT owner, id FROM idle WHERE owner = ? ORDER BY updated LIMIT ?"
            self.delete_threads(self.database.execute(oldest, (owner, over)))
        oldest = "SELECT owner, id FROM idle ORDER BY updated LIMIT 1"
        while self.total_bytes > self.retention.bytes and self.delete_threads(self.database.execute(oldest)):
            pass

    def delete_threads(self, keys: Iterable[ThreadKey]) -> int:
        return sum(self.delete_thread(key) for key in list(keys))

    def end_orphaned_runs(self) -> int:
        """End the runs of dead processes and return their number; the folder lock excludes live ones. The ends
        have numbers after the reserved ones: a client may have seen entries that were not stored."""
        query = "SELECT owner, thread, run, reserved FROM leases WHERE epoch <> ?"
        runs = self.database.execute(query, (self.epoch,)).fetchall()
        for owner, thread, name, reserved in runs:
            key = (owner, thread)
            last, run = self.last_numbers(key)
            open_messages = OpenMessageTracker()
            events = [entry for entry in self.all_entries(key, run) if not isinstance(entry, UserInput)]
            for entry in events:
                open_messages.track(entry)
            # RunStarted may not have been written; clients need it before the end.
            run_started = [] if events else [RunStarted(thread, name)]
            ends = [*run_started, *open_messages.end_events(), RUN_RESTARTED]
            self.append_rows({key: list(enumerate(ends, max(last, reserved) + 1))})
        return len(runs)


def decode_threads(rows: sqlite3.Cursor) -> list[Thread]:
    """Return the threads that are rows of the view `listed`."""
    names = [column[0] for column in rows.description]
    # Not strict: SQLite has `archived` as a number.
    return [msgspec.convert(dict(zip(names, row, strict=True)), Thread, strict=False) for row in rows]


def encode_entry(entry: ThreadEntry) -> bytes | None:
    """Encode an entry; None if JSON cannot represent it, such as a lone surrogate."""
    try:
        return _encode(entry)
    except (TypeError, ValueError, OverflowError, RecursionError):
        log.warning("a %s of a thread cannot be kept: it is not JSON", type(entry).__name__)
        return None


def decode_row(first: int, last: int, cuts: bytes, body: bytes) -> EntryRow | None:
    """Decode a row; None if it was changed by hand and is invalid."""
    try:
        return EntryRow(first, last, _entry_decoder.decode(body), _offsets_decoder.decode(cuts))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        log.warning("an entry of a thread cannot be read and is left out")
        return None
