"""Fits a table into a budget: column names, first and last rows, and notes on the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from rightseat.documents.cut import cut_middle, fits_budget, take_head
from rightseat.types.tokens import estimate_tokens

LONG_CELL = 50
SHORT_CELL = 10
# Rows that must fit before columns are dropped.
SAMPLE_FIRST, SAMPLE_LAST = 3, 2
MAX_NAMES = 12
SPECIAL = re.compile(r'[,"\n\r]')
BLANK = ("", "null", '""')

Row = Sequence[str]


class RowStyle(Protocol):
    """Writes rows, as CSV lines or JSON arrays."""

    def format_row(self, row: Row, /) -> str: ...
    def shorten_cell(self, cell: str, tokens: int, /) -> str: ...
    def format_gap(self, rows: int, /) -> str: ...


class FittedTable(Struct):
    header: str
    lines: list[str]
    notes: list[str]
    cut: bool


class CsvStyle:
    """Writes rows as CSV, quoted only where needed."""

    def format_row(self, row: Row, /) -> str:
        return ",".join(map(quote_cell, row))

    def shorten_cell(self, cell: str, tokens: int, /) -> str:
        return cut_middle(cell, tokens)

    def format_gap(self, rows: int, /) -> str:
        return f"… {rows} rows left out …"


def quote_cell(cell: str) -> str:
    if SPECIAL.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def fit_table(columns: Row, rows: Sequence[Row], budget: int, style: RowStyle) -> FittedTable:
    """Fit a table into `budget` tokens. Each row has one cell per column."""
    # Every row costs at least one token: a longer table cannot fit whole.
    if len(rows) < budget:
        table = format_table(columns, rows, style)
        if estimate_cost(table) <= budget:
            return table
    notes: list[str] = []
    empty = [index for index in range(len(columns)) if all(row[index] in BLANK for row in rows)]
    if empty and len(empty) < len(columns):
        notes.append(f"Empty columns left out: {format_names(columns[index] for index in empty)}.")
        columns, rows = drop_columns(columns, rows, set(empty))
    total = len(rows)
    if total > 2 * budget:
        rows = [*rows[:budget], *rows[-budget:]]
    table = shorten_table(columns, rows, total, budget, style, notes)
    return FittedTable(table.header, table.lines, [*notes, *table.notes], True)


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
    return FittedTable(table.header, lines if total else [], notes, True)


def count_affordable_columns(columns: Row, sample: Sequence[Row], budget: int) -> int:
    """Return how many columns from the left fit with the sample rows; at least one."""
    spent = 0
    for index, name in enumerate(columns):
        spent += estimate_tokens(name) + 1 + sum(estimate_tokens(row[index]) + 1 for row in sample)
        if spent > budget:
            return max(index, 1)
    return len(columns)


def format_table(columns: Row, rows: Iterable[Row], style: RowStyle) -> FittedTable:
    return FittedTable(style.format_row(columns), [style.format_row(row) for row in rows], [], False)


def shorten_cells(rows: Iterable[Row], tokens: int, style: RowStyle) -> list[Row]:
    return [
        [cell if fits_budget(cell, tokens) else style.shorten_cell(cell, tokens) for cell in row]
        if any(len(cell) > tokens for cell in row)
        else row
        for row in rows
    ]


def drop_columns(columns: Row, rows: Iterable[Row], dropped: set[int]) -> tuple[Row, list[Row]]:
    indexes = [index for index in range(len(columns)) if index not in dropped]
    return [columns[index] for index in indexes], [[row[index] for index in indexes] for row in rows]


def estimate_cost(table: FittedTable) -> int:
    return sum(estimate_tokens(line) + 1 for line in (table.header, *table.lines))


def format_names(names: Iterable[str]) -> str:
    """Format names for a note: the first MAX_NAMES, shortened."""
    all_names = list(names)
    few = ", ".join(take_head(name.strip('"'), SHORT_CELL) or "(no name)" for name in all_names[:MAX_NAMES])
    return f"{few} and {len(all_names) - MAX_NAMES} more" if len(all_names) > MAX_NAMES else few


def fit_csv(columns: Row, rows: Sequence[Row], budget: int) -> tuple[str, list[str], bool]:
    """Fit a table as CSV; returns text, notes and whether anything was cut."""
    table = fit_table(columns, rows, budget, CsvStyle())
    return "\n".join([table.header, *table.lines]), table.notes, table.cut
