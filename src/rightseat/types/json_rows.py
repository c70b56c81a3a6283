"""Rows of tables: data frames of pandas, Polars and PyArrow, arrays of NumPy, and lists.

A table is converted in small parts. Only the rows that are needed are converted, and no part is so large that its
encoding in a thread delays the event loop.
"""

from __future__ import annotations

import sys
from typing import Any

from msgspec import Struct

from rightseat.types.json_values import NotJsonError, decode_encoded, encode_json, find_library

FIRST_ROWS = 10
PART_BYTES = 1 << 20
TABLE_FIELDS = frozenset(("columns", "rows", "data"))
"""Fields of a table that is written as an object of its parts."""
COLUMN_TYPES = {("pandas", "Series"), ("polars", "Series"), ("numpy", "ndarray")}


class TableRows(Struct, frozen=True):
    """The first rows of a table, and the number of all of its rows."""

    rows: list[Any]
    total: int


def count_rows(value: Any) -> int | None:
    """Return the number of rows of a data frame, an array or a list; None for any other value."""
    if isinstance(value, list):
        return len(value)
    match find_library(value), type(value).__name__:
        case ("pandas" | "polars", "DataFrame") | ("pyarrow", "Table" | "RecordBatch"):
            return len(value)
        case ("polars", "Series") | ("numpy", "ndarray") if getattr(value, "ndim", 1):
            return len(value)
        case _:
            return None


def columns_to_rows(value: Any) -> Any:
    """Return the rows of a table that is written as an object of columns; any other value as it is."""
    if not isinstance(value, dict) or not value or not TABLE_FIELDS.isdisjoint(value):
        return value
    columns = [column for column in map(list_column, value.values()) if column is not None]
    if len(columns) != len(value) or len(set(map(len, columns))) != 1:
        return value
    return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]


def list_column(value: Any) -> list[Any] | None:
    """Return the values of a column: a list, a tuple, an array or a Series; None for anything else."""
    if isinstance(value, list | tuple):
        return list(value)
    is_column = (find_library(value), type(value).__name__) in COLUMN_TYPES and getattr(value, "ndim", 1) == 1
    return list(value) if is_column else None


def name_cells(rows: list[Any]) -> list[Any]:
    """Return rows of lists or of single values with numbers as the names of their columns, and others as they are."""
    if not rows or any(row is None or isinstance(row, dict) for row in rows):
        return rows
    lists = [row if isinstance(row, list) else [row] for row in rows]
    return [{str(number): cell for number, cell in enumerate(cells)} for cells in lists]


def slice_rows(value: Any, start: int, stop: int) -> Any:
    """Return a part of what `count_rows` counts, of the same type."""
    match find_library(value):
        case "pandas":
            return value.iloc[start:stop]
        case "pyarrow":
            return value.slice(start, max(stop - start, 0))
        case _:
            return value[start:stop]


def to_json_rows(table: Any, max_bytes: int = sys.maxsize, max_rows: int | None = None) -> TableRows:
    """Return as many of a table's first rows as the limits allow, as JSON decodes them. Raise NotJsonError if not even
    one row fits."""
    total = count_rows(table) or 0
    wanted = total if max_rows is None else min(total, max_rows)
    rows: list[Any] = []
    size, count, max_count = 0, FIRST_ROWS, wanted
    while len(rows) < wanted:
        part = slice_rows(table, len(rows), min(len(rows) + count, wanted))
        encoded = encode_json(part)
        decoded = decode_encoded(part, encoded)
        if not decoded:
            # Rows without columns.
            break
        if size + len(encoded) <= max_bytes:
            rows += decoded
            size += len(encoded)
            max_count *= 2
            room = min(PART_BYTES, max_bytes - size)
            count = min(max(room * len(decoded) // len(encoded), 1), max_count)
        elif len(decoded) > 1:
            # A smaller part may fit.
            count = max_count = len(decoded) // 2
        elif rows:
            break
        else:
            raise NotJsonError(f"one row has more than {max_bytes >> 20} MB")
    return TableRows(rows, total)
