"""Rows of a client's table with typed columns: numbers, times and texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from rightseat.tools.builtin.table_text import BLANK_CELLS, read_number
from rightseat.tools.tables.times import TimePoint, find_day_order, read_time
from rightseat.tools.tables.words import Terms, find_terms, split_words

MAX_CELLS = 500_000
SAMPLE = 50
"""Cells by which a column of times is recognized."""
MAX_COLUMNS = 200
MAX_NUMBER = 10**20
MAX_TEXT_CELL = 300
ColumnKind = Literal["number", "time", "text"]
_TIME_NAME = re.compile(
    r"date|day|period|quarter|year|month|time|asof|as_of|fiscal|日期|时间|月|年|季|期间", re.IGNORECASE
)
_ROW_LISTS = ("data", "results", "rows", "items", "records")
_ID_NAME = re.compile(
    r"(?:id|uuid|cik|isin|cusip|rank|index|#|no\.?|number|zip|code|年|year|fiscal_?year)", re.IGNORECASE
)


_PERCENT_CONCEPTS = frozenset(
    (
        "yield",
        "dividend_yield",
        "interest_rate",
        "coupon",
        "unemployment",
        "gross_margin",
        "operating_margin",
        "net_margin",
    )
)
_OTHER_UNIT = re.compile(r"bps|bp\b|_(?:usd|eur|gbp|mn|bn|m|k)$|date|amount|freq|\$|€|£|%|pct|percent", re.IGNORECASE)


class RowColumn(Struct, frozen=True):
    name: str
    kind: ColumnKind
    cells: tuple[Any, ...]
    """Cells as the client sent them."""
    numbers: tuple[Decimal | None, ...] = ()
    times: tuple[TimePoint | None, ...] = ()
    terms: Terms = Terms(frozenset(), frozenset())
    unit: str = ""
    """Unit of a number that is sent as text, such as % or $."""
    is_melted: bool = False
    """Whether it was made of columns for periods, such as `revenue_2023`."""

    @property
    def is_number(self) -> bool:
        return self.kind == "number"

    @property
    def is_id(self) -> bool:
        """Whether its numbers name rows and measure nothing."""
        return _ID_NAME.fullmatch(self.name) is not None


class RowTable(Struct, frozen=True):
    columns: tuple[RowColumn, ...]
    size: int
    """Number of rows."""
    label: RowColumn | None = None
    """The column that names the rows."""

    @property
    def numbers(self) -> list[RowColumn]:
        return [column for column in self.columns if column.is_number and not column.is_id]

    @property
    def times(self) -> list[RowColumn]:
        return [column for column in self.columns if column.kind == "time"]

    @property
    def texts(self) -> list[RowColumn]:
        return [column for column in self.columns if column.kind == "text"]


def find_label(columns: Sequence[RowColumn]) -> RowColumn | None:
    """Return the column that names the rows: the first text whose cells seldom repeat, else a first column of numbers
    where there are no times."""
    texts = [column for column in columns if column.kind == "text"]
    has_times = any(column.kind == "time" for column in columns)
    # A name says more than an identifier.
    for column in sorted(texts, key=lambda column: column.is_id):
        filled = [cell for cell in column.cells if cell not in (None, "")]
        if filled and len(set(map(str, filled))) > len(filled) * 2 // 3:
            return column
    if not texts and not has_times and columns and columns[0].is_number:
        return columns[0]
    return texts[0] if texts else None


def find_rows(value: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a decoded JSON value: a list of objects, alone or as the only list of an object; an object
    of plain values is one row."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return value
    if not isinstance(value, dict) or not value:
        return None
    lists = [value[name] for name in _ROW_LISTS if isinstance(value.get(name), list)]
    if lists:
        return find_rows(lists[0])
    if all(isinstance(cell, str | int | float | bool | None) for cell in value.values()):
        return [value]
    return None


def read_rows(rows: Sequence[dict[str, Any]]) -> RowTable | None:
    """Return the table of JSON rows; None if it has no columns or is too large."""
    names = list(dict.fromkeys(name for row in rows[:1000] for name in row))
    if not names or len(names) > MAX_COLUMNS or len(names) * len(rows) > MAX_CELLS:
        return None
    columns = [read_column(name, [flatten_cell(row.get(name)) for row in rows]) for name in names]
    return make_table([column for column in columns if column is not None], len(rows))


def make_table(columns: Sequence[RowColumn], size: int) -> RowTable:
    return RowTable(tuple(columns), size, find_label(columns))


def flatten_cell(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if isinstance(cell, str):
        return cell[:MAX_TEXT_CELL].strip()
    return cell if isinstance(cell, int | float | None) else None


def read_column(name: str, cells: Sequence[Any]) -> RowColumn | None:
    """Return a column with its kind; None for a column without a value."""
    filled = [cell for cell in cells if not is_blank(cell)]
    if not filled:
        return None
    terms = find_terms(name)
    sample = filled[:SAMPLE]
    times = [read_time(cell) for cell in sample]
    named_time = _TIME_NAME.search(name) is not None
    if all(times) and (named_time or any(isinstance(cell, str) for cell in filled)):
        order = find_day_order(filled)
        if order is None:
            return RowColumn(name, "text", tuple(cells), terms=terms)
        points = tuple(None if is_blank(cell) else read_time(cell, day_first=order) for cell in cells)
        return RowColumn(name, "time", tuple(cells), times=points, terms=terms)
    amounts = [None if is_blank(cell) else read_amount(cell) for cell in cells]
    units = {amount[1] for amount in amounts if amount and amount[0]}
    # Numbers in different units cannot be compared.
    if sum(amount is not None for amount in amounts) < len(filled) or len(units) > 1:
        return RowColumn(name, "text", tuple(cells), terms=terms)
    numbers = tuple(amount and amount[0] for amount in amounts)
    unit = next(iter(units), "") or infer_unit(name, terms, numbers)
    return RowColumn(name, "number", tuple(cells), numbers=numbers, terms=terms, unit=unit)


def infer_unit(name: str, terms: Terms, numbers: Iterable[Decimal | None]) -> str:
    """Return % for a column of yields or rates whose numbers are no fractions and no basis points; else nothing."""
    largest = max((abs(number) for number in numbers if number is not None), default=Decimal())
    is_rate = terms.concepts & _PERCENT_CONCEPTS and not _OTHER_UNIT.search(name)
    return "%" if is_rate and 1 <= largest <= 60 else ""


def is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in BLANK_CELLS)


def read_amount(cell: Any) -> tuple[Decimal, str] | None:
    """Return the number of a cell and its unit; None if it is none, or so large that its digits cannot be kept."""
    if isinstance(cell, bool):
        return None
    amount: tuple[float | int, str] | None = (cell, "") if isinstance(cell, int | float) else None
    # 10Y and 5M are names, not amounts.
    if isinstance(cell, str) and not re.fullmatch(r"\d+[A-Za-z]", cell):
        amount = read_number(cell)
    if amount is None or abs(amount[0]) >= MAX_NUMBER:
        return None
    return Decimal(str(amount[0])), amount[1]


def list_cell_words(columns: Iterable[RowColumn], most: int = 2000) -> set[str]:
    """Return the words of the first text cells."""
    words: set[str] = set()
    for column in columns:
        for cell in column.cells[:most]:
            if isinstance(cell, str):
                words.update(split_words(cell))
    return words
