"""The database of the data folder: its lock for one process, its tables, and the one thread that uses it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from rightseat.errors import ConfigError, RightseatError, StoreDamaged, StoreFailed

log = logging.getLogger(__name__)
T = TypeVar("T")
STORE_FAILED = "What must be kept cannot be: the store failed. Its log says why."
DAMAGED = (
    "The store's file is damaged, so nothing is read from it or written to it. Stop the server and run "
    '`rightseat store repair`; without [store] damaged = "refuse" a restart does the same.'
)
DAMAGED_ROW = (
    "What the store has of this is damaged. Stop the server and run `rightseat store repair`; "
    'without [store] damaged = "refuse" a restart does the same.'
)
FAILURES = {
    sqlite3.SQLITE_FULL: "The disk of the data folder is full: free some space. What waits is kept then.",
    sqlite3.SQLITE_IOERR: "The disk of the data folder cannot be read or written: look at the system's log, and copy "
    "the folder to another disk.",
    sqlite3.SQLITE_READONLY: "The data folder may not be written: change its owner or its rights.",
}
CHECK_SUFFIX = ".check"
Job = Callable[[], Any]


class ReadJob:
    """Job that changes nothing: it waits for no other process that writes."""

    __slots__ = ("job",)

    def __init__(self, job: Job) -> None:
        self.job = job

    def __call__(self) -> Any:
        return self.job()


PendingJobs = list[tuple[Job, "asyncio.Future[Any]"]]


class FolderInUse(ConfigError):
    """The data folder belongs to another process."""


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
            raise FolderInUse(
                f"The data folder {folder} is in use by another rightseat (pid {pid}). Stop "
                "that one, or give this one a folder of its own: --data, [store] path, or RIGHTSEAT_DATA."
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
    """
    ALTER TABLE kept ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE threads ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE entries ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE leases ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE kept SET checksum = row_checksum('kept', body, kind, owner, key, expires, weight, number);
    UPDATE threads SET checksum = row_checksum('threads', x'', owner, id, name, assistant, created);
    UPDATE entries SET checksum = row_checksum('entries', body, owner, thread, first, last, cuts);
    UPDATE leases SET checksum = row_checksum('leases', x'', owner, thread, run, process, epoch, beat, reserved);
    UPDATE runs SET checksum = row_checksum('runs', x'', owner, thread, id, number, digest);
    PRAGMA user_version = 3;
    """,
)
# Columns of each table that its checksums cover, besides `body`. Numbers that grow with a thread are not covered.
COVERED_COLUMNS = {
    "kept": ("kind", "owner", "key", "expires", "weight", "number"),
    "threads": ("owner", "id", "name", "assistant", "created"),
    "entries": ("owner", "thread", "first", "last", "cuts"),
    "leases": ("owner", "thread", "run", "process", "epoch", "beat", "reserved"),
    "runs": ("owner", "thread", "id", "number", "digest"),
}
TABLES_WITH_BODY = ("kept", "entries")
MISCOUNTED_THREAD = (
    "SELECT 1 FROM threads JOIN entries ON entries.owner = threads.owner AND entries.thread = threads.id "
    "WHERE entries.last > threads.last OR entries.run > threads.runs LIMIT 1"
)


def checksum_row(table: str, body: bytes, *covered: object) -> int:
    """Return the checksum of a row: SQLite finds damage in the structure of its file, not in what a row says."""
    return zlib.crc32(body, zlib.crc32(repr((table, *covered)).encode()))


def verify_row(table: str, checksum: object, body: bytes, *covered: object) -> None:
    if checksum_row(table, body, *covered) != checksum:
        raise DamagedRow(f"a row of {table} is damaged")


class DamagedRow(sqlite3.DatabaseError):
    """A row does not have its checksum."""


class DamagedFile(Exception):
    """The database file is damaged; the message says where."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is damaged, and not that it cannot be used at the moment."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
    return damaged or isinstance(error, DamagedRow) or "decode to UTF-8" in str(error)


def describe_damage(error: sqlite3.Error) -> str:
    # The error quotes the text that is no UTF-8.
    return "a text is damaged" if "decode to UTF-8" in str(error) else str(error)


def open_database(path: Path, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Open the database and migrate it to the newest version; raises DamagedFile if it is damaged."""
    try:
        path.touch(mode=0o600)
        # Used by the writer thread only, which is not this one.
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        with ExitStack() as unless_opened:
            unless_opened.callback(database.close)
            _set_pragmas(database)
            check_schema(database, migrations)
            migrate(database, path, migrations)
            unless_opened.pop_all()
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, sqlite3.Error) and is_damage(error):
            raise DamagedFile(describe_damage(error)) from None
        raise ConfigError(
            f"{path} cannot be used: {error}. If the disk is full, free some space; "
            "if the file may not be written, change its owner or name another folder in [store] path."
        ) from None
    return database


def check_schema(database: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Raise DamagedFile if the tables are not those of the version that the file names."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    schema, newest = read_schema(database), make_schema(tuple(migrations))
    if version > len(migrations) and schema != newest:
        # A newer rightseat's: `migrate` says so.
        return
    expected = newest if version == len(migrations) else make_schema(tuple(migrations[:version]))
    if version > len(migrations) or not expected <= schema or (version < len(migrations) and newest <= schema):
        raise DamagedFile("its tables are not those of the version that its head names")


def read_schema(database: sqlite3.Connection) -> set[tuple[object, ...]]:
    """Return the columns of all tables, views and indexes, and the text of the views. `totals` is no part of a
    version: it is made where it is missing. Neither is `moves`, which a file has that was moved into."""
    columns = database.execute(
        'SELECT m.type, m.name, c.cid, c.name, c.type, c."notnull", c.pk '
        "FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c "
        "WHERE m.type = 'table' AND m.name NOT IN ('totals', 'moves')"
    ).fetchall()
    indexes = database.execute(
        "SELECT m.type, m.name, m.tbl_name, i.seqno, i.name FROM sqlite_master AS m "
        "JOIN pragma_index_info(m.name) AS i "
        "WHERE m.type = 'index' AND m.tbl_name != 'totals'"
    ).fetchall()
    views = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'").fetchall()
    return {*columns, *indexes, *(("view", name, "".join(sql.split())) for name, sql in views)}


@functools.cache
def make_schema(migrations: tuple[str, ...]) -> set[tuple[object, ...]]:
    """Make the schema that these migrations lead to."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("row_checksum", -1, checksum_row)
        for step in migrations:
            database.executescript(step)
        return read_schema(database)


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open the file beside a server that may use it; closing it leaves the file and its log as they are."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2, check_same_thread=False)


def check_file(path: Path, *, whole: bool) -> str:
    """Return what is damaged in a file: in its tables' definitions, with `whole` in all of it; empty if nothing is.
    Raises sqlite3.Error if the file cannot be read for another reason."""
    try:
        with closing(open_read_only(path)) as database:
            check_schema(database, MIGRATIONS)
            (version,) = database.execute("PRAGMA user_version").fetchone()
            # A newer rightseat's file is not judged here.
            return find_damage(database) if whole and version <= len(MIGRATIONS) else ""
    except DamagedFile as error:
        return str(error)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return describe_damage(error)


def find_damage(database: sqlite3.Connection) -> str:
    """Return what is damaged in the structure, the indexes or a row of a database; empty if nothing is."""
    return find_structural_damage(database) or find_damaged_row(database)


def find_structural_damage(database: sqlite3.Connection) -> str:
    try:
        (line,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if line != "ok":
            return str(line).splitlines()[-1]
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version and database.execute(MISCOUNTED_THREAD).fetchone():
            return "a thread has more entries than it counts"
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return describe_damage(error)
    return ""


def find_damaged_row(database: sqlite3.Connection) -> str:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    # Rows of an older version have no checksums.
    tables = COVERED_COLUMNS if version == len(MIGRATIONS) else {}
    try:
        for table, columns in tables.items():
            body = "body" if table in TABLES_WITH_BODY else "x''"
            query = f"SELECT checksum, {body}, {', '.join(columns)} FROM {table}"  # noqa: S608 - names of our own
            for row in database.execute(query):
                verify_row(table, *row)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return describe_damage(error)
    return ""


def _set_pragmas(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA busy_timeout = 5000")
    database.execute("PRAGMA journal_mode = WAL")
    # A killed process loses nothing; a power cut may lose the last moments but never corrupts the file.
    database.execute("PRAGMA synchronous = NORMAL")
    # Deleted content must not remain in the file.
    database.execute("PRAGMA secure_delete = ON")
    # A damaged page must be an error where it is met, not a wrong row.
    database.execute("PRAGMA cell_size_check = ON")
    database.create_function("row_checksum", -1, checksum_row, deterministic=True)


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


class StoreHealth:
    """State of the store's file: what failed last, said once in the log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure = ""
        """What is wrong and what to do; empty if nothing is."""
        self.damaged = False
        """Whether nothing may be read or written any more."""

    def is_damaged(self) -> bool:
        """Whether nothing may be read or written any more; asked before each transaction."""
        return self.damaged

    def is_structural(self, error: sqlite3.Error) -> bool:
        return is_damage(error) and not isinstance(error, DamagedRow)

    def report(self, error: sqlite3.Error) -> StoreFailed:
        """Note a failure and return the error that a client gets."""
        if is_damage(error):
            return self.report_damage(describe_damage(error), structural=self.is_structural(error))
        message = FAILURES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, STORE_FAILED)
        if self.failure != message:
            log.error("the store failed: %s. %s", error, message)
        self.failure = self.failure if self.damaged else message
        return StoreFailed(message)

    def report_damage(self, reason: str, *, structural: bool) -> StoreDamaged:
        message = DAMAGED if structural else DAMAGED_ROW
        if self.failure != message and not self.damaged:
            log.error("%s is damaged: %s. %s", self.path, reason, message)
            mark_for_check(self.path)
        self.failure = self.failure if self.damaged else message
        self.damaged = self.damaged or structural
        return StoreDamaged(message)

    def clear(self) -> None:
        """Note that something was written; damage stays."""
        if self.failure and self.failure not in (DAMAGED, DAMAGED_ROW):
            log.warning("the store works again")
            self.failure = ""


def mark_for_check(path: Path) -> None:
    """Make the next start check the whole file, whatever its size."""
    with contextlib.suppress(OSError):
        path.with_name(f"{path.name}{CHECK_SUFFIX}").touch(mode=0o600)


class WriterThread:
    """Runs jobs in batches, each in one transaction."""

    def __init__(self, database: sqlite3.Connection, health: StoreHealth) -> None:
        self.database = database
        self.health = health
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="rightseat-store")
        self.pending: PendingJobs = []
        self.scheduled: asyncio.Handle | None = None
        self.running: asyncio.Future[list[Any]] | None = None
        self.isolate_next = 0
        """How many of the next jobs run in a transaction of their own, because one of them broke a batch."""
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
        if error is not None and len(jobs) > 1:
            # A job raised and the batch was rolled back: repeat each job by itself.
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
        if self.health.is_damaged():
            # Writing on would damage more, and a row that is not found may be one that is lost.
            return [StoreDamaged(DAMAGED) for _ in jobs]
        is_read_only = all(isinstance(job, ReadJob) for job in jobs)
        try:
            self.database.execute("BEGIN" if is_read_only else "BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            failure = self.health.report(error)
            return [failure for _ in jobs]
        changes = self.database.total_changes
        try:
            with self.database:
                outcomes = [run_job(job) for job in jobs]
        except sqlite3.Error as error:
            if len(jobs) > 1 and not self.health.is_structural(error):
                # One job may be at fault: repeat each by itself.
                return [self.run_batch([job])[0] for job in jobs]
            failure = self.health.report(error)
            return [failure for _ in jobs]
        if self.database.total_changes > changes:
            self.health.clear()
        return outcomes


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
        with closing(open_read_only(file)) as database:
            row = database.execute(query, (owner, key, time.time())).fetchone()
    except sqlite3.Error as error:
        log.warning("%s cannot be read: %s", file, error)
        return None
    return row[0] if row else None
