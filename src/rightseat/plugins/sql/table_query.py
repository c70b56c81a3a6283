"""`table_query`: the built-in tool that runs one SELECT over a table in the conversation.

A child process (`processes`) loads the table into an SQLite database in memory, which holds nothing else and is closed
after the query. The query passes the guard where sqlglot is installed (`rightseat[sql]`); SQLite's own authorizer,
which allows only reads, applies always.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rightseat.tools.builtin.expression import format_float
from rightseat.tools.builtin.table_text import TableUnreadable, TypedColumn, infer_columns, read_table
from rightseat.tools.function import tool
from rightseat.types.tools import Result, ToolContext, error_result

if TYPE_CHECKING:
    import sqlite3

    from rightseat.plugins.sql.processes import QueryProcesses
    from rightseat.plugins.sql.query import Rows

TABLE_NAME = "t"
MAX_ROWS = 200
MAX_RESULT_BYTES = 256 << 10
MAX_SECONDS = 3.0
MAX_MEMORY = 256 << 20
RESULT_TOKENS = 1500
MAX_SQL_LENGTH = 4000
# A float holds numbers of 308 digits; a larger one is infinite in SQLite, and its sums would be empty.
_INFINITE_NUMBER = re.compile(r"[-+−]?\d{309,}+(?:\.\d*)?")
FILLING_FUNCTIONS = frozenset(("printf", "format", "hex", "quote"))


def query_table(table: str, sql: str) -> Rows:
    """Return the rows of one SELECT over a table; raises TableUnreadable, QueryRefused or QueryFailed."""
    import sqlite3
    from contextlib import closing

    from rightseat.plugins.sql.drivers.sqlite import SQLiteSession
    from rightseat.plugins.sql.query import QueryFailed, QueryLimits

    columns = infer_columns(read_table(table))
    if any("\0" in column.name for column in columns):
        raise TableUnreadable("The name of a column has a NUL character. Remove it.")
    if name := next((column.name for column in columns if has_infinite_number(column)), None):
        raise TableUnreadable(f"A number in the column {show_name(name)} is too large to compute with. Shorten it.")
    limits = QueryLimits(rows=MAX_ROWS, bytes=MAX_RESULT_BYTES, seconds=MAX_SECONDS)
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryFailed(f"The query is longer than {MAX_SQL_LENGTH} characters.")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        load_columns(connection, columns)
        session = SQLiteSession(connection, limits)
        connection.set_authorizer(authorize_table)
        try:
            return session.query(check_query(sql, limits.rows))
        except QueryFailed as error:
            names = ", ".join(f"{show_name(column.name)} {column.kind}" for column in columns)
            raise QueryFailed(
                f"{str(error).rstrip('.')}. Write one SELECT over the table {TABLE_NAME} ({names})."
            ) from None


def has_surrogates(text: str) -> bool:
    """Whether a text has lone surrogates, which SQLite does not store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def has_infinite_number(column: TypedColumn) -> bool:
    """Whether a column has a number that is too large for a float; such a column is a text."""
    return any(isinstance(cell, str) and _INFINITE_NUMBER.fullmatch(cell.strip()) for cell in column.cells)


def authorize_table(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Allow what the driver allows, but neither the schema nor functions that fill a long text in one step."""
    import sqlite3

    from rightseat.plugins.sql.drivers.sqlite import authorize

    reads_schema = action == sqlite3.SQLITE_READ and (first or "").lower().startswith("sqlite_")
    if reads_schema or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FILLING_FUNCTIONS):
        return sqlite3.SQLITE_DENY
    return authorize(action, first, second, database, trigger)


def check_query(sql: str, rows: int) -> Any:
    """Return the query as the guard rewrites it; unchanged without sqlglot, where only the authorizer checks it."""
    from rightseat.plugins.sql.guard import QueryRules, guard_query
    from rightseat.plugins.sql.query import SqlQuery

    if find_spec("sqlglot") is None:
        return SqlQuery(sql)
    return guard_query(sql, QueryRules(dialect="sqlite", tables=(TABLE_NAME,), rows=rows))


def load_columns(connection: sqlite3.Connection, columns: list[TypedColumn]) -> None:
    """Create the table from typed columns, and make the connection read-only."""
    kinds = {"DATE": "TEXT"}
    fields = ", ".join(f"{quote_name(column.name)} {kinds.get(column.kind, column.kind)}" for column in columns)
    connection.execute(f"CREATE TABLE {TABLE_NAME} ({fields})")
    marks = ", ".join("?" * len(columns))
    rows = zip(*(column.cells for column in columns), strict=True)
    connection.executemany(" ".join(("INSERT INTO", TABLE_NAME, "VALUES (", marks, ")")), rows)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")


def show_name(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*", name) else quote_name(name)


def quote_name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def format_rows(rows: Rows, budget: int) -> str:
    """Format rows as a Markdown table within a budget of tokens, and say what is left out."""
    from rightseat.documents.table import RowStyle, fit_table

    class MarkdownStyle(RowStyle):
        def format_row(self, row: Any) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"

    if not rows.rows:
        return "No rows match."
    cells = [[format_result_cell(cell) for cell in row] for row in rows.rows]
    table = fit_table(list(rows.columns), cells, budget, MarkdownStyle())
    rule = "|" + "---|" * (table.header.count(" | ") + 1)
    notes = list(table.notes)
    if rows.truncated:
        notes.append(f"Only the first {len(rows.rows)} rows are shown. Add LIMIT, WHERE or a sum to the query.")
    return "\n".join([table.header, rule, *table.lines, *notes])


def format_result_cell(cell: Any) -> str:
    if isinstance(cell, float):
        return format_float(cell)
    return "" if cell is None else str(cell)


async def query_in_child(table: str, sql: str) -> Rows:
    """Return the rows of one SELECT over a table, from a child process; raises as `query_table` does."""
    from rightseat.plugins.sql.guard import QueryRefused
    from rightseat.plugins.sql.query import QueryFailed

    if has_surrogates(table):
        raise TableUnreadable("The table has a character that is no Unicode text (a lone surrogate). Remove it.")
    if has_surrogates(sql):
        raise QueryFailed("The query has a character that is no Unicode text (a lone surrogate). Remove it.")
    reply = await get_processes().call({"table": table, "sql": sql}, MAX_SECONDS)
    match reply.kind:
        case "unreadable":
            raise TableUnreadable(reply.text)
        case "refused":
            raise QueryRefused(reply.text)
        case "failed":
            raise QueryFailed(reply.text)
    return reply.rows


@cache
def get_processes() -> QueryProcesses:
    from rightseat.plugins.sql.processes import BASE_MEMORY, ProcessLimits, QueryProcesses

    limits = ProcessLimits(MAX_SECONDS, MAX_MEMORY, BASE_MEMORY["sqlite"], MAX_RESULT_BYTES)
    return QueryProcesses("run_table_query", limits)


async def close_processes() -> None:
    """Stop the processes that wait for queries. Another runtime of this program starts new ones."""
    if get_processes.cache_info().currsize:
        await get_processes().processes.close()


async def run_table_query(table: str, sql: str, ctx: ToolContext) -> Result:
    """Query a table of the conversation with SQL: sums, averages, counts, maxima, differences, sorting, the latest row.
    Use it for every computation over a table instead of computing yourself.

    Args:
        table: The whole table as Markdown, CSV, TSV or a JSON list of objects, with the column names first.
        sql: One SQLite SELECT over the table named t, such as SELECT fruit, sold FROM t ORDER BY sold DESC LIMIT 1.
    """
    from rightseat.plugins.sql.guard import QueryRefused
    from rightseat.plugins.sql.query import QueryFailed

    budget = min(ctx.budget or RESULT_TOKENS, RESULT_TOKENS)
    try:
        rows = await query_in_child(table, sql)
        return Result(format_rows(rows, budget))
    except TableUnreadable as error:
        return error_result("invalid_table", str(error))
    except (QueryRefused, QueryFailed) as error:
        return error_result("invalid_query", str(error))


table_query = replace(tool(name="table_query")(run_table_query), effect="reads", close=close_processes)
