"""Fits a table into a budget (column names, first and last rows, notes on the rest); reads comma-, semicolon- and
tab-separated tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest, cut_middle, fits_budget, take_head
from rightseat.documents.text import cut_text, decode_text
from rightseat.types.text import estimate_tokens

LONG_CELL = 50
SHORT_CELL = 10

# Rows that must fit before columns are dropped.
SAMPLE_FIRST, SAMPLE_LAST = 3, 2
MAX_NAMES = 12
DELIMITERS = ",;\t|"
SAMPLE_LINES = 20
SPECIAL = re.compile(r'[,"\n\r]')
BLANK = ("", "null", '""')
Row = Sequence[str]


class RowStyle:
    """Writes rows as CSV, quoted only where needed."""

    def format_row(self, row: Row) -> str:
        return ",".join('"' + cell.replace('"', '""') + '"' if SPECIAL.search(cell) else cell for cell in row)

    def shorten_cell(self, cell: str, tokens: int) -> str:
        return cut_middle(cell, tokens)

    def format_gap(self, rows: int) -> str:
        return f"… {rows} rows left out …"


class FittedTable(Struct):
    header: str
    lines: list[str]
    notes: list[str] = []
    cut: bool = False
    rows: tuple[int, int] | None = None
    """The rows shown and all rows, where rows were dropped."""

    @property
    def text(self) -> str:
        return "\n".join([self.header, *self.lines])


def fit_table(columns: Row, rows: Sequence[Row], budget: int, style: RowStyle, total: int | None = None) -> FittedTable:
    """Fit a table into `budget` tokens. Each row has one cell per column. `total`: the number of all rows, if
    `rows` are only the first and the last ones."""
    total = len(rows) if total is None else total
    # Every row costs at least one token: a longer table cannot fit whole.
    if total == len(rows) < budget:
        table = format_table(columns, rows, style)
        if estimate_cost(table) <= budget:
            return table
    notes: list[str] = []
    filled = [index for index in range(len(columns)) if any(row[index] not in BLANK for row in rows)]
    if 0 < len(filled) < len(columns):
        empty = (name for index, name in enumerate(columns) if index not in filled)
        notes.append(f"Empty columns left out: {format_names(empty)}.")
        columns, rows = [columns[index] for index in filled], [[row[index] for index in filled] for row in rows]
    if len(rows) > 2 * budget:
        rows = [*rows[:budget], *rows[-budget:]]
    table = shorten_table(columns, rows, total, budget, style, notes)
    return FittedTable(table.header, table.lines, [*notes, *table.notes], True, table.rows)


def shorten_table(
    columns: Row, rows: Sequence[Row], total: int, budget: int, style: RowStyle, notes: list[str]
) -> FittedTable:
    """Shorten long cells, then drop columns from the right, then rows from the middle."""
    sample = [*rows[:SAMPLE_FIRST], *rows[SAMPLE_FIRST:][-SAMPLE_LAST:]]
    width = LONG_CELL
    if estimate_cost(format_table(columns, shorten_cells(sample, width, style), style)) > budget:
        width = SHORT_CELL
    short = shorten_cells(rows, width, style)
    if short != list(rows):
        notes.append("Long cells are shortened.")
    sample = [*short[:SAMPLE_FIRST], *short[SAMPLE_FIRST:][-SAMPLE_LAST:]]
    keep = count_affordable_columns(columns, sample, budget - estimate_tokens(style.format_gap(total)) - 1)
    if keep < len(columns):
        notes.append(f"{keep} of {len(columns)} columns are shown; left out: {format_names(columns[keep:])}.")
        columns, short = columns[:keep], [row[:keep] for row in short]
    return drop_middle_rows(format_table(columns, short, style), total, budget, style)


def drop_middle_rows(table: FittedTable, total: int, budget: int, style: RowStyle) -> FittedTable:
    """Keep as many rows as fit, two from the top for each one from the bottom."""
    have = len(table.lines)
    if have == total and estimate_cost(table) <= budget:
        return table
    room = budget - estimate_tokens(table.header) - 1 - estimate_tokens(style.format_gap(total)) - 1
    first = last = 0
    while first + last < have:
        from_top = first <= 2 * last
        line = table.lines[first] if from_top else table.lines[have - 1 - last]
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        first, last = first + from_top, last + (not from_top)
    lines = [*table.lines[:first], style.format_gap(total - first - last), *table.lines[have - last :]]
    ends = f": the first {first} and the last {last}" if last else ""
    notes = [f"{first + last} of {total} rows are shown{ends}."] if total else []
    return FittedTable(table.header, lines if total else [], notes, True, (first + last, total) if total else None)


def count_affordable_columns(columns: Row, sample: Sequence[Row], budget: int) -> int:
    """Return how many columns from the left fit with the sample rows; at least one."""
    spent = 0
    for index, name in enumerate(columns):
        spent += estimate_tokens(name) + 1 + sum(estimate_tokens(row[index]) + 1 for row in sample)
        if spent > budget:
            return max(index, 1)
    return len(columns)


def format_table(columns: Row, rows: Iterable[Row], style: RowStyle) -> FittedTable:
    return FittedTable(style.format_row(columns), [style.format_row(row) for row in rows])


def shorten_cells(rows: Iterable[Row], tokens: int, style: RowStyle) -> list[Row]:
    return [
        [cell if fits_budget(cell, tokens) else style.shorten_cell(cell, tokens) for cell in row]
        if any(len(cell) > tokens for cell in row)
        else row
        for row in rows
    ]


def estimate_cost(table: FittedTable) -> int:
    return sum(estimate_tokens(line) + 1 for line in (table.header, *table.lines))


def format_names(names: Iterable[str]) -> str:
    """Format names for a note: the first MAX_NAMES, shortened."""
    all_names = list(names)
    few = ", ".join(take_head(name.strip('"'), SHORT_CELL) or "(no name)" for name in all_names[:MAX_NAMES])
    return f"{few} and {len(all_names) - MAX_NAMES} more" if len(all_names) > MAX_NAMES else few


def add_rows(*counts: tuple[int, int] | None) -> tuple[int, int] | None:
    """Add the rows of several cut tables: those shown and all."""
    known = [count for count in counts if count is not None]
    return (sum(shown for shown, _ in known), sum(total for _, total in known)) if known else None


def fit_csv(columns: Row, rows: Sequence[Row], budget: int) -> FittedTable:
    return fit_table(columns, rows, budget, RowStyle())


def read_csv(data: bytes, request: ReadRequest) -> Document:
    text, note = decode_text(data, request.charset)
    text = text.strip("\n")
    if fits_budget(text, request.budget):
        return request.make_document(text, note)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=find_delimiter(text)))
    except csv.Error:
        return cut_text(text, request, note, "It is not a well-formed table.")
    rows = [row for row in rows if any(row)]
    columns, *body = pad_rows(rows, request.limits.cells) or [[]]
    table = fit_csv(columns, body, request.budget)
    return request.make_document(table.text, note, *table.notes, cut=table.cut, rows=table.rows)


def find_delimiter(text: str) -> str:
    """Return the delimiter with the most regular count in the first lines."""
    lines = [line for line in text[:20_000].split("\n") if line.strip()][:SAMPLE_LINES]
    if not lines:
        return ","

    def regular(char: str) -> tuple[int, int]:
        counts = [line.count(char) for line in lines]
        return sum(count == counts[0] for count in counts) if counts[0] else 0, counts[0]

    return max(DELIMITERS, key=regular)


def pad_rows(rows: list[list[str]], cells: int) -> list[list[str]]:
    """Pad all rows to the length of the longest; raises for too many cells."""
    width = max(map(len, rows), default=0)
    if width * len(rows) > cells:
        raise DocumentUnreadable(f"has more than {cells} cells. Send a part of it.")
    return [row + [""] * (width - len(row)) for row in rows]
