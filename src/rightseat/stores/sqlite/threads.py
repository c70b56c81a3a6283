"""ThreadTable: rows of threads, entries and leases. All methods run in the writer thread."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from rightseat.errors import Conflict
from rightseat.stores.encoding import LOST_RUN, RUN_LOST, decode_entry, encode_entry, encode_json
from rightseat.stores.sqlite.database import COVERED_COLUMNS, DamagedRow, checksum_row, verify_row
from rightseat.stores.sqlite.totals import DELETED_FENCE, THREAD_BYTES, Totals
from rightseat.types.threads import (
    ANY_FENCE,
    PAGE_BYTES,
    RUN_NUMBERS,
    EntryRow,
    Lease,
    LeaseHolder,
    NumberedEntry,
    OrphanedRun,
    Retention,
    RunEnded,
    Thread,
    ThreadBusy,
    ThreadEntry,
    find_take_over_number,
    is_delta,
    is_retryable,
    is_run_end,
    make_restart_entries,
    merge_rows,
)
from rightseat.types.turn import Owner

DAY_SECONDS = 86400.0
ThreadKey = tuple[str, str]
FencedKey = tuple[ThreadKey, int]
"""A thread and the fence of the lease that writes to it."""
PendingEntry = tuple[FencedKey, int, ThreadEntry]
EncodedRow = tuple[str, str, int, int, int, bytes, bytes, int]
NO_CUTS = b"[]"


class ThreadTable:
    def __init__(self, database: sqlite3.Connection, retention: Retention, clock: Callable[[], float]) -> None:
        self.database = database
        self.retention = retention
        self.clock = clock
        self.totals = Totals(database)
        self.process = f"{socket.gethostname()}:{os.getpid()}"
        cursor = database.execute("INSERT INTO epochs (process, began) VALUES (?, ?)", (self.process, self.clock()))
        self.epoch = cursor.lastrowid

    def has_thread(self, key: ThreadKey) -> bool:
        return self.get_fence(key) is not None

    def begin_run(self, key: ThreadKey, run: str, assistant: str, name: str, digest: str) -> Lease | RunEnded:
        now = float(self.clock())
        if holder := self.get_lease_holder(key):
            raise ThreadBusy(holder)
        if digest and (ended := self.find_ended_run(key, run, digest)):
            return ended
        is_new = not self.has_thread(key)
        if is_new:
            # A worker may still write to a deleted thread of this name.
            fence = self.totals.get(DELETED_FENCE) + 1
            self.database.execute(
                "INSERT INTO threads (owner, id, name, assistant, created, updated, runs, checksum) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, name, assistant, now, now, fence, checksum_row("threads", b"", *key, name, assistant, now)),
            )
        else:
            self.database.execute(
                "UPDATE threads SET updated = ?, runs = runs + 1 WHERE owner = ? AND id = ?", (now, *key)
            )
        last, number = self.last_numbers(key)
        lease = (*key, run, self.process, self.epoch, now, last + RUN_NUMBERS)
        self.database.execute(
            "INSERT INTO leases (owner, thread, run, process, epoch, beat, reserved, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*lease, checksum_row("leases", b"", *lease)),
        )
        if digest:
            record = (*key, run, number, digest)
            self.database.execute(
                "INSERT OR REPLACE INTO runs (owner, thread, id, number, digest, checksum) VALUES (?, ?, ?, ?, ?, ?)",
                (*record, checksum_row("runs", b"", *record)),
            )
        self.drop_oldest_runs(key)
        self.evict_threads(key[0] if is_new else None)
        return Lease(last, number)

    def get_lease_holder(self, key: ThreadKey) -> LeaseHolder | None:
        row = self.database.execute(
            "SELECT leases.run, CAST(epoch AS TEXT), runs, reserved - ? FROM leases "
            "JOIN threads ON threads.owner = leases.owner AND id = thread WHERE leases.owner = ? AND thread = ?",
            (RUN_NUMBERS, *key),
        ).fetchone()
        return LeaseHolder(*row) if row else None

    def list_lease_workers(self) -> set[str]:
        return {worker for (worker,) in self.database.execute("SELECT DISTINCT CAST(epoch AS TEXT) FROM leases")}

    def get_fence(self, key: ThreadKey) -> int | None:
        """Return the fence of the thread's newest lease, which is the number of its run; None if there is no such
        thread."""
        row = self.database.execute("SELECT runs FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        return row[0] if row else None

    def find_ended_run(self, key: ThreadKey, run: str, digest: str) -> RunEnded | None:
        """Return where a run with this id and digest is; None if there is none, or it did nothing."""
        row = self.database.execute(
            "SELECT number, checksum FROM runs WHERE owner = ? AND thread = ? AND id = ? AND digest = ?",
            (*key, run, digest),
        ).fetchone()
        if row is None:
            return None
        verify_row("runs", row[1], b"", *key, run, row[0], digest)
        if row[0] == LOST_RUN:
            raise Conflict(RUN_LOST)
        if is_retryable(self.all_entries(key, row[0])):
            return None
        before, last = self.database.execute(
            "SELECT MIN(first) - 1, MAX(last) FROM entries WHERE owner = ? AND thread = ? AND run = ?", (*key, row[0])
        ).fetchone()
        return RunEnded(before, last)

    def release_lease(self, key: ThreadKey, run: str) -> None:
        """Release an unused lease of this process, and delete the thread if it was created for it."""
        cursor = self.database.execute(
            "DELETE FROM leases WHERE owner = ? AND thread = ? AND run = ? AND epoch = ?", (*key, run, self.epoch)
        )
        if cursor.rowcount and self.last_numbers(key)[0] == 0:
            self.delete_thread(key)

    def last_numbers(self, key: ThreadKey) -> tuple[int, int]:
        """Return the numbers of the thread's last entry and last run."""
        last, runs = self.database.execute("SELECT last, runs FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        return last, runs

    def write_entries(self, pending: Iterable[PendingEntry]) -> set[FencedKey]:
        """Write the entries and return those leases that another has by now: their entries are not written."""
        # Entries of concurrent runs are interleaved: group them by thread.
        by_lease: defaultdict[FencedKey, list[NumberedEntry]] = defaultdict(list)
        for leased, number, entry in pending:
            by_lease[leased].append((number, entry))
        return self.append_rows(by_lease)

    def append_rows(self, by_lease: Mapping[FencedKey, Sequence[NumberedEntry]]) -> set[FencedKey]:
        """Append entries to the threads that still have these fences; returns the leases that are another's."""
        now, total, lost = self.clock(), 0, set[FencedKey]()
        new_rows, used, ended = [], [], []
        # One for all: making a cursor costs as much as what it does here.
        cursor = self.database.cursor()
        for leased, numbered in by_lease.items():
            key, fence = leased
            run = fence if fence != ANY_FENCE else self.get_fence(key)
            # Nearly all rows of workers have one entry: their windows are as long as the time between two tokens.
            merged = merge_rows(numbered) if len(numbered) > 1 else [EntryRow(numbered[0][0], *numbered[0])]
            rows = encode_rows(key, run or 0, merged)
            size = sum(len(body) for *_, body, _ in rows)
            # The fence is checked by the statement that every append needs.
            cursor.execute(
                "UPDATE threads SET last = MAX(last, ?), size = size + ? WHERE owner = ? AND id = ? AND runs = ?",
                (numbered[-1][0], size, *key, run),
            )
            if not cursor.rowcount:
                # The thread may have been deleted meanwhile.
                if self.has_thread(key):
                    lost.add(leased)
                continue
            new_rows += rows
            total += size
            others = [row.entry for row in merged if not is_delta(row.entry)]
            if others:
                used.append((now, *key))
            if any(map(is_run_end, others)):
                ended.append(key)
        # One statement for all threads: with many runs the statements dominate the cost of a token.
        self.database.executemany(
            "INSERT OR REPLACE INTO entries (owner, thread, first, last, run, cuts, body, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            new_rows,
        )
        # Not for deltas alone: two indexes have this column.
        self.database.executemany("UPDATE threads SET updated = ? WHERE owner = ? AND id = ?", used)
        self.database.executemany("DELETE FROM leases WHERE owner = ? AND thread = ?", ended)
        self.totals.add(THREAD_BYTES, total)
        return lost

    def read_entries(self, key: ThreadKey, after: int, until: int | None) -> list[NumberedEntry]:
        page: list[NumberedEntry] = []
        size = 0
        selected = self.database.execute(
            "SELECT first, last, cuts, body, checksum FROM entries "
            "WHERE owner = ? AND thread = ? AND last > ? ORDER BY last",
            (*key, after),
        )
        for first, last, cuts, body, checksum in selected:
            row = decode_row(key, first, last, cuts, body, checksum)
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
            "UPDATE threads SET name = COALESCE(?, name), archived = COALESCE(?, archived), checksum = "
            "row_checksum('threads', x'', owner, id, COALESCE(?, name), assistant, created) "
            "WHERE owner = ? AND id = ?",
            (name, archived, name, *key),
        )
        return self.get_thread(key)

    def all_entries(self, key: ThreadKey, run: int | None = None) -> list[ThreadEntry]:
        """Return all entries of a thread, or of one of its runs."""
        rows = self.database.execute(
            "SELECT first, last, cuts, body, checksum FROM entries "
            "WHERE owner = ? AND thread = ? AND (? IS NULL OR run = ?) ORDER BY last",
            (*key, run, run),
        )
        return [row.entry for line in rows if (row := decode_row(key, *line))]

    def delete_thread(self, key: ThreadKey) -> bool:
        row = self.database.execute("SELECT size, runs FROM threads WHERE owner = ? AND id = ?", key).fetchone()
        self.database.execute("DELETE FROM entries WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM leases WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM runs WHERE owner = ? AND thread = ?", key)
        self.database.execute("DELETE FROM threads WHERE owner = ? AND id = ?", key)
        if row is None:
            return False
        self.totals.add(THREAD_BYTES, -row[0])
        self.totals.raise_to(DELETED_FENCE, row[1])
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
            self.totals.add(THREAD_BYTES, -weight)
        self.database.execute("UPDATE threads SET size = ? WHERE owner = ? AND id = ?", (size, *key))

    def evict_threads(self, owner: str | None) -> None:
        """Delete the least recently used threads beyond the limits of age and total size, and beyond the number of
        threads of an owner who has a new one."""
        if self.retention.days:
            since = self.clock() - self.retention.days * DAY_SECONDS
            self.delete_threads(self.database.execute("SELECT owner, id FROM idle WHERE updated < ?", (since,)))
        if owner is not None:
            (count,) = self.database.execute("SELECT COUNT(*) FROM threads WHERE owner = ?", (owner,)).fetchone()
            over = max(count - self.retention.threads, 0)
            oldest = "SELECT owner, id FROM idle WHERE owner = ? ORDER BY updated LIMIT ?"
            self.delete_threads(self.database.execute(oldest, (owner, over)))
        oldest = "SELECT owner, id FROM idle ORDER BY updated LIMIT 1"
        while self.totals.get(THREAD_BYTES) > self.retention.bytes and self.delete_threads(
            self.database.execute(oldest)
        ):
            pass

    def delete_threads(self, keys: Iterable[ThreadKey]) -> int:
        return sum(self.delete_thread(key) for key in list(keys))

    def list_orphaned_runs(self, dead_workers: Collection[str] | None = None) -> list[OrphanedRun]:
        """Return the runs of dead workers, or of all others where the folder lock excludes live ones."""
        rows = self.database.execute("SELECT owner, thread, run, epoch FROM leases").fetchall()
        return [
            OrphanedRun(Owner(owner), thread, run)
            for owner, thread, run, epoch in rows
            if (epoch != self.epoch if dead_workers is None else str(epoch) in dead_workers)
        ]

    def take_over_run(self, key: ThreadKey, holder: LeaseHolder) -> Lease | None:
        """Lease the thread of a run to this process, if the holder still has it."""
        if self.get_lease_holder(key) != holder:
            return None
        last, number = self.last_numbers(key)
        fence = number + 1
        # Entries of the holder are refused from here on, and those it has appended are the new lease's.
        self.database.execute("UPDATE threads SET runs = ? WHERE owner = ? AND id = ?", (fence, *key))
        self.database.execute(
            "UPDATE entries SET run = ? WHERE owner = ? AND thread = ? AND run = ?", (fence, *key, number)
        )
        self.database.execute(
            "UPDATE runs SET number = ?, checksum = row_checksum('runs', x'', owner, thread, id, ?, digest) "
            "WHERE owner = ? AND thread = ? AND number = ?",
            (fence, fence, *key, number),
        )
        lease = (*key, holder.run, self.process, self.epoch, float(self.clock()), holder.before + RUN_NUMBERS)
        self.database.execute(
            "INSERT OR REPLACE INTO leases (owner, thread, run, process, epoch, beat, reserved, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*lease, checksum_row("leases", b"", *lease)),
        )
        return Lease(holder.before, fence, find_take_over_number(holder.before, last))

    def end_orphaned_runs(
        self, dead_workers: Collection[str] | None = None, keep: Collection[OrphanedRun] = ()
    ) -> list[OrphanedRun]:
        """End the runs of dead workers, or of all others, but those of `keep`. The ends have numbers after the reserved
        ones: a client may have seen entries that were not stored."""
        ended = [run for run in self.list_orphaned_runs(dead_workers) if run not in keep]
        for orphaned in ended:
            key = (orphaned.owner.name, orphaned.thread)
            holder = self.get_lease_holder(key)
            if holder is None:
                # The thread itself is lost.
                self.database.execute("DELETE FROM leases WHERE owner = ? AND thread = ?", key)
                continue
            last, run = self.last_numbers(key)
            ends = make_restart_entries(self.all_entries(key, run), orphaned.thread, orphaned.run)
            first = max(last, holder.before + RUN_NUMBERS) + 1
            self.append_rows({(key, run): list(enumerate(ends, first))})
            # From here on its own entries are refused.
            self.database.execute("UPDATE threads SET runs = runs + 1 WHERE owner = ? AND id = ?", key)
        return ended


def decode_threads(rows: sqlite3.Cursor) -> list[Thread]:
    """Return the threads that are rows of the view `listed`."""
    names = [column[0] for column in rows.description]
    threads = []
    for values in rows:
        row = dict(zip(names, values, strict=True))
        verify_row("threads", row["checksum"], b"", *(row[name] for name in COVERED_COLUMNS["threads"]))
        try:
            # Not strict: SQLite has `archived` as a number.
            threads.append(msgspec.convert(row, Thread, strict=False))
        except msgspec.ValidationError:
            raise DamagedRow("a row of threads is damaged") from None
    return threads


def encode_rows(key: ThreadKey, run: int, merged: Iterable[EntryRow]) -> list[EncodedRow]:
    """Encode entries of a run as rows of their table."""
    rows: list[EncodedRow] = []
    for row in merged:
        body = encode_entry(row.entry)
        if body is not None:
            cuts = encode_json(row.offsets) if row.offsets else NO_CUTS
            checksum = checksum_row("entries", body, *key, row.first, row.last, cuts)
            rows.append((*key, row.first, row.last, run, cuts, body, checksum))
    return rows


def decode_row(key: ThreadKey, first: int, last: int, cuts: bytes, body: bytes, checksum: int) -> EntryRow | None:
    """Decode a row; None if another version wrote it and it is invalid here. Raises DamagedRow."""
    verify_row("entries", checksum, body, *key, first, last, cuts)
    return decode_entry(first, last, cuts, body)
