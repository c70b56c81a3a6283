"""SharedSQLiteStore: one SQLite file that several processes of a machine use at the same time.

Every entry is logged before it is shown: deltas too are committed, in windows, before their readers get them, so that
readers in other processes and readers after a crash get the same. Nothing that another process changes is cached.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from rightseat.errors import ConfigError, StoreDamaged
from rightseat.stores.encoding import BUFFERED_EVENTS
from rightseat.stores.sqlite import repair
from rightseat.stores.sqlite.database import DAMAGED, DamagedFile, ReadJob, StoreHealth, open_database
from rightseat.stores.sqlite.presence import FileLock, WorkerLocks
from rightseat.stores.sqlite.store import SQLiteStore
from rightseat.stores.sqlite.threads import FencedKey, PendingEntry, ThreadKey
from rightseat.types.threads import ANY_FENCE, OrphanedRun, ThreadEntry, make_resume_key
from rightseat.types.turn import Owner

T = TypeVar("T")
WINDOW_SECONDS = 0.05
"""Time in which deltas are gathered for one transaction. After a pause they are written at once."""
SET_BUSY_TIMEOUT = "PRAGMA busy_timeout = 30000"
"""Milliseconds that a transaction waits for others. One may be of a stopped process, until its supervisor ends that."""
DAMAGE_FILE = "damaged"
DELETION_FILE = "deleted"


class FolderUsers:
    """Lock that all processes share which use a data folder. The first one, while there is no other, may repair and
    change the file: `is_first`, until `settle`."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.gate = FileLock(folder / "workers.gate")
            self.users = FileLock(folder / "workers.lock")
        except OSError as error:
            raise ConfigError(
                f"The data folder {folder} cannot be used: {error.strerror}. Name another in [store] path "
                "or RIGHTSEAT_DATA."
            ) from None
        # Held until this process has opened the file: the next one finds it ready.
        self.gate.lock(fcntl.LOCK_EX)
        self.is_first = self.users.lock(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def settle(self) -> None:
        self.users.lock(fcntl.LOCK_SH)
        self.is_first = False
        self.gate.close()

    def close(self) -> None:
        self.gate.close()
        self.users.close()


class SharedHealth(StoreHealth):
    """Health that processes share: what one finds damaged, none uses."""

    def __init__(self, path: Path, run_folder: Path) -> None:
        super().__init__(path)
        self.damage_file = run_folder / DAMAGE_FILE

    def is_damaged(self) -> bool:
        # One look per transaction; the file is there only if something is damaged.
        if not self.damaged and os.path.exists(self.damage_file):
            self.read_damage()
        return self.damaged

    def read_damage(self) -> None:
        try:
            kind, _, reason = self.damage_file.read_text(encoding="utf-8").partition(" ")
        except OSError:
            return
        super().report_damage(f"{reason} (found by another worker)", structural=kind == "file")

    def report_damage(self, reason: str, *, structural: bool) -> StoreDamaged:
        # A damaged row does not hide that the whole file is.
        if structural or not self.damage_file.exists():
            draft = self.damage_file.with_name(f".{DAMAGE_FILE}-{os.getpid()}-{threading.get_ident()}")
            try:
                draft.write_text(f"{'file' if structural else 'row'} {reason}", encoding="utf-8")
                draft.replace(self.damage_file)
            except OSError:
                # The other workers find the damage by themselves.
                pass
        return super().report_damage(reason, structural=structural)


class SharedSQLiteStore(SQLiteStore):
    """SQLiteStore of one worker among several. The supervisor has the folder's lock; `run_folder` is the workers'
    own, made anew with each supervisor."""

    def __init__(self, folder: Path, run_folder: Path, **options: Any) -> None:
        self.run_folder = run_folder
        self.joined: list[WorkerLocks] = []
        self.windows = 0
        """Windows that are being written."""
        self.window_end = 0.0
        self.is_urgent = False
        """Whether something waits that is no delta."""
        with ExitStack() as unless_opened:
            unless_opened.callback(self.release_locks)
            super().__init__(folder, **options)
            unless_opened.pop_all()
        self.users.settle()

    def release_locks(self) -> None:
        for locks in self.joined:
            locks.release()

    async def leave(self) -> None:
        """Count as dead for the other workers from now on."""
        self.release_locks()

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def replicas(self) -> int:
        return self.presence.count_files()

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return await self.presence.find_dead(workers)

    # Opening

    def acquire(self, folder: Path) -> FolderUsers:
        self.users = FolderUsers(folder)
        self.opened_first = self.users.is_first
        return self.users

    def open_database(self, *, refuse: bool) -> sqlite3.Connection:
        if self.users.is_first:
            for name in (DAMAGE_FILE, DELETION_FILE):
                (self.run_folder / name).unlink(missing_ok=True)
            database = super().open_database(refuse=refuse)
        else:
            try:
                database = open_database(self.path)
            except DamagedFile as error:
                raise self.refuse(str(error)) from None
        return self.set_timeout(database)

    def repair_database(self, reason: str, *, refuse: bool) -> sqlite3.Connection:
        if not self.users.is_first:
            raise self.refuse(reason)
        return self.set_timeout(super().repair_database(reason, refuse=refuse))

    def refuse(self, reason: str) -> ConfigError:
        """Say that a damaged file is in use, and let the other workers know."""
        SharedHealth(self.path, self.run_folder).report_damage(reason, structural=True)
        return ConfigError(DAMAGED)

    def set_timeout(self, database: sqlite3.Connection) -> sqlite3.Connection:
        database.execute(SET_BUSY_TIMEOUT)
        return database

    def recover(self) -> list[OrphanedRun]:
        """End the runs of workers whose locks are free, but those that a worker can go on with."""
        if self.users.is_first:
            self.records.totals.recount()
        self.release_locks()
        self.presence = WorkerLocks(self.run_folder, self.worker)
        self.joined = [self.presence]
        dead = self.presence.find_free_locks(self.thread_table.list_lease_workers())
        # After a repair the progress of a run may be lost: none goes on.
        runs = self.thread_table.list_orphaned_runs(dead) if self.repair_report is None else []
        return self.thread_table.end_orphaned_runs(dead, [run for run in runs if self.has_resume_record(run)])

    def has_resume_record(self, run: OrphanedRun) -> bool:
        return self.records.get("note", run.owner, make_resume_key(run.thread, run.run)) is not None

    def make_health(self) -> StoreHealth:
        return SharedHealth(self.path, self.run_folder)

    def start_check(self) -> repair.BackgroundCheck | None:
        if not self.opened_first:
            return None
        return repair.BackgroundCheck(self.path, self.health, self.run_folder / DELETION_FILE)

    def interrupt_check(self) -> None:
        """Make the check give way, whichever worker runs it."""
        super().interrupt_check()
        (self.run_folder / DELETION_FILE).touch(mode=0o600)

    # Reading

    async def read_thread(self, key: ThreadKey, job: Callable[[], T]) -> T:
        # Readers of other workers' runs come often: they must not end this worker's windows.
        if any(leased[0] == key for leased in self.flushed):
            self.flush()
        return await self.writer.run(ReadJob(job))

    # Writing

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None]:
        leased = ((owner.name, thread), fence)
        for number, entry in enumerate(entries, first):
            self.unwritten.append((leased, number, entry))
        stored = self.flushed.get(leased)
        if stored is None:
            stored = self.flushed[leased] = asyncio.get_running_loop().create_future()
        if not isinstance(entries[-1], BUFFERED_EVENTS):
            self.is_urgent = True
        if self.flush_handle is None and not self.windows:
            self.schedule_flush()
        return stored

    def schedule_flush(self) -> None:
        """Write what waits: at once after a pause or for the sake of what is no delta, else with the next window."""
        loop = asyncio.get_running_loop()
        if self.is_urgent or loop.time() >= self.window_end:
            # Entries appended in the same step of the event loop join the window.
            self.flush_handle = loop.call_soon(self.flush)
        elif self.flush_timer is None:
            self.flush_timer = loop.call_at(self.window_end, self.flush)

    def flush(self) -> None:
        self.is_urgent = False
        if self.unwritten:
            self.windows += 1
            self.window_end = asyncio.get_running_loop().time() + WINDOW_SECONDS
        super().flush()

    def on_flushed(
        self,
        written: list[PendingEntry],
        flushed: dict[FencedKey, asyncio.Future[None]],
        done: asyncio.Future[set[FencedKey]],
    ) -> None:
        self.windows -= 1
        super().on_flushed(written, flushed, done)
        if self.flushed and not self.windows and self.flush_handle is None:
            self.schedule_flush()

    async def end_orphaned_runs(
        self, dead_workers: Collection[str], keep: Collection[OrphanedRun] = ()
    ) -> list[OrphanedRun]:
        ended = await super().end_orphaned_runs(dead_workers, keep)
        await asyncio.to_thread(self.presence.remove_free_locks, dead_workers)
        return ended

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            self.release_locks()
