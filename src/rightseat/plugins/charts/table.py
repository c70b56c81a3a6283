"""Tables from JSON data: lists of objects, lists of rows, objects of columns, named numbers, also nested."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

ColumnKind = Literal["number", "time", "text"]
MAX_ROWS = 2000
MAX_COLUMNS = 60
MAX_DEPTH = 5
NAME, VALUE = "name", "value"
_TIME = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?|\d{4}-?Q[1-4]|\d{4}-?W\d{2}|\d{4}/\d{1,2}/\d{1,2}")
_DIGITS = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_YEAR = re.compile(r"(?i)year|jahr|年")


class NoTableFound(Exception):
    """The data holds no table."""


class TableColumn(Struct, frozen=True):
    name: str
    kind: ColumnKind
    cells: tuple[Any, ...]

    @property
    def distinct(self) -> list[Any]:
        return list(dict.fromkeys(cell for cell in self.cells if cell is not None))


class DataTable(Struct, frozen=True):
    columns: tuple[TableColumn, ...]
    is_truncated: bool = False
    """Whether rows were left out."""

    def __getitem__(self, name: str) -> TableColumn:
        return next(column for column in self.columns if column.name == name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def list_columns(self, kind: ColumnKind) -> list[TableColumn]:
        return [column for column in self.columns if column.kind == kind]

    @property
    def row_count(self) -> int:
        return len(self.columns[0].cells)


def parse_table(value: Any) -> DataTable:
    all_rows = find_rows(value, MAX_DEPTH)
    if not all_rows:
        raise NoTableFound("There is no table in it, nor numbers by name.")
    rows = all_rows[:MAX_ROWS]
    names = list(dict.fromkeys(name for row in rows for name in row))[:MAX_COLUMNS]
    columns = [make_column(name, [row.get(name) for row in rows]) for name in names]
    useful = tuple(column for column in columns if any(cell is not None for cell in column.cells))
    if not useful:
        raise NoTableFound("The table has no values.")
    return DataTable(useful, len(all_rows) > MAX_ROWS)


def find_rows(value: Any, depth: int) -> list[dict[str, Any]]:
    """Return the rows as objects; empty if there are none."""
    match value:
        case {"columns": [*columns], "rows": [*rows]} | {"columns": [*columns], "data": [*rows]}:
            names = [str(column.get(NAME, column)) if isinstance(column, dict) else str(column) for column in columns]
            return [make_row(row, names) for row in rows]
        case dict():
            return rows_from_object(value, depth)
        case list():
            return rows_from_list(value)
        case _:
            return []


def rows_from_object(value: dict[str, Any], depth: int) -> list[dict[str, Any]]:
    if columns := get_column_lists(value):
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    if depth > 0:
        inner = [find_rows(item, depth - 1) for item in value.values() if isinstance(item, dict | list)]
        # A response wraps its table in metadata: take the largest.
        if inner and (largest := max(inner, key=len)):
            return largest
    return [{NAME: str(name), VALUE: item} for name, item in value.items() if parse_number(item) is not None]


def get_column_lists(value: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of an object with one list per column; empty otherwise."""
    if len(value) < 2 or not all(isinstance(cells, list) for cells in value.values()):
        return {}
    has_nested = any(isinstance(cell, dict | list) for cells in value.values() for cell in cells)
    has_same_length = len(set(map(len, value.values()))) == 1
    return {str(name): cells for name, cells in value.items()} if has_same_length and not has_nested else {}


def rows_from_list(value: list[Any]) -> list[dict[str, Any]]:
    if objects := [item for item in value if isinstance(item, dict)]:
        return [flatten_row(item) for item in objects]
    if lists := [item for item in value if isinstance(item, list)]:
        head, *rest = lists
        has_header = rest and all(isinstance(cell, str) for cell in head) and len(set(head)) == len(head)
        names = head if has_header else [f"column {place + 1}" for place in range(max(map(len, lists)))]
        return [make_row(row, names) for row in (rest if has_header else lists)]
    return [{VALUE: item} for item in value if parse_number(item) is not None]


def make_row(row: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(row, dict):
        return flatten_row(row)
    return dict(zip(names, row if isinstance(row, list | tuple) else [row], strict=False))


def flatten_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with nested objects as columns of their own."""
    flattened: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, dict):
            flattened |= {f"{name}.{inner}": value for inner, value in cell.items()}
        else:
            flattened[str(name)] = cell
    return flattened


def make_column(name: str, cells: list[Any]) -> TableColumn:
    normalized = list(map(normalize_cell, cells))
    present = [cell for cell in normalized if cell is not None]
    numbers = list(map(parse_number, present))
    if present and None not in numbers:
        is_year = _YEAR.search(name) and all(isinstance(number, int) and 1000 <= number <= 3000 for number in numbers)
        if not is_year:
            return TableColumn(name, "number", tuple(map(parse_number, normalized)))
        kind: ColumnKind = "time"
    else:
        is_time = present and all(isinstance(cell, str) and _TIME.fullmatch(cell) for cell in present)
        kind = "time" if is_time else "text"
    return TableColumn(name, kind, tuple(None if cell is None else str(cell) for cell in normalized))


def normalize_cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if cell is None or isinstance(cell, str | int | float):
        return cell
    return ", ".join(map(str, cell if isinstance(cell, list | tuple) else [cell]))


def parse_number(cell: Any) -> int | float | None:
    """Return the cell as a number, also from numeric text; None otherwise."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, str):
        if not _DIGITS.fullmatch(cell) or len(cell) > 40:
            return None
        value = float(cell)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return cell if isinstance(cell, int | float) and math.isfinite(cell) else None
