"""MySQL and MariaDB driver: a read-only transaction with a time limit. The account must not have the FILE
privilege, which allows writing files even then."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from rightseat.plugins.sql.drivers import Place
from rightseat.plugins.sql.query import Gathering, Limits, Query, QueryFailed, Rows
from rightseat.plugins.sql.reflect import reflected
from rightseat.plugins.sql.schema import Table

BATCH = 100
CONNECT_SECONDS = 10
# Quoting rules as the guard assumes them.
MODE = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'"


def open_driver(place: Place) -> MySQL:
    return MySQL(place.url)


class MySQL:
    dialect = "mysql"

    def __init__(self, url: Any) -> None:
        self.url = url

    def connect(self, seconds: float = 30.0) -> pymysql.Connection[Any]:
        try:
            made = pymysql.connect(
                host=self.url.host or "127.0.0.1",
                port=self.url.port or 3306,
                user=self.url.username,
                password=self.url.password or "",
                database=self.url.database,
                charset="utf8mb4",
                local_infile=False,
                connect_timeout=CONNECT_SECONDS,
                read_timeout=max(int(seconds) + 5, 5),
                autocommit=True,
            )
        except (pymysql.Error, OSError) as error:
            raise QueryFailed(told(error)) from None
        with made.cursor() as cursor:
            cursor.execute(MODE)
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            limit(cursor, seconds)
        return made

    @contextmanager
    def session(self, limits: Limits) -> Iterator[Reading]:
        connection = self.connect(limits.seconds)
        try:
            yield Reading(self, connection, limits)
        finally:
            with contextlib.suppress(pymysql.Error):
                connection.close()

    def tables(self) -> Iterator[Table]:
        yield from reflected("mysql+pymysql://", self.connect)


def limit(cursor: Any, seconds: float) -> None:
    """Set the time limit: max_execution_time in MySQL, max_statement_time in MariaDB."""
    try:
        cursor.execute(f"SET SESSION max_execution_time = {max(int(seconds * 1000), 1)}")
    except pymysql.Error:
        cursor.execute(f"SET SESSION max_statement_time = {seconds:f}")


class Reading:
    def __init__(self, driver: MySQL, connection: pymysql.Connection[Any], limits: Limits) -> None:
        self.driver = driver
        self.connection = connection
        self.limits = limits
        with connection.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            self.number = int(cursor.fetchall()[0][0])

    def stop(self) -> None:
        # KILL QUERY needs another connection.
        other = self.driver.connect()
        try:
            with other.cursor() as cursor, contextlib.suppress(pymysql.Error):
                cursor.execute(f"KILL QUERY {self.number}")
        finally:
            other.close()

    def query(self, query: Query) -> Rows:
        text = query.marked("%({})s", percent=True)
        try:
            with self.connection.cursor(SSCursor) as cursor:
                cursor.execute("START TRANSACTION READ ONLY")
                cursor.execute(text, dict(query.values) or None)
                gathered = Gathering([column[0] for column in cursor.description or ()], self.limits)
                while not gathered.full and (rows := cursor.fetchmany(BATCH)):
                    gathered.add(rows)
        except (pymysql.Error, OSError) as error:
            raise QueryFailed(told(error)) from None
        return gathered.done()


def told(error: Exception) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)
