"""EntryWriter: entries of all runs of this process, written in windows, one statement each.

Every entry is logged before it is shown. The statement checks the fence of each run: entries of a lease that another
process has by now are refused, and those of the other runs are not.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import psycopg

from rightseat.errors import StoreFailed
from rightseat.stores.encoding import BUFFERED_EVENTS, MAX_UNWRITTEN, encode_entry, encode_json
from rightseat.stores.postgres import statements as sql
from rightseat.stores.postgres.database import STATEMENT_SECONDS, PostgresDatabase
from rightseat.stores.postgres.keys import encode_key
from rightseat.stores.postgres.prepared import PreparedStatement, TextRow
from rightseat.stores.postgres.windows import EncodedWindow, FencedKey, OpenTexts, ThreadKey, has_lasting_entry
from rightseat.types.events import ReasoningDelta, RunStarted, TextDelta
from rightseat.types.live import shorten_window
from rightseat.types.threads import LeaseLost, NumberedEntry, ThreadEntry, is_delta, is_run_end

log = logging.getLogger(__name__)
MAX_HOLD_SECONDS = 1.0
"""Longest time in which readers wait for a window: whether its connection broke, or there is no answer."""
STANDSTILL_SECONDS = 0.25
"""Delay of a timer from which on this process stood still, and not the database."""
MAX_UNWRITTEN_BYTES = 64 << 20
"""Size of entries that may wait while the database is away, as well as MAX_UNWRITTEN."""
MAX_WINDOW_ENTRIES = 5000
"""Entries of one statement: after an outage what waited is written in several."""
ENTRY_BYTES = 200
DELTAS = (TextDelta, ReasoningDelta)
RETRY_PAUSE, LONGEST_RETRY_PAUSE = 0.25, 2.0


class EntryWriter:
    def __init__(self, database: PostgresDatabase, window_seconds: float, clock: Callable[[], float] | None) -> None:
        self.database = database
        self.window_seconds = window_seconds
        self.clock = clock
        self.unwritten: dict[FencedKey, list[NumberedEntry]] = {}
        self.failed: dict[FencedKey, list[NumberedEntry]] = {}
        """Window that could not be written. It is written again as it was: the database may have it, and would take
        the same entries twice if they came with others."""
        self.texts: OpenTexts = {}
        """Texts that have been written in part."""
        self.records: dict[FencedKey, str] = {}
        """Keys of records that are deleted when their runs have ended."""
        self.stored: dict[FencedKey, asyncio.Future[None]] = {}
        """Futures of runs whose readers wait for the next window."""
        self.count = 0
        """Entries that wait."""
        self.writing: Collection[FencedKey] = ()
        """Leases of the window that is being written."""
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.Handle | None = None
        self.window_end = 0.0
        self.is_urgent = False
        """Whether something waits that is no delta."""
        self.pause = RETRY_PAUSE
        self.hold: asyncio.TimerHandle | None = None
        """Timer of the window that is being written."""
        self.statement: PreparedStatement | None = None
        """APPEND_ENTRIES on the connection that the windows are written on."""
        self.away_since: float | None = None
        """Wall-clock time of the first window that was not written in time; None since one was."""
        self.is_away = False
        """Whether the last window could not be written: readers do not wait for the next one."""
        self.size = 0
        """Bytes that wait, counted while the database is away."""
        self.lost_listeners: list[Callable[[str, str, int], None]] = []
        database.health.listeners.append(self.flush)
        self.dropped = 0
        """Entries that were not kept because the database was away for too long."""

    def append(self, key: ThreadKey, first: int, entries: Sequence[ThreadEntry], fence: int) -> asyncio.Future[None]:
        """Append entries to the next window. Readers are shown them when the returned future is done: at once while
        the database is away."""
        leased = (key, fence)
        numbered = [(first, entries[0])] if len(entries) == 1 else list(enumerate(entries, first))
        waiting = self.unwritten.get(leased)
        if waiting is None:
            self.unwritten[leased] = numbered
        else:
            waiting += numbered
        self.count += len(entries)
        if self.is_away:
            self.size += sum(map(measure_entry, entries))
            self.drop_surplus()
            shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            shown.set_result(None)
            return shown
        stored = self.stored.get(leased)
        if stored is None:
            stored = self.stored[leased] = asyncio.get_running_loop().create_future()
        if type(entries[-1]) is not TextDelta and not self.is_urgent and not isinstance(entries[-1], BUFFERED_EVENTS):
            self.is_urgent = True
            self.cancel_timer()
        if self.timer is None and self.task is None:
            self.schedule()
        return stored

    def schedule(self) -> None:
        """Write what waits: at once after a pause or for the sake of what is no delta, else with the next window."""
        loop = asyncio.get_running_loop()
        if self.is_urgent or loop.time() >= self.window_end:
            # Entries appended in the same step of the event loop join the window.
            self.timer = loop.call_soon(self.flush)
        else:
            self.timer = loop.call_at(self.window_end, self.flush)

    def cancel_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def flush(self) -> None:
        """Begin to write what waits, unless a window is being written: the next one follows it."""
        self.cancel_timer()
        if self.task is not None or not (self.failed or self.unwritten):
            return
        self.is_urgent = False
        self.window_end = asyncio.get_running_loop().time() + shorten_window(self.window_seconds, self.count)
        window = self.take_window()
        stored = self.take_stored()
        self.count -= sum(map(len, window.values()))
        self.writing = window
        self.task = self.database.start(self.write_window(window, stored))

    def take_window(self) -> dict[FencedKey, list[NumberedEntry]]:
        """Take what waits, of each run its first entries, as many as one statement may have."""
        if self.failed:
            window, self.failed = self.failed, {}
            return window
        if self.count <= MAX_WINDOW_ENTRIES:
            window, self.unwritten = self.unwritten, {}
            return window
        window, room = {}, MAX_WINDOW_ENTRIES
        for leased in list(self.unwritten):
            if not room:
                break
            numbered = self.unwritten.pop(leased)
            window[leased] = numbered[:room]
            if len(numbered) > room:
                self.unwritten[leased] = numbered[room:]
            room -= len(window[leased])
        return window

    def take_stored(self) -> dict[FencedKey, asyncio.Future[None]]:
        """Take the futures of the window that was taken: those of a run that has more to write wait for its next."""
        if not self.unwritten:
            stored, self.stored = self.stored, {}
            return stored
        ready = [leased for leased in self.stored if leased not in self.unwritten]
        return {leased: self.stored.pop(leased) for leased in ready}

    def begin_outage(self) -> None:
        """Show entries before they are kept, from now until a window is written."""
        if not self.is_away:
            self.is_away, self.away_since = True, time.time() - MAX_HOLD_SECONDS

    def hold_readers(self, stored: Mapping[FencedKey, asyncio.Future[None]]) -> None:
        """Let readers wait for a window, for MAX_HOLD_SECONDS at most."""
        due = asyncio.get_running_loop().time() + MAX_HOLD_SECONDS
        self.hold = asyncio.get_running_loop().call_at(due, self.end_hold, due, stored)

    def end_hold(self, due: float, stored: Mapping[FencedKey, asyncio.Future[None]]) -> None:
        if asyncio.get_running_loop().time() - due > STANDSTILL_SECONDS:
            # The answer may have come meanwhile, and may be that the run is another process's by now.
            self.hold_readers(stored)
        else:
            self.show_unwritten(stored)

    def show_unwritten(self, stored: Mapping[FencedKey, asyncio.Future[None]]) -> None:
        """Let readers have what the database has not acknowledged in time."""
        log.warning("the database does not answer: answers are shown before they are kept")
        self.begin_outage()
        settle_futures(stored, set())
        settle_futures(self.stored, set())
        self.stored = {}

    async def write_window(
        self, window: dict[FencedKey, list[NumberedEntry]], stored: Mapping[FencedKey, asyncio.Future[None]]
    ) -> None:
        lost: set[FencedKey] = set()
        has_failed = False
        self.hold_readers(stored)
        try:
            lost = await self.write(window)
            self.pause, self.is_away, self.size = RETRY_PAUSE, False, 0
            self.away_since = None
        except StoreFailed:
            has_failed = True
            self.begin_outage()
            self.put_back(window)
        finally:
            if self.hold is not None:
                self.hold.cancel()
            self.task, self.writing = None, ()
            shown = lost - {leased for leased, future in stored.items() if not future.done()}
            # Readers are shown what could not be kept too: an answer does not wait for the database.
            settle_futures(stored, lost)
        self.tell_lost(shown)
        if has_failed:
            settle_futures(self.stored, lost)
            self.stored = {}
            self.cancel_timer()
            self.timer = asyncio.get_running_loop().call_later(self.pause, self.flush)
            self.pause = min(self.pause * 2, LONGEST_RETRY_PAUSE)
        elif self.unwritten:
            self.schedule()

    def tell_lost(self, leases: set[FencedKey]) -> None:
        """Tell of leases that another process has by now, and whose entries were shown while the database was away: no
        future of theirs can say so."""
        for (owner, thread), fence in leases:
            for listener in self.lost_listeners:
                listener(owner, thread, fence)

    def put_back(self, window: dict[FencedKey, list[NumberedEntry]]) -> None:
        """Keep a window that could not be written for the next attempt, as much of it as may wait."""
        self.failed = window
        lists = [*window.values(), *self.unwritten.values()]
        self.count = sum(map(len, lists))
        self.size = sum(measure_entry(entry) for numbered in lists for _, entry in numbered)
        self.drop_surplus()
        log.error("%d entries of threads wait to be kept", self.count)

    def drop_surplus(self) -> None:
        """Drop entries of the longest answers until half of what may wait does: deltas first, then all but the ends of
        runs, without which their threads would stay busy."""
        if self.count <= MAX_UNWRITTEN and self.size <= MAX_UNWRITTEN_BYTES:
            return
        before = self.count
        for keeps in (is_no_delta, is_end_or_start):
            for numbered in sorted((*self.failed.values(), *self.unwritten.values()), key=len, reverse=True):
                if self.count <= MAX_UNWRITTEN // 2 and self.size <= MAX_UNWRITTEN_BYTES // 2:
                    break
                kept = [item for item in numbered if keeps(item[1])]
                self.count -= len(numbered) - len(kept)
                self.size -= sum(measure_entry(entry) for _, entry in numbered if not keeps(entry))
                numbered[:] = kept
        for leased in self.failed:
            # The database may have what is dropped, in one row with what was written before.
            self.texts.pop(leased, None)
        self.failed = {leased: numbered for leased, numbered in self.failed.items() if numbered}
        self.unwritten = {leased: numbered for leased, numbered in self.unwritten.items() if numbered}
        self.dropped += before - self.count
        log.error("%d entries of threads are not kept: the database has been away for too long", before - self.count)

    async def write(self, window: Mapping[FencedKey, Sequence[NumberedEntry]]) -> set[FencedKey]:
        """Write a window and return those leases that another has by now: their entries are not written."""
        encoded = EncodedWindow(window, self.texts)
        is_durable = any(lease.u for lease in encoded.leases) and has_lasting_entry(window, self.records)
        values = {
            "leases": encode_json(encoded.leases),
            "rows": encode_json(encoded.rows),
            # A crash of the server may lose texts of its last moments, never what is more than that.
            "commit": b"on" if is_durable else b"off",
            "now": repr(float(self.clock())).encode() if self.clock else None,
        }
        job = partial(self.execute, values)
        refused = await self.database.watch(self.database.repeat(job, MAX_HOLD_SECONDS))
        lost = {encoded.order[int(index)] for (index,) in refused if index is not None}
        encoded.note_written(lost)
        for leased in (*lost, *encoded.ended):
            key = self.records.pop(leased, None)
            if key is not None and leased not in lost:
                self.drop_record(leased[0][0], key)
        return lost

    def drop_record(self, owner: str, key: str) -> None:
        """Delete the record of a run that has ended, beside the windows. One that stays expires."""
        values = {"owner": encode_key(owner), "kind": "note", "key": key}
        self.database.start(self.database.execute(sql.DROP_RECORD, values, again=True))

    async def execute(self, values: dict[str, bytes | None]) -> list[TextRow]:
        """Run the statement on a connection that stays with the writer: each window would look for one."""
        if self.statement is None:
            connection = await self.database.lend_for_all()
            self.statement = PreparedStatement(connection, self.database.get_statement(sql.APPEND_ENTRIES))
        try:
            with self.database.health.limit(self.statement.connection, STATEMENT_SECONDS):
                rows = await self.statement.run(values)
        except psycopg.Error as error:
            await self.give_back()
            raise self.database.make_failure(error) from error
        self.database.health.clear()
        return rows

    async def give_back(self) -> None:
        statement, self.statement = self.statement, None
        if statement is not None:
            statement.close()
            await self.database.give_back(statement.connection)

    async def wait_written(self, concerns: Callable[[ThreadKey], bool]) -> None:
        """Wait until entries appended before are written, or could not be."""
        for _ in range(3):
            # The window that is being written, the one that failed, and the one after it.
            if not any(concerns(key) for key, _ in (*self.writing, *self.failed, *self.unwritten)):
                return
            self.flush()
            if self.task is None:
                return
            await asyncio.wait([self.task])

    async def close(self) -> None:
        await self.wait_written(lambda _: True)
        self.cancel_timer()
        settle_futures(self.stored, set())
        await self.give_back()


def measure_entry(entry: ThreadEntry) -> int:
    """Return about how many bytes an entry takes."""
    return ENTRY_BYTES + (len(entry.text) if isinstance(entry, DELTAS) else len(encode_entry(entry) or b""))


def is_no_delta(entry: ThreadEntry) -> bool:
    return not is_delta(entry)


def is_end_or_start(entry: ThreadEntry) -> bool:
    return isinstance(entry, RunStarted) or is_run_end(entry)


def settle_futures(stored: Mapping[FencedKey, asyncio.Future[None]], lost: set[FencedKey]) -> None:
    for leased, future in stored.items():
        if future.done():
            continue
        if lost and leased in lost:
            future.set_exception(LeaseLost())
            # Retrieved: not every run waits for it.
            future.exception()
        else:
            future.set_result(None)
