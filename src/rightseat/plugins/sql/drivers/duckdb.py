"""DuckDB driver: the file opened read-only, without external access, with locked settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from rightseat.plugins.sql.drivers import Place
from rightseat.plugins.sql.query import Gathering, Limits, Query, QueryFailed, Rows
from rightseat.plugins.sql.schema import Column, Table

BATCH = 100
SETTINGS = {
    "enable_external_access": "false",
    # Otherwise an unknown table name may resolve to a Python variable.
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "1GB",
    "threads": "2",
    "lock_configuration": "true",
}
COLUMNS = """
    SELECT c.schema_name, c.table_name, c.column_name, c.data_type, c.comment,
           coalesce(t.comment, v.comment), c.schema_name = current_schema()
    FROM duckdb_columns() c
    LEFT JOIN duckdb_tables() t ON t.table_oid = c.table_oid AND t.database_name = c.database_name
    LEFT JOIN duckdb_views() v ON v.view_oid = c.table_oid AND v.database_name = c.database_name
    WHERE NOT c.internal AND c.database_name = current_database()
    ORDER BY c.schema_name, c.table_name, c.column_index
"""
KEYS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,
           referenced_column_names
    FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
"""


def open_driver(place: Place) -> DuckDB:
    return DuckDB(place.file)


class DuckDB:
    dialect = "duckdb"

    def __init__(self, file: Path) -> None:
        self.file = file

    def connect(self) -> duckdb.DuckDBPyConnection:
        try:
            return duckdb.connect(str(self.file), read_only=True, config=dict(SETTINGS))
        except duckdb.Error as error:
            raise QueryFailed(str(error).splitlines()[0]) from None

    @contextmanager
    def session(self, limits: Limits) -> Iterator[Reading]:
        with closing(self.connect()) as connection:
            yield Reading(connection, limits)

    def tables(self) -> Iterator[Table]:
        with closing(self.connect()) as connection:
            found = connection.execute(COLUMNS).fetchall()
            keys = connection.execute(KEYS).fetchall()
        marks = dict(marked(keys))
        made: dict[tuple[str, str], list[Column]] = {}
        about: dict[tuple[str, str], tuple[str, bool]] = {}
        for schema, table, column, kind, comment, table_comment, default in found:
            key = marks.get((schema, table, column), "")
            made.setdefault((schema, table), []).append(Column(column, kind, comment or "", key))
            about[schema, table] = (table_comment or "", default)
        for (schema, table), columns in made.items():
            comment, default = about[schema, table]
            yield Table(table if default else f"{schema}.{table}", tuple(columns), comment)


def marked(keys: list[tuple[Any, ...]]) -> Iterator[tuple[tuple[str, str, str], str]]:
    for schema, table, kind, columns, target, targets in keys:
        for number, column in enumerate(columns):
            foreign = kind == "FOREIGN KEY" and target
            yield (schema, table, column), f"→ {target}.{targets[number]}" if foreign else "key"


class Reading:
    def __init__(self, connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
        self.connection = connection
        self.limits = limits
        self.late = False

    def stop(self) -> None:
        self.connection.interrupt()

    def expire(self) -> None:
        self.late = True
        self.stop()

    def query(self, query: Query) -> Rows:
        # DuckDB has no setting for a query timeout.
        clock = threading.Timer(self.limits.seconds, self.expire)
        clock.start()
        try:
            return self.answer(query)
        except duckdb.Error as error:
            if self.late:
                raise QueryFailed(f"It took longer than {self.limits.seconds:g} s.") from None
            raise QueryFailed(str(error)) from None
        finally:
            clock.cancel()
            clock.join()

    def answer(self, query: Query) -> Rows:
        [statement] = self.single(query.marked("${}"))
        cursor = self.connection.execute(statement, dict(query.values) or None)
        gathered = Gathering([column[0] for column in cursor.description or ()], self.limits)
        while not gathered.full and (rows := cursor.fetchmany(BATCH)):
            gathered.add(rows)
        return gathered.done()

    def single(self, text: str) -> list[duckdb.Statement]:
        """Parse the text; QueryFailed unless it is exactly one SELECT."""
        found = self.connection.extract_statements(text)
        if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
            raise QueryFailed("Only one SELECT can be run.")
        return found
