"""SQLite driver: the file opened read-only, an authorizer that allows only reads, a deadline."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rightseat.plugins.sql.drivers import Place
from rightseat.plugins.sql.query import Gathering, Limits, Query, QueryFailed, Rows
from rightseat.plugins.sql.reflect import reflected
from rightseat.plugins.sql.schema import Table

BATCH = 100
STEPS = 5000
ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
# Functions that reach files, libraries or memory without writing.
HARMFUL = {"load_extension", "writefile", "readfile", "edit", "fts3_tokenizer", "zeroblob", "randomblob"}


def open_driver(place: Place) -> SQLite:
    return SQLite(place.file)


class SQLite:
    dialect = "sqlite"

    def __init__(self, file: Path) -> None:
        self.file = file

    def connect(self) -> sqlite3.Connection:
        uri = f"{self.file.as_uri()}?mode=ro"
        try:
            made = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)
        except sqlite3.Error as error:
            raise QueryFailed(str(error)) from None
        made.text_factory = lambda data: data.decode("utf-8", "replace")
        made.execute("PRAGMA trusted_schema = OFF")
        made.execute("PRAGMA query_only = ON")
        return made

    @contextmanager
    def session(self, limits: Limits) -> Iterator[Reading]:
        with closing(self.connect()) as connection:
            yield Reading(connection, limits)

    def tables(self) -> Iterator[Table]:
        yield from reflected("sqlite://", self.connect)


class Reading:
    def __init__(self, connection: sqlite3.Connection, limits: Limits) -> None:
        self.connection = connection
        self.limits = limits
        deadline = time.monotonic() + limits.seconds
        self.late = False

        def ticking() -> bool:
            self.late = time.monotonic() > deadline
            return self.late

        # No single value may exceed the limit of the whole result.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limits.bytes, 1 << 16))
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(ticking, STEPS)
        connection.set_authorizer(authorized)

    def stop(self) -> None:
        self.connection.interrupt()

    def query(self, query: Query) -> Rows:
        try:
            cursor = self.connection.execute(query.marked(":{}"), dict(query.values))
            gathered = Gathering([column[0] for column in cursor.description or ()], self.limits)
            while not gathered.full and (rows := cursor.fetchmany(BATCH)):
                gathered.add(rows)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if self.late:
                raise QueryFailed(f"It took longer than {self.limits.seconds:g} s.") from None
            raise QueryFailed(str(error)) from None
        return gathered.done()


def authorized(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        harmful = (second or "").lower() in HARMFUL
        return sqlite3.SQLITE_DENY if harmful else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY
