"""Fits a table into a budget: column names, first and last rows, and notes on the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from rightseat.documents.cut import fits, head, middle
from rightseat.types.tokens import estimate

LONG_CELL = 50
SHORT_CELL = 10
# Rows that must fit before columns are dropped.
SAMPLE_FIRST, SAMPLE_LAST = 3, 2
NAMED = 12
SPECIAL = re.compile(r'[,"\n\r]')
BLANK = ("", "null", '""')

Row = Sequence[str]


class Style(Protocol):
    """Writes rows, as CSV lines or JSON arrays."""

    def line(self, row: Row, /) -> str: ...
    def short(self, cell: str, tokens: int, /) -> str: ...
    def gap(self, rows: int, /) -> str: ...


class Fitted(Struct):
    header: str
    lines: list[str]
    notes: list[str]
    cut: bool


class Csv:
    """Writes rows as CSV, quoted only where needed."""

    def line(self, row: Row, /) -> str:
        return ",".join(map(quoted, row))

    def short(self, cell: str, tokens: int, /) -> str:
        return middle(cell, tokens)

    def gap(self, rows: int, /) -> str:
        return f"… {rows} rows left out …"


def quoted(cell: str) -> str:
    if SPECIAL.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def fitted(columns: Row, rows: Sequence[Row], budget: int, style: Style) -> Fitted:
    """Fit a table into `budget` tokens. Each row has one cell per column."""
    # Every row costs at least one token: a longer table cannot fit whole.
    if len(rows) < budget:
        made = lined(columns, rows, style)
        if cost(made) <= budget:
            return made
    notes: list[str] = []
    empty = [index for index in range(len(columns)) if all(row[index] in BLANK for row in rows)]
    if empty and len(empty) < len(columns):
        notes.append(f"Empty columns left out: {listing(columns[index] for index in empty)}.")
        columns, rows = without(columns, rows, set(empty))
    total = len(rows)
    if total > 2 * budget:
        rows = [*rows[:budget], *rows[-budget:]]
    made = narrowed(columns, rows, total, budget, style, notes)
    return Fitted(made.header, made.lines, [*notes, *made.notes], True)


def narrowed(
    columns: Row, rows: Sequence[Row], total: int, budget: int, style: Style, notes: list[str]
) -> Fitted:
    """Shorten long cells, then drop columns from the right, then rows from the middle."""
    sample = [*rows[:SAMPLE_FIRST], *rows[SAMPLE_FIRST:][-SAMPLE_LAST:]]
    width = LONG_CELL
    if cost(lined(columns, shortened(sample, width, style), style)) > budget:
        width = SHORT_CELL
    short = shortened(rows, width, style)
    if short != list(rows):
        notes.append("Long cells are shortened.")
    sample = [*short[:SAMPLE_FIRST], *short[SAMPLE_FIRST:][-SAMPLE_LAST:]]
    keep = affordable(columns, sample, budget - estimate(style.gap(total)) - 1)
    if keep < len(columns):
        notes.append(f"{keep} of {len(columns)} columns are shown; left out: {listing(columns[keep:])}.")
        columns, short = columns[:keep], [row[:keep] for row in short]
    return gapped(lined(columns, short, style), total, budget, style)


def gapped(made: Fitted, total: int, budget: int, style: Style) -> Fitted:
    """Keep as many rows as fit, two from the top for each one from the bottom."""
    have = len(made.lines)
    if have == total and cost(made) <= budget:
        return made
    room = budget - estimate(made.header) - 1 - estimate(style.gap(total)) - 1
    first = last = 0
    while first + last < have:
        from_top = first <= 2 * last
        line = made.lines[first] if from_top else made.lines[have - 1 - last]
        room -= estimate(line) + 1
        if room < 0:
            break
        first, last = first + from_top, last + (not from_top)
    lines = [*made.lines[:first], style.gap(total - first - last), *made.lines[have - last :]]
    ends = f": the first {first} and the last {last}" if last else ""
    notes = [f"{first + last} of {total} rows are shown{ends}."] if total else []
    return Fitted(made.header, lines if total else [], notes, True)


def affordable(columns: Row, sample: Sequence[Row], budget: int) -> int:
    """Return how many columns from the left fit with the sample rows; at least one."""
    spent = 0
    for index, name in enumerate(columns):
        spent += estimate(name) + 1 + sum(estimate(row[index]) + 1 for row in sample)
        if spent > budget:
            return max(index, 1)
    return len(columns)


def lined(columns: Row, rows: Iterable[Row], style: Style) -> Fitted:
    return Fitted(style.line(columns), [style.line(row) for row in rows], [], False)


def shortened(rows: Iterable[Row], tokens: int, style: Style) -> list[Row]:
    return [
        [cell if fits(cell, tokens) else style.short(cell, tokens) for cell in row]
        if any(len(cell) > tokens for cell in row)
        else row
        for row in rows
    ]


def without(columns: Row, rows: Iterable[Row], dropped: set[int]) -> tuple[Row, list[Row]]:
    kept = [index for index in range(len(columns)) if index not in dropped]
    return [columns[index] for index in kept], [[row[index] for index in kept] for row in rows]


def cost(made: Fitted) -> int:
    return sum(estimate(line) + 1 for line in (made.header, *made.lines))


def listing(names: Iterable[str]) -> str:
    """Format names for a note: the first MAX_NAMES, shortened."""
    every = list(names)
    few = ", ".join(head(name.strip('"'), SHORT_CELL) or "(no name)" for name in every[:NAMED])
    return f"{few} and {len(every) - NAMED} more" if len(every) > NAMED else few


def as_csv(columns: Row, rows: Sequence[Row], budget: int) -> tuple[str, list[str], bool]:
    """Fit a table as CSV; returns text, notes and whether anything was cut."""
    made = fitted(columns, rows, budget, Csv())
    return "\n".join([made.header, *made.lines]), made.notes, made.cut
