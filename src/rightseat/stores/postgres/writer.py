"""EntryWriter: entries of all runs of this process, written in windows, one statement each.

Every entry is logged before it is shown. The statement checks the fence of each run: entries of a lease that another
process has by now are refused, and those of the other runs are not.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

import psycopg

from rightseat.errors import StoreFailed
from rightseat.stores.encoding import BUFFERED_EVENTS, MAX_UNWRITTEN, encode_entry, encode_json
from rightseat.stores.outage_log import OutageLog
from rightseat.stores.postgres import statements as sql
from rightseat.stores.postgres.database import STATEMENT_SECONDS, PostgresDatabase
from rightseat.stores.postgres.lease_log import FencedKey, LeaseLog, ThreadKey
from rightseat.stores.postgres.prepared import PreparedStatement, TextRow
from rightseat.stores.postgres.windows import EncodedWindow, Window, has_lasting_entry
from rightseat.types.events import ReasoningDelta, RunStarted, TextDelta
from rightseat.types.live import shorten_window
from rightseat.types.threads import NumberedEntry, StoredListener, ThreadEntry, UserInput, is_delta, is_run_end

log = logging.getLogger(__name__)
MAX_HOLD_SECONDS = 1.0
"""Longest time in which readers wait for a window: whether its connection broke, or there is no answer."""
STANDSTILL_SECONDS = 0.25
"""Delay of a timer from which on this process stood still, and not the database."""
MAX_UNWRITTEN_BYTES = 64 << 20
"""Size of entries that may wait while the database is away, as well as MAX_UNWRITTEN."""
MAX_WINDOW_ENTRIES = 5000
"""Entries of one statement: after an outage what waited is written in several."""
MAX_LOGS = 20_000
"""Leases that are remembered; those that have gone elsewhere are among them."""
OPENING_SECONDS = 0.005
"""Time that the first entries of a run wait for the beginning of its answer, to be written with it."""
OPENINGS = (UserInput, RunStarted)
ENTRY_BYTES = 200
DELTAS = (TextDelta, ReasoningDelta)
RETRY_PAUSE, LONGEST_RETRY_PAUSE = 0.25, 2.0


class EntryWriter:
    def __init__(self, database: PostgresDatabase, window_seconds: float, clock: Callable[[], float] | None) -> None:
        self.database = database
        self.window_seconds = window_seconds
        self.clock = clock
        self.logs: dict[FencedKey, LeaseLog] = {}
        self.unwritten: list[LeaseLog] = []
        """Those with entries that wait for the next window."""
        self.failed: list[tuple[LeaseLog, list[NumberedEntry]]] = []
        """Window that could not be written. It is written again as it was: the database may have it, and would take
        the same entries twice if they came with others."""
        self.count = 0
        """Entries that wait."""
        self.writing: Window = ()
        """Window that is being written."""
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
        self.outage = OutageLog(log)
        self.dropped = 0
        """Entries that were not kept because the database was away for too long."""

    def open_entry_log(self, key: ThreadKey, fence: int, listener: StoredListener) -> LeaseLog:
        lease = self.get_log(key, fence)
        lease.listener = listener
        return lease

    def get_log(self, key: ThreadKey, fence: int) -> LeaseLog:
        lease = self.logs.get((key, fence))
        if lease is None:
            if len(self.logs) >= MAX_LOGS:
                self.forget_log()
            lease = self.logs[key, fence] = LeaseLog(self, key, fence)
        return lease

    def forget_log(self) -> None:
        """Forget the oldest lease that nothing waits of: of two logs in one window the database would take one."""
        oldest = next((leased for leased, lease in self.logs.items() if not lease.waiting), None)
        if oldest is not None:
            del self.logs[oldest]

    def append(self, key: ThreadKey, first: int, entries: Sequence[ThreadEntry], fence: int) -> asyncio.Future[None]:
        """Append entries to the next window. Readers are shown them when the returned future is done: at once while
        the database is away."""
        lease = self.get_log(key, fence)
        for number, entry in enumerate(entries, first):
            lease.append(number, entry)
        stored = lease.get_stored()
        if self.is_away:
            lease.show_waiting()
        return stored

    def on_append(self, lease: LeaseLog, number: int, entry: ThreadEntry) -> None:
        """Take an entry that is no delta of a text, or comes while the database is away."""
        if self.is_away:
            self.size += measure_entry(entry)
            self.drop_surplus()
            lease.tell_soon(number)
            return
        if isinstance(entry, OPENINGS):
            if self.timer is None and self.task is None:
                self.timer = asyncio.get_running_loop().call_later(OPENING_SECONDS, self.flush)
            return
        if not self.is_urgent and not isinstance(entry, BUFFERED_EVENTS):
            self.is_urgent = True
            self.cancel_timer()
        if self.timer is None and self.task is None:
            self.schedule()

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
        window = self.writing = self.take_window()
        self.task = self.database.start(self.write_window(window))

    def take_window(self) -> list[tuple[LeaseLog, list[NumberedEntry]]]:
        """Take what waits, of each run its first entries, as many as one statement may have."""
        if self.failed:
            window, self.failed = self.failed, []
            self.count -= sum(len(numbered) for _, numbered in window)
            return window
        leases, self.unwritten = self.unwritten, []
        if self.count <= MAX_WINDOW_ENTRIES:
            self.count = 0
            return [(lease, lease.take()) for lease in leases]
        window, room = [], MAX_WINDOW_ENTRIES
        for lease in leases:
            if len(lease.waiting) <= room:
                taken = lease.take()
            else:
                # Its future waits for the rest.
                taken, lease.waiting = lease.waiting[:room], lease.waiting[room:]
                self.unwritten.append(lease)
            room -= len(taken)
            if taken:
                window.append((lease, taken))
        self.count -= MAX_WINDOW_ENTRIES - room
        return window

    def begin_outage(self) -> None:
        """Show entries before they are kept, from now until a window is written."""
        if not self.is_away:
            self.is_away, self.away_since = True, time.time() - MAX_HOLD_SECONDS

    def hold_readers(self, window: Window) -> None:
        """Let readers wait for a window, for MAX_HOLD_SECONDS at most."""
        due = asyncio.get_running_loop().time() + MAX_HOLD_SECONDS
        self.hold = asyncio.get_running_loop().call_at(due, self.end_hold, due, window)

    def end_hold(self, due: float, window: Window) -> None:
        if asyncio.get_running_loop().time() - due > STANDSTILL_SECONDS:
            # The answer may have come meanwhile, and may be that the run is another process's by now.
            self.hold_readers(window)
        else:
            self.show_unwritten(window)

    def show_unwritten(self, window: Window) -> None:
        """Let readers have what the database has not acknowledged in time."""
        if not self.is_away:
            self.outage.say(logging.WARNING, "the database does not answer: answers are shown before they are kept")
        self.begin_outage()
        self.show_waiting()
        self.settle(window)

    def settle_soon(self, window: Window) -> None:
        asyncio.get_running_loop().call_soon(self.settle, window)

    def settle(self, window: Window) -> None:
        """Let readers have the entries of a window. If one cannot be told, the event loop reports it, and the others
        are told nevertheless."""
        parts = iter(window)
        try:
            for lease, numbered in parts:
                lease.settle(numbered[-1][0])
        except BaseException:
            self.settle_soon(list(parts))
            raise

    def show_waiting(self) -> None:
        for lease in self.unwritten:
            lease.show_waiting()

    async def write_window(self, window: list[tuple[LeaseLog, list[NumberedEntry]]]) -> None:
        lost: set[LeaseLog] = set()
        has_failed = False
        self.hold_readers(window)
        try:
            lost = await self.write(window)
            self.pause, self.is_away, self.size = RETRY_PAUSE, False, 0
            self.away_since = None
            self.note_written(window, lost)
        except StoreFailed:
            has_failed = True
            self.begin_outage()
        finally:
            if self.hold is not None:
                self.hold.cancel()
            self.task, self.writing = None, ()
            # Readers are shown what could not be kept too: an answer does not wait for the database.
            if lost or has_failed:
                self.settle_soon([(lease, numbered[-1:]) for lease, numbered in window if lease not in lost])
            else:
                self.settle_soon(window)
        self.tell_lost([part for part in window if part[0] in lost] if lost else ())
        if has_failed:
            self.show_waiting()
            self.put_back(window)
            self.cancel_timer()
            self.timer = asyncio.get_running_loop().call_later(self.pause, self.flush)
            self.pause = min(self.pause * 2, LONGEST_RETRY_PAUSE)
        elif self.unwritten and self.timer is None:
            self.schedule()

    def note_written(self, window: Window, lost: Collection[LeaseLog]) -> None:
        if self.outage.is_on:
            refused = sum(len(numbered) for lease, numbered in window if lease in lost)
            self.outage.note_written(sum(len(numbered) for _, numbered in window) - refused, refused, self.count)

    def tell_lost(self, window: Window) -> None:
        """Tell of leases that another process has by now. Where entries were shown while the database was away no
        future can say so."""
        for lease, numbered in window:
            if not lease.lose(numbered[-1][0]):
                for listener in self.lost_listeners:
                    listener(*lease.key, lease.fence)

    def put_back(self, window: list[tuple[LeaseLog, list[NumberedEntry]]]) -> None:
        """Keep a window that could not be written for the next attempt, as much of it as may wait."""
        self.failed = window
        lists = self.list_waiting()
        self.count = sum(map(len, lists))
        self.size = sum(measure_entry(entry) for numbered in lists for _, entry in numbered)
        self.drop_surplus()
        self.outage.note_failure(self.count)

    def list_waiting(self) -> list[list[NumberedEntry]]:
        return [*(numbered for _, numbered in self.failed), *(lease.waiting for lease in self.unwritten)]

    def drop_surplus(self) -> None:
        """Drop entries of the longest answers until half of what may wait does: deltas first, then all but the ends of
        runs, without which their threads would stay busy."""
        if self.count <= MAX_UNWRITTEN and self.size <= MAX_UNWRITTEN_BYTES:
            return
        before = self.count
        for keeps in (is_no_delta, is_end_or_start):
            for numbered in sorted(self.list_waiting(), key=len, reverse=True):
                if self.count <= MAX_UNWRITTEN // 2 and self.size <= MAX_UNWRITTEN_BYTES // 2:
                    break
                kept = [item for item in numbered if keeps(item[1])]
                self.count -= len(numbered) - len(kept)
                self.size -= sum(measure_entry(entry) for _, entry in numbered if not keeps(entry))
                numbered[:] = kept
        for lease, _ in self.failed:
            # The database may have what is dropped, in one row with what was written before.
            lease.text = None
        self.failed = [part for part in self.failed if part[1]]
        self.unwritten = [lease for lease in self.unwritten if lease.waiting]
        self.dropped += before - self.count
        self.outage.note_dropped(before - self.count)

    async def write(self, window: Window) -> set[LeaseLog]:
        """Write a window and return those logs whose leases another has by now: their entries are not written."""
        encoded = EncodedWindow(window)
        is_durable = any(lease.u for lease in encoded.leases) and has_lasting_entry(window)
        values = {
            "leases": encode_json(encoded.leases),
            "rows": encode_json(encoded.rows),
            # A crash of the server may lose texts of its last moments, never what is more than that.
            "commit": b"on" if is_durable else b"off",
            "now": repr(float(self.clock())).encode() if self.clock else None,
        }
        job = partial(self.execute, values)
        refused = await self.database.watch(self.database.repeat(job, MAX_HOLD_SECONDS))
        lost = {window[int(index)][0] for (index,) in refused if index is not None}
        encoded.note_written(lost)
        for lease in (*lost, *encoded.ended):
            if not lease.waiting:
                self.logs.pop(lease.leased, None)
        return lost

    async def execute(self, values: dict[str, bytes | None]) -> list[TextRow]:
        """Run the statement on a connection that stays with the writer: each window would look for one."""
        if self.statement is None:
            connection = await self.database.lend_for_all()
            self.statement = PreparedStatement(connection, self.database.get_statement(sql.APPEND_ENTRIES)).open()
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
            logs = (*(lease for lease, _ in (*self.writing, *self.failed)), *self.unwritten)
            if not any(concerns(lease.key) for lease in logs):
                return
            self.flush()
            if self.task is None:
                return
            await asyncio.wait([self.task])

    async def close(self) -> None:
        await self.wait_written(lambda _: True)
        self.cancel_timer()
        self.show_waiting()
        await self.give_back()


def measure_entry(entry: ThreadEntry) -> int:
    """Return about how many bytes an entry takes."""
    return ENTRY_BYTES + (len(entry.text) if isinstance(entry, DELTAS) else len(encode_entry(entry) or b""))


def is_no_delta(entry: ThreadEntry) -> bool:
    return not is_delta(entry)


def is_end_or_start(entry: ThreadEntry) -> bool:
    return isinstance(entry, RunStarted) or is_run_end(entry)
