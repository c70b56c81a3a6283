"""PostgreSQL driver: a read-only transaction, the query wrapped in a cursor declaration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Loader

from rightseat.plugins.sql.drivers import Place
from rightseat.plugins.sql.query import Gathering, Limits, Query, QueryFailed, Rows
from rightseat.plugins.sql.reflect import reflected
from rightseat.plugins.sql.schema import Table

if TYPE_CHECKING:
    from psycopg.abc import Buffer

BATCH = 100
CONNECT_SECONDS = 10
MOMENTS = ("date", "time", "timetz", "timestamp", "timestamptz", "interval")
FETCH = f"FETCH FORWARD {BATCH} FROM answer"


def open_driver(place: Place) -> Postgres:
    return Postgres(place.url)


class Postgres:
    dialect = "postgres"

    def __init__(self, url: Any) -> None:
        self.url = url.set(drivername="postgresql")

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
            raise QueryFailed(told(error)) from None

    @contextmanager
    def session(self, limits: Limits) -> Iterator[Reading]:
        connection = self.connect(limits.seconds)
        try:
            yield Reading(connection, limits)
        finally:
            connection.close()

    def tables(self) -> Iterator[Table]:
        yield from reflected("postgresql+psycopg://", self.connect)


class Moment(Loader):
    """Loads dates and times as the database's text: Python has no infinity and no year beyond 9999."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return text.replace(" ", "T", 1) if text[:4].isdigit() else text


class Reading:
    def __init__(self, connection: psycopg.Connection[Any], limits: Limits) -> None:
        self.connection = connection
        self.limits = limits
        for name in MOMENTS:
            connection.adapters.register_loader(name, Moment)

    def stop(self) -> None:
        self.connection.cancel_safe(timeout=CONNECT_SECONDS)

    def query(self, query: Query) -> Rows:
        # DECLARE CURSOR accepts only a SELECT, and a prepared one no second statement.
        text = "DECLARE answer NO SCROLL CURSOR FOR " + query.marked("%({})s", percent=True)
        try:
            cursor = self.connection.cursor()
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(text.encode(), dict(query.values) or None, prepare=True)
            cursor.execute(FETCH)
            gathered = Gathering([column.name for column in cursor.description or ()], self.limits)
            while rows := cursor.fetchall():
                gathered.add(rows)
                if gathered.full:
                    break
                cursor.execute(FETCH)
            cursor.execute("ROLLBACK")
        except psycopg.errors.QueryCanceled:
            raise QueryFailed(f"It took longer than {self.limits.seconds:g} s.") from None
        except psycopg.Error as error:
            raise QueryFailed(told(error)) from None
        return gathered.done()


def told(error: psycopg.Error) -> str:
    diagnosis = error.diag
    if diagnosis.message_primary:
        return f"{diagnosis.message_primary} {diagnosis.message_hint or ''}".strip()
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
