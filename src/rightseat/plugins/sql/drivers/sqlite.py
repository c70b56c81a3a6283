"""SQLite driver: the file opened read-only, an authorizer that allows only reads, a deadline."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rightseat.plugins.sql.drivers import DatabaseLocation
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery, collect_rows
from rightseat.plugins.sql.schema import DatabaseTable, reflect_tables

PROGRESS_STEPS = 5000
ALLOWED_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
# Functions that reach files, libraries or memory without writing.
HARMFUL_FUNCTIONS = {"load_extension", "writefile", "readfile", "edit", "fts3_tokenizer", "zeroblob", "randomblob"}


class SQLiteDriver:
    dialect = "sqlite"

    def __init__(self, file: Path) -> None:
        self.file = file

    def connect(self) -> sqlite3.Connection:
        uri = f"{self.file.as_uri()}?mode=ro"
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)
        except sqlite3.Error as error:
            raise QueryFailed(str(error)) from None
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        # Sorting takes memory, which is limited, instead of a file that could fill the disk.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA query_only = ON")
        return connection

    @contextmanager
    def session(self, limits: QueryLimits) -> Iterator[SQLiteSession]:
        with closing(self.connect()) as connection:
            yield SQLiteSession(connection, limits)

    def tables(self) -> Iterator[DatabaseTable]:
        yield from reflect_tables("sqlite://", self.connect)


class SQLiteSession:
    def __init__(self, connection: sqlite3.Connection, limits: QueryLimits) -> None:
        self.connection = connection
        self.limits = limits
        deadline = time.monotonic() + limits.seconds
        self.timed_out = False

        def check_deadline() -> bool:
            self.timed_out = time.monotonic() > deadline
            return self.timed_out

        # No single value may exceed the limit of the whole result.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limits.bytes, 1 << 16))
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(check_deadline, PROGRESS_STEPS)
        connection.set_authorizer(authorize)

    def stop(self) -> None:
        self.connection.interrupt()

    def query(self, query: SqlQuery) -> Rows:
        try:
            cursor = self.connection.execute(query.with_placeholders(":{}"), dict(query.values))
            return collect_rows(cursor.description, cursor, self.limits)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if self.timed_out:
                raise QueryFailed(f"It took longer than {self.limits.seconds:g} s.") from None
            raise QueryFailed(str(error)) from None


def authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        harmful = (second or "").lower() in HARMFUL_FUNCTIONS
        return sqlite3.SQLITE_DENY if harmful else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in ALLOWED_ACTIONS else sqlite3.SQLITE_DENY


DRIVER = SQLiteDriver


def open_driver(location: DatabaseLocation) -> SQLiteDriver:
    return SQLiteDriver(location.file)
