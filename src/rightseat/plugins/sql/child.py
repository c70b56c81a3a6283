"""Functions that run queries in a child process, where a limit of memory holds and which can be killed.

The parent is `processes`. Replies are encoded here, so that their size is checked before they are sent.
"""

from __future__ import annotations

import importlib
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery

ReplyKind = Literal["rows", "failed", "refused", "unreadable"]
EMPTY_ROWS = Rows((), ())
# Bytes of JSON for each byte of the result: letters may be escaped, and numbers are longer than 8 bytes.
REPLY_FACTOR = 4


class QueryReply(Struct, frozen=True):
    """Rows of a query, or the kind and the text of its error."""

    kind: ReplyKind
    text: str = ""
    rows: Rows = EMPTY_ROWS


MEMORY_INTERVAL = 0.02
PYTHON_MEMORY = 256 << 20
"""Memory of Python and DuckDB before the first query."""


@cache
def watch_memory(most: int) -> None:
    """End this process when it holds more memory. Some functions of DuckDB take memory that its own limit does not
    count, and a limit of addresses would be met before its first query."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        return
    page = os.sysconf("SC_PAGE_SIZE")

    def watch() -> None:
        pause = threading.Event()
        while int(statistics.read_bytes().split()[1]) * page < most:
            pause.wait(MEMORY_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def max_reply_bytes(result_bytes: int) -> int:
    return REPLY_FACTOR * result_bytes + (1 << 20)


def run_query(kind: str, file: str, text: str, values: dict[str, Any], limits: dict[str, Any]) -> Any:
    """Run a query on a database file in a session of its own."""
    query_limits = msgspec.convert(limits, QueryLimits)
    driver_module = importlib.import_module(f"rightseat.plugins.sql.drivers.{kind}")
    driver = driver_module.DRIVER(Path(file))
    if kind == "duckdb":
        watch_memory(query_limits.memory + PYTHON_MEMORY)
    try:
        with driver.session(query_limits) as session:
            return encode_reply(QueryReply("rows", rows=session.query(SqlQuery(text, values))), query_limits.bytes)
    except QueryFailed as error:
        return encode_reply(QueryReply("failed", str(error)), query_limits.bytes)


def run_table_query(table: str, sql: str) -> Any:
    """Run a query over a table of the conversation."""
    from rightseat.plugins.sql.guard import QueryRefused
    from rightseat.plugins.sql.table_query import MAX_RESULT_BYTES, query_table
    from rightseat.tools.builtin.table_text import TableUnreadable

    try:
        reply = QueryReply("rows", rows=query_table(table, sql))
    except TableUnreadable as error:
        reply = QueryReply("unreadable", str(error))
    except QueryRefused as error:
        reply = QueryReply("refused", str(error))
    except QueryFailed as error:
        reply = QueryReply("failed", str(error))
    return encode_reply(reply, MAX_RESULT_BYTES)


def encode_reply(reply: QueryReply, result_bytes: int) -> msgspec.Raw:
    encoded = msgspec.json.encode(reply)
    if len(encoded) > max_reply_bytes(result_bytes):
        failed = QueryReply("failed", "The result is too large. Ask for fewer rows or shorter values.")
        encoded = msgspec.json.encode(failed)
    return msgspec.Raw(encoded)
