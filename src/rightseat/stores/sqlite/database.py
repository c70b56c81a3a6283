"""The database of the data folder: its lock for one process, its tables, and the one thread that uses it."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from rightseat.errors import ConfigError, RightseatError, StoreFailed

log = logging.getLogger(__name__)
T = TypeVar("T")
STORE_FAILED = "What must be kept cannot be: the store failed. Its log says why."
Job = Callable[[], Any]
PendingJobs = list[tuple[Job, "asyncio.Future[Any]"]]


class FolderLock:
    """File lock, held until `close` or until the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Opened without truncation: it contains the pid of the holder.
            self.file: IO[str] = (folder / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"The data folder {folder} cannot be used: {error.strerror}. Name another in [store] path "
                'or RIGHTSEAT_DATA, or keep nothing with [store] kind = "memory".'
            ) from None
        try:
            lock_file(self.file)
        except OSError:
            self.file.seek(0)
            text = self.file.read(20).strip()
            pid = text if text.isdecimal() else "unknown"
            self.file.close()
            raise ConfigError(
                f"The data folder {folder} is in use by another rightseat (pid {pid}). Stop "
                "that one, or give this one a folder of its own: [store] path, or RIGHTSEAT_DATA."
            ) from None
        self.file.truncate(0)
        self.file.write(f"{os.getpid()}\n")
        self.file.flush()

    def close(self) -> None:
        if not self.file.closed:
            self.file.truncate(0)
            self.file.close()


if sys.platform == "win32":
    import msvcrt

    def lock_file(file: IO[str]) -> None:
        # Far behind the pid: a locked byte cannot be read.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock_file(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


MIGRATIONS = (
    """
    CREATE TABLE kept (
        kind TEXT NOT NULL,
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        expires REAL NOT NULL,
        weight INTEGER NOT NULL,
        number INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (owner, kind, key)
    );
    CREATE INDEX kept_oldest ON kept (kind, number);

    CREATE TABLE threads (
        owner TEXT NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        assistant TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        archived INTEGER NOT NULL DEFAULT 0,
        last INTEGER NOT NULL DEFAULT 0,
        runs INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (owner, id)
    );
    CREATE INDEX threads_newest ON threads (owner, updated);
    CREATE INDEX threads_oldest ON threads (updated);

    CREATE TABLE entries (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        run INTEGER NOT NULL,
        cuts BLOB NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (owner, thread, last)
    );

    CREATE TABLE leases (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        run TEXT NOT NULL,
        process TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        beat REAL NOT NULL,
        PRIMARY KEY (owner, thread)
    );

    CREATE TABLE epochs (
        epoch INTEGER PRIMARY KEY AUTOINCREMENT,
        process TEXT NOT NULL,
        began REAL NOT NULL
    );

    CREATE VIEW listed AS
        SELECT threads.*, COALESCE(leases.run, '') AS run FROM threads
        LEFT JOIN leases ON leases.owner = threads.owner AND leases.thread = threads.id;
    CREATE VIEW idle AS
        SELECT owner, id, updated FROM threads
        WHERE NOT EXISTS (SELECT 1 FROM leases WHERE leases.owner = threads.owner AND leases.thread = id);
    PRAGMA user_version = 1;
    """,
    """
    ALTER TABLE leases ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;
    UPDATE leases SET reserved = 1048576 + COALESCE(
        (SELECT last FROM threads WHERE threads.owner = leases.owner AND threads.id = leases.thread), 0
    );
    CREATE TABLE runs (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        id TEXT NOT NULL,
        number INTEGER NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (owner, thread, id, digest)
    );
    PRAGMA user_version = 2;
    """,
)


def open_database(path: Path, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Open the database and migrate it to the newest version."""
    try:
        path.touch(mode=0o600)
        # Used by the writer thread only, which is not this one.
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        with ExitStack() as unless_opened:
            unless_opened.callback(database.close)
            _set_pragmas(database)
            migrate(database, path, migrations)
            unless_opened.pop_all()
    except (sqlite3.Error, OSError) as error:
        raise ConfigError(
            f"{path} cannot be used: {error}. If the disk is full, free some space; if the file is damaged, "
            "move it away, and a new one is created."
        ) from None
    return database


def _set_pragmas(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA busy_timeout = 5000")
    database.execute("PRAGMA journal_mode = WAL")
    # A killed process loses nothing; a power cut may lose the last moments but never corrupts the file.
    database.execute("PRAGMA synchronous = NORMAL")
    # Deleted content must not remain in the file.
    database.execute("PRAGMA secure_delete = ON")


def migrate(database: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise ConfigError(
            f"{path} was written by a newer rightseat (its version is {version}, this one supports "
            f"{len(migrations)}). Install the newer rightseat, or name another folder in [store] path."
        )
    if 0 < version < len(migrations):
        back_up(database, path.with_name(f"{path.name}.v{version}.bak"))
    for step in migrations[version:]:
        # One transaction including the version: an interrupted migration leaves no trace.
        database.executescript("BEGIN IMMEDIATE;\n" + step + "\nCOMMIT;")


def back_up(database: sqlite3.Connection, path: Path) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path)) as copy:
        database.backup(copy)


class WriterThread:
    """Runs jobs in batches. `recount` reloads cached totals in the thread after a rollback."""

    def __init__(self, database: sqlite3.Connection, recount: Callable[[], None]) -> None:
        self.database = database
        self.recount = recount
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="rightseat-store")
        self.pending: PendingJobs = []
        self.scheduled: asyncio.Handle | None = None
        self.running: asyncio.Future[list[Any]] | None = None
        self.isolate_next = 0
        """How many of the next jobs run in a transaction of their own, because one of them broke a batch."""
        self.needs_recount = False
        self.closed = False

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in the thread, after all earlier jobs. It is committed when this returns."""
        return cast(T, await self.submit(job))

    def submit(self, job: Job) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self.closed:
            future.set_exception(StoreFailed("The store is closed: the server is stopping."))
            return future
        self.pending.append((job, future))
        if self.running is None and self.scheduled is None:
            # Jobs submitted in the same step of the event loop join the batch.
            self.scheduled = loop.call_soon(self.start_batch, loop)
        return future

    def start_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        self.scheduled = None
        # Skip jobs that were cancelled before they started.
        waiting = [(job, future) for job, future in self.pending if not future.cancelled()]
        count = 1 if self.isolate_next else len(waiting)
        self.isolate_next = max(self.isolate_next - 1, 0)
        batch, self.pending = waiting[:count], waiting[count:]
        if batch:
            self.running = loop.run_in_executor(self.executor, self.run_batch, [job for job, _ in batch])
            self.running.add_done_callback(partial(self.finish_batch, loop, batch))

    def finish_batch(self, loop: asyncio.AbstractEventLoop, jobs: PendingJobs, done: asyncio.Future[list[Any]]) -> None:
        self.running = None
        error = done.exception()
        outcomes = [error] if error is not None else done.result()
        if error is not None:
            # A job raised and the batch was rolled back: repeat each job by itself.
            self.needs_recount = True
            if len(jobs) > 1:
                self.pending, self.isolate_next = [*jobs, *self.pending], len(jobs)
                jobs, outcomes = [], []
        self.start_batch(loop)
        for (_, future), outcome in zip(jobs, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    async def run_outside_tx(self, work: Callable[[], T]) -> T:
        await self.run(lambda: None)
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)

    async def close(self) -> None:
        """Wait for all pending jobs and close the database."""
        if self.closed:
            return
        loop = asyncio.get_running_loop()
        last = self.submit(lambda: None)
        self.closed = True
        await asyncio.wait([last])
        last.exception()
        try:
            await loop.run_in_executor(self.executor, self.database.close)
        finally:
            self.executor.shutdown()

    # In the thread

    def run_batch(self, jobs: list[Job]) -> list[Any]:
        if self.needs_recount:
            self.needs_recount = False
            self.try_recount()
        try:
            self.database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            log.error("the store failed: %s", error)
            return [StoreFailed(STORE_FAILED) for _ in jobs]
        try:
            with self.database:
                return [run_job(job) for job in jobs]
        except sqlite3.Error as error:
            self.try_recount()
            if len(jobs) > 1:
                # One job may be at fault: repeat each by itself.
                return [self.run_batch([job])[0] for job in jobs]
            log.error("the store failed: %s", error)
            return [StoreFailed(STORE_FAILED)]

    def try_recount(self) -> None:
        try:
            self.recount()
        except sqlite3.Error as error:
            log.error("the store could not be counted: %s", error)


def run_job(job: Job) -> Any:
    """Run a job and return its result or its RightseatError; a job that raises one has changed nothing."""
    try:
        return job()
    except RightseatError as error:
        return error


def read_checkpoint(file: Path, owner: str, key: str) -> bytes | None:
    """Return a checkpoint of the database file, also while a server uses it; None if there is none."""
    if not file.is_file():
        return None
    query = "SELECT body FROM kept WHERE kind = 'note' AND owner = ? AND key = ? AND expires >= ?"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as database:
            row = database.execute(query, (owner, key, time.time())).fetchone()
    except sqlite3.Error as error:
        log.warning("%s cannot be read: %s", file, error)
        return None
    return row[0] if row else None
