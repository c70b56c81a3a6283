"""PostgreSQL driver: a read-only transaction, the query wrapped in a cursor declaration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Loader

from rightseat.plugins.sql.drivers import DatabaseLocation
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery, collect_rows
from rightseat.plugins.sql.schema import DatabaseTable, reflect_tables

if TYPE_CHECKING:
    from psycopg.abc import Buffer

CONNECT_SECONDS = 10
TIME_TYPES = ("date", "time", "timetz", "timestamp", "timestamptz", "interval")
FETCH = "FETCH FORWARD 100 FROM answer"


class PostgresDriver:
    dialect = "postgres"
    file = None

    def __init__(self, location: DatabaseLocation) -> None:
        self.url = location.url.set(drivername="postgresql")

    def connect(self, seconds: float = 30.0) -> psycopg.Connection[Any]:
        milliseconds = max(int(seconds * 1000), 1)
        options = (
            "-c default_transaction_read_only=on -c standard_conforming_strings=on "
            "-c datestyle=ISO -c jit=off "
            f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds} "
            f"-c idle_in_transaction_session_timeout={milliseconds + 10_000}"
        )
        target = self.url.render_as_string(hide_password=False)
        try:
            return psycopg.connect(target, options=options, connect_timeout=CONNECT_SECONDS, autocommit=True)
        except psycopg.Error as error:
            raise QueryFailed(error_text(error)) from None

    @contextmanager
    def session(self, limits: QueryLimits) -> Iterator[PostgresSession]:
        with closing(self.connect(limits.seconds)) as connection:
            yield PostgresSession(connection, limits)

    def tables(self) -> Iterator[DatabaseTable]:
        yield from reflect_tables("postgresql+psycopg://", self.connect)


class TextTimeLoader(Loader):
    """Loads dates and times as the database's text: Python has no infinity and no year beyond 9999."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return text.replace(" ", "T", 1) if text[:4].isdigit() else text


class PostgresSession:
    def __init__(self, connection: psycopg.Connection[Any], limits: QueryLimits) -> None:
        self.connection = connection
        self.limits = limits
        for name in TIME_TYPES:
            connection.adapters.register_loader(name, TextTimeLoader)

    def stop(self) -> None:
        self.connection.cancel_safe(timeout=CONNECT_SECONDS)

    def query(self, query: SqlQuery) -> Rows:
        # DECLARE CURSOR accepts only a SELECT, and a prepared one no second statement.
        text = "DECLARE answer NO SCROLL CURSOR FOR " + query.with_placeholders("%({})s", percent=True)
        try:
            cursor = self.connection.cursor()
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(text.encode(), dict(query.values) or None, prepare=True)
            cursor.execute(FETCH)
            rows = collect_rows(cursor.description, iter_rows(cursor), self.limits)
            cursor.execute("ROLLBACK")
            return rows
        except psycopg.errors.QueryCanceled:
            raise QueryFailed(f"It took longer than {self.limits.seconds:g} s.") from None
        except psycopg.Error as error:
            raise QueryFailed(error_text(error)) from None


def iter_rows(cursor: psycopg.Cursor[Any]) -> Iterator[Any]:
    """Yield the rows of the first FETCH, which was executed, and of the ones after it."""
    while rows := cursor.fetchall():
        yield from rows
        cursor.execute(FETCH)


def error_text(error: psycopg.Error) -> str:
    diagnosis = error.diag
    if diagnosis.message_primary:
        return f"{diagnosis.message_primary} {diagnosis.message_hint or ''}".strip()
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


open_driver = PostgresDriver
