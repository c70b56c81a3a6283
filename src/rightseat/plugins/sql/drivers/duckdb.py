"""DuckDB driver: the file opened read-only, without external access, with locked settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb

from rightseat.plugins.sql.drivers import DatabaseLocation
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery, collect_rows
from rightseat.plugins.sql.schema import DatabaseColumn, DatabaseTable

SETTINGS = {
    "enable_external_access": "false",
    # Otherwise an unknown table name may resolve to a Python variable.
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # No files: they would stay when the process is killed, and could fill the disk.
    "temp_directory": "",
    "threads": "2",
    "lock_configuration": "true",
}
TABLES_MEMORY = 256 << 20
COLUMNS_SQL = """
    SELECT c.schema_name, c.table_name, c.column_name, c.data_type, c.comment,
           coalesce(t.comment, v.comment), c.schema_name = current_schema()
    FROM duckdb_columns() c
    LEFT JOIN duckdb_tables() t ON t.table_oid = c.table_oid AND t.database_name = c.database_name
    LEFT JOIN duckdb_views() v ON v.view_oid = c.table_oid AND v.database_name = c.database_name
    WHERE NOT c.internal AND c.database_name = current_database()
    ORDER BY c.schema_name, c.table_name, c.column_index
"""
KEYS_SQL = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,
           referenced_column_names
    FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
"""


class DuckDBDriver:
    dialect = "duckdb"

    def __init__(self, file: Path) -> None:
        self.file = file

    def connect(self, memory: int = TABLES_MEMORY) -> duckdb.DuckDBPyConnection:
        settings = {**SETTINGS, "memory_limit": f"{memory >> 20}MiB"}
        try:
            return duckdb.connect(str(self.file), read_only=True, config=dict(settings))
        except duckdb.Error as error:
            raise QueryFailed(str(error).splitlines()[0]) from None

    @contextmanager
    def session(self, limits: QueryLimits) -> Iterator[DuckDBSession]:
        with closing(self.connect(limits.memory)) as connection:
            yield DuckDBSession(connection, limits)

    def tables(self) -> Iterator[DatabaseTable]:
        with closing(self.connect()) as connection:
            rows = connection.execute(COLUMNS_SQL).fetchall()
            keys = connection.execute(KEYS_SQL).fetchall()
        marks = {
            (schema, table, column): f"→ {target}.{targets[number]}" if kind == "FOREIGN KEY" and target else "key"
            for schema, table, kind, columns, target, targets in keys
            for number, column in enumerate(columns)
        }
        for (schema, table, table_comment, is_default), group in groupby(rows, itemgetter(0, 1, 5, 6)):
            columns = tuple(
                DatabaseColumn(name, kind, comment or "", marks.get((schema, table, name), ""))
                for _, _, name, kind, comment, _, _ in group
            )
            yield DatabaseTable(table if is_default else f"{schema}.{table}", columns, table_comment or "")


class DuckDBSession:
    def __init__(self, connection: duckdb.DuckDBPyConnection, limits: QueryLimits) -> None:
        self.connection = connection
        self.limits = limits
        self.timed_out = False

    def stop(self) -> None:
        self.connection.interrupt()

    def expire(self) -> None:
        self.timed_out = True
        self.stop()

    def query(self, query: SqlQuery) -> Rows:
        # DuckDB has no setting for a query timeout.
        clock = threading.Timer(self.limits.seconds, self.expire)
        clock.start()
        try:
            return self.execute(query)
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error as error:
            if self.timed_out:
                raise QueryFailed(f"It took longer than {self.limits.seconds:g} s.") from None
            raise QueryFailed(str(error)) from None
        finally:
            clock.cancel()
            clock.join()

    def execute(self, query: SqlQuery) -> Rows:
        statements = self.connection.extract_statements(query.with_placeholders("${}"))
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryFailed("Only one SELECT can be run.")
        cursor = self.connection.execute(statements[0], dict(query.values) or None)
        return collect_rows(cursor.description, iter(cursor.fetchone, None), self.limits)


DRIVER = DuckDBDriver


def open_driver(location: DatabaseLocation) -> DuckDBDriver:
    return DuckDBDriver(location.file)
