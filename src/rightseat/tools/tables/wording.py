"""Selection of a table's rows, and how its cells and numbers are written in an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from rightseat.tools.tables.ask import TableAsk
from rightseat.tools.tables.rows import RowColumn, RowTable, is_blank
from rightseat.tools.tables.select import Mention
from rightseat.tools.tables.words import Terms, find_terms, split_words
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence

MAX_LISTED = 12
MAX_SHOWN_COLUMNS = 8
MAX_SHOWN_CELL = 120
GROUPED_FROM = 10_000


class TableSource(Struct, frozen=True, kw_only=True):
    """Where a table comes from: a widget or data that the person added."""

    title: str
    description: str = ""
    arguments: dict[str, Any] = {}
    """Arguments of the widget that made the table."""
    parameter_words: str = ""
    """Names and options of the widget's parameters."""
    named: tuple[str, ...] = ()
    """Values of the arguments that an answer names."""

    @property
    def terms(self) -> Terms:
        return find_terms(f"{self.title} . {self.description}")

    def format(self, language: Language) -> str:
        title = f"“{self.title}”"
        return f"{title} ({', '.join(self.named)})" if self.named else title


class Selection(Struct, frozen=True, kw_only=True):
    """Rows of a table that a question is about."""

    ask: TableAsk
    table: RowTable
    source: TableSource
    language: Language
    rows: tuple[int, ...]
    time: RowColumn | None
    mentions: tuple[Mention, ...] = ()
    number_label: RowColumn | None = None
    has_time_filter: bool = False
    extras: tuple[RowColumn, ...] = ()
    """Further columns that the question asks for of the row that it picks."""

    @property
    def is_filtered(self) -> bool:
        return bool(self.mentions) or self.number_label is not None or self.has_time_filter

    def say(self, key: str, **values: object) -> str:
        """Return a sentence of the server about these rows, with their source."""
        return get_sentence(key, self.language, source=self.source.format(self.language), **values)

    def describe_row(self, row: int, *, without: Iterable[RowColumn] = ()) -> str:
        """Return what names a row: its label, its time, or both."""
        seen = {id(column) for column in without}
        parts: list[str] = []
        for column in (self.number_label, self.table.label, self.time):
            if column is None or id(column) in seen or is_blank(column.cells[row]):
                continue
            seen.add(id(column))
            cell = format_cell(column, row)
            parts.append(f"{column.name} {cell}" if column.is_number else cell)
        extras = (column for column in self.extras if id(column) not in seen and not is_blank(column.cells[row]))
        parts += [f"{column.name} {format_cell(column, row)}" for column in extras]
        return ", ".join(parts)

    def list_rows(self, rows: Sequence[int], columns: Sequence[RowColumn]) -> str:
        """Return a line for each of the first rows, and how many are left out."""
        lines = []
        for row in rows[:MAX_LISTED]:
            name = self.describe_row(row, without=columns)
            cells = ", ".join(
                f"{column.name} {format_cell(column, row)}" for column in columns if not is_blank(column.cells[row])
            )
            lines.append("- " + ": ".join(part for part in (name, cells) if part))
        if len(rows) > MAX_LISTED:
            lines.append(get_sentence("result_more", self.language, count=len(rows) - MAX_LISTED))
        return "\n".join(lines)


def format_cell(column: RowColumn, row: int) -> str:
    cell = column.cells[row]
    if is_blank(cell):
        return "–"
    if column.is_number and not isinstance(cell, str):
        number = column.numbers[row]
        return format_number(number, column) if number is not None else str(cell)
    return " ".join(str(cell).split())[:MAX_SHOWN_CELL]


def format_number(number: Decimal, column: RowColumn | None = None) -> str:
    """Return a number as the table has it, with separators from ten thousand on and the unit of its column."""
    plain = (
        number.normalize()
        if number == number.to_integral_value() and number.as_tuple().exponent not in (0,)
        else number
    )
    text = f"{plain:,f}" if abs(number) >= GROUPED_FROM and not is_label_like(column) else f"{plain:f}"
    if column is None:
        return text
    if column.unit:
        return (
            f"{column.unit}{text}"
            if column.unit[0] in "$€£¥￥₹"
            else f"{text}{column.unit if column.unit == '%' else f' {column.unit}'}"
        )
    return f"{text}%" if is_percent(column) else text


def is_percent(column: RowColumn) -> bool:
    return bool({"pct", "percent", "percentage"} & {*split_words(column.name)}) or column.name.rstrip(" )").endswith(
        "%"
    )


def is_label_like(column: RowColumn | None) -> bool:
    return column is not None and (column.is_id or "strike" in column.terms.concepts)


def format_result(number: Decimal, column: RowColumn | None = None) -> str:
    """Return a computed number, rounded where it has more digits than are of use."""
    digits = 2 if abs(number) >= 100 else 4
    rounded = round(number, digits)
    plain = rounded.normalize() if rounded == rounded.to_integral_value() else Decimal(f"{rounded:f}".rstrip("0"))
    return format_number(Decimal(f"{plain:f}"), column)


def format_percent(number: Decimal) -> str:
    return f"{round(number, 2):f}".rstrip("0").rstrip(".") + "%"
