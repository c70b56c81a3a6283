"""MySQL and MariaDB driver: a read-only transaction with a time limit. The account must not have the FILE
privilege, which allows writing files even then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from rightseat.plugins.sql.drivers import DatabaseLocation
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery, collect_rows
from rightseat.plugins.sql.schema import DatabaseTable, reflect_tables

CONNECT_SECONDS = 10
# Quoting rules as the guard assumes them.
SET_SQL_MODE = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'"


class MySQLDriver:
    dialect = "mysql"
    file = None

    def __init__(self, location: DatabaseLocation) -> None:
        self.url = location.url

    def connect(self, seconds: float = 30.0) -> pymysql.Connection[Any]:
        try:
            connection = pymysql.connect(
                host=self.url.host or "127.0.0.1",
                port=self.url.port or 3306,
                unix_socket=self.url.query.get("unix_socket"),
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
            raise QueryFailed(error_text(error)) from None
        with connection.cursor() as cursor:
            cursor.execute(SET_SQL_MODE)
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            set_time_limit(cursor, seconds)
        return connection

    @contextmanager
    def session(self, limits: QueryLimits) -> Iterator[MySQLSession]:
        connection = self.connect(limits.seconds)
        try:
            yield MySQLSession(self, connection, limits)
        finally:
            with suppress(pymysql.Error):
                connection.close()

    def tables(self) -> Iterator[DatabaseTable]:
        yield from reflect_tables("mysql+pymysql://", self.connect)


def set_time_limit(cursor: Any, seconds: float) -> None:
    """Set the time limit: max_execution_time in MySQL, max_statement_time in MariaDB."""
    try:
        cursor.execute(f"SET SESSION max_execution_time = {max(int(seconds * 1000), 1)}")
    except pymysql.Error:
        cursor.execute(f"SET SESSION max_statement_time = {seconds:f}")


class MySQLSession:
    def __init__(self, driver: MySQLDriver, connection: pymysql.Connection[Any], limits: QueryLimits) -> None:
        self.driver = driver
        self.connection = connection
        self.limits = limits
        with connection.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            self.connection_id = int(cursor.fetchall()[0][0])

    def stop(self) -> None:
        # KILL QUERY needs another connection.
        with closing(self.driver.connect()) as other, other.cursor() as cursor, suppress(pymysql.Error):
            cursor.execute(f"KILL QUERY {self.connection_id}")

    def query(self, query: SqlQuery) -> Rows:
        text = query.with_placeholders("%({})s", percent=True)
        try:
            with self.connection.cursor(SSCursor) as cursor:
                cursor.execute("START TRANSACTION READ ONLY")
                cursor.execute(text, dict(query.values) or None)
                return collect_rows(cursor.description, cursor, self.limits)
        except (pymysql.Error, OSError) as error:
            raise QueryFailed(error_text(error)) from None


def error_text(error: Exception) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)


open_driver = MySQLDriver
