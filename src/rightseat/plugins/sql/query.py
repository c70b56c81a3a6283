"""Queries with bound values, limits, and the rows a database returns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from msgspec import Struct

MAX_FLOAT_DIGITS = 15
INT64_LIMIT = 2**63
MAX_HEX_BYTES = 64
NUMBER_BYTES = 8


class QueryFailed(Exception):
    """The database rejected or aborted the query. The text is the database's own."""


class SqlQuery(Struct, frozen=True):
    """SQL text with unique random names in place of its values."""

    text: str
    values: Mapping[str, Any] = {}

    def with_placeholders(self, mark: str, percent: bool = False) -> str:
        """Return the text with the driver's placeholders; `percent` doubles other `%` signs."""
        if "\0" in self.text:
            # Some databases stop reading there.
            raise QueryFailed("It has a NUL character.")
        text = self.text.replace("%", "%%") if percent and self.values else self.text
        for name in self.values:
            text = text.replace(name, mark.format(name))
        return text


class Rows(Struct, frozen=True):
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False
    """Whether the database has more rows."""

    def to_dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class QueryLimits(Struct, frozen=True, kw_only=True):
    rows: int = 1000
    bytes: int = 8 << 20
    seconds: float = 30.0
    memory: int = 1 << 30
    """Bytes for a query of a database that runs on this machine, in a child process."""


def collect_rows(description: Iterable[Any] | None, rows: Iterable[Sequence[Any]], limits: QueryLimits) -> Rows:
    """Collect the rows of a cursor with this description until a limit of rows or bytes is reached."""
    columns = make_unique(column[0] for column in description or ())
    if not columns:
        raise QueryFailed("It reads nothing.")
    collected: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        cells = tuple(map(to_json_value, row))
        size += sum(map(measure_cell, cells))
        if len(collected) >= limits.rows or size > limits.bytes:
            return Rows(columns, tuple(collected), truncated=True)
        collected.append(cells)
    return Rows(columns, tuple(collected))


def measure_cell(cell: Any) -> int:
    """Return about how many bytes a JSON value takes."""
    match cell:
        case str():
            return len(cell) if cell.isascii() else len(cell.encode("utf-8", "replace"))
        case dict():
            return sum(len(name) + measure_cell(value) for name, value in cell.items()) + NUMBER_BYTES
        case list():
            return sum(map(measure_cell, cell)) + NUMBER_BYTES
        case _:
            return NUMBER_BYTES


def make_unique(names: Iterable[str]) -> tuple[str, ...]:
    """Number repeated column names (of a join), so that they can be keys of an object."""
    unique: list[str] = []
    for name in names:
        number, free = 1, name
        while free in unique:
            number += 1
            free = f"{name}_{number}"
        unique.append(free)
    return tuple(unique)


def to_json_value(value: Any) -> Any:
    """Convert a cell to a JSON value."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -INT64_LIMIT <= value < INT64_LIMIT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return decimal_to_json(value)
        case datetime() | date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            data = bytes(value)
            return data.hex() if len(data) <= MAX_HEX_BYTES else f"{len(data)} bytes"
        case dict():
            return {str(name): to_json_value(inner) for name, inner in value.items()}
        case list() | tuple() | set():
            return [to_json_value(inner) for inner in value]
        case _:
            return str(value)


def decimal_to_json(value: Decimal) -> Any:
    """Convert a decimal to int or float; to text beyond the 15 digits a float holds."""
    if not value.is_finite():
        return None
    if value == value.to_integral_value() and abs(value) < INT64_LIMIT:
        return int(value)
    return float(value) if len(value.as_tuple().digits) <= MAX_FLOAT_DIGITS else str(value)
