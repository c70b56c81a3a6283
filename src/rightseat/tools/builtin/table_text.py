"""Tables in texts: Markdown, CSV, TSV, aligned columns, `name: value` lines and JSON rows, with typed columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.tools.builtin.dates import split_date

MAX_TEXT = 200_000
MAX_CELLS = 50_000
MAX_COLUMNS = 100
MAX_CELL_LENGTH = 80
MAX_NUMBER_LENGTH = 60
MAX_PAIR_NAME = 51
MAX_PAIR_VALUE = 30
BLANK_CELLS = frozenset(("", "-", "--", "–", "—", "n/a", "na", "null", "none", "nan", "?"))
_RULE_CELL = re.compile(r":?-{2,}:?")
_LINE_RULE = re.compile(r"[-=+_|:\s]{3,}")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_NUMBER = re.compile(
    r"(?P<open>\()?(?P<sign>[-+−]?)\s*+(?P<before>(?:US|HK|NT|R|A|C)?[$€£¥￥₹]|CHF|EUR|USD|GBP|RMB)?\s*+(?P<sign2>[-−]?)"
    r"(?P<digits>\d{1,3}(?:[,\u202f\u00a0 ']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|"
    r"\.\d+)\s*+(?P<unit>[^\W\d_][^\d,;|]{0,11}|[%‰°€£¥$][CF]?)?"
    r"(?P<close>\))?"
)
_DECIMAL_COMMA = re.compile(r"[-+−]?\d{1,3}(?:\.\d{3})+,\d+|[-+−]?\d+,\d{1,2}")
_SLASH_DATE = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})")

# 3月 and 5th are days and months, not amounts.
CALENDAR_UNITS = frozenset(("月", "月份", "日", "号", "年", "季度", "点", "st", "nd", "rd", "th", "am", "pm"))

SCALES = {
    "k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "bn": 9, "b": 9, "billion": 9, "trillion": 12,
    "万": 4, "亿": 8, "百万": 6, "十亿": 9,
}  # fmt: skip
"""Powers of ten by the words that scale a number."""
Cell = str | int | float | None


class TableUnreadable(ValueError):
    """The text holds no table. The message says what is accepted."""


class TextTable(Struct, frozen=True):
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    rest: str = ""
    """The text around the table."""


class TypedColumn(Struct, frozen=True):
    name: str
    kind: str
    """`INTEGER`, `REAL`, `DATE` or `TEXT`."""
    cells: tuple[Cell, ...]
    unit: str = ""

    @property
    def is_number(self) -> bool:
        return self.kind in ("INTEGER", "REAL")


def read_table(text: str) -> TextTable:
    """Return the table of a text; raises TableUnreadable if there is none."""
    if len(text) > MAX_TEXT:
        raise TableUnreadable(f"The table is longer than {MAX_TEXT} characters. Send a part of it.")
    table = read_quoted(text) or find_table(text, whole=True)
    if table is None:
        raise TableUnreadable("There is no table in the text. Send Markdown, CSV, TSV or a JSON list of objects.")
    return table


def check_size(columns: int, rows: int) -> None:
    """Refuse a table that is too large, before its cells are made; raises TableUnreadable."""
    if columns > MAX_COLUMNS or columns * rows > MAX_CELLS:
        raise TableUnreadable(f"The table has more than {MAX_COLUMNS} columns or {MAX_CELLS} cells. Send a part of it.")


def read_quoted(text: str) -> TextTable | None:
    """Return the table of a text that is CSV with quotes, whose cells may have line breaks; else None."""
    if '"' not in text or text.lstrip()[:1] in ("[", "{", "|"):
        return None
    for delimiter in (",", ";", "\t"):
        try:
            rows = [row for row in csv.reader(io.StringIO(text.strip()), delimiter=delimiter, strict=True) if row]
        except csv.Error:
            continue
        if len(rows) > 1 and all(len(row) == len(rows[0]) > 1 for row in rows):
            check_size(len(rows[0]), len(rows) - 1)
            body = tuple(tuple(cell.strip() for cell in row) for row in rows[1:])
            return TextTable(name_columns(rows[0]), body)
    return None


def find_table(text: str, *, whole: bool = False) -> TextTable | None:
    """Return the first table in a text; None if there is none. `whole`: the text is said to be a table, so less proof
    is needed. Raises TableUnreadable if the table is too large, and if a row of a whole one is odd."""
    if len(text) > MAX_TEXT:
        return None
    if (table := find_json_rows(text)) is not None:
        return table
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip() or not whole]
    for splitter in (split_pipes, split_tabs, split_semicolons, split_commas, split_spaces, split_pair):
        strict = not whole and splitter not in (split_pipes, split_tabs)
        if (table := find_block(lines, splitter, strict=strict, whole=whole)) is not None:
            return table
    return None


def split_pipes(line: str) -> list[str] | None:
    if "|" not in line or is_rule(line):
        return None
    return [cell.strip().strip("*`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def is_rule(line: str) -> bool:
    """Whether a line is the rule below the header of a Markdown table."""
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return all(_RULE_CELL.fullmatch(cell.strip()) for cell in cells)


def split_tabs(line: str) -> list[str] | None:
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else None


def split_commas(line: str) -> list[str] | None:
    return split_delimited(line, ",")


def split_semicolons(line: str) -> list[str] | None:
    return split_delimited(line, ";")


def split_delimited(line: str, delimiter: str) -> list[str] | None:
    if delimiter not in line:
        return None
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return None


def split_spaces(line: str) -> list[str] | None:
    cells = re.split(r"\s{2,}", line.strip())
    return cells if len(cells) > 1 else None


def split_pair(line: str) -> list[str] | None:
    parts = [part.strip() for part in re.split(r"[:：]", _BULLET.sub("", line), maxsplit=2)]
    if len(parts) != 2 or not 0 < len(parts[0]) <= MAX_PAIR_NAME or not 0 < len(parts[1]) <= MAX_PAIR_VALUE:
        return None
    return None if parts[0][0].isdecimal() else [part.strip("* ") for part in parts]


def find_block(
    lines: Sequence[str], split: Callable[[str], list[str] | None], *, strict: bool, whole: bool
) -> TextTable | None:
    """Return the table of the first run of lines that split into the same number of cells."""
    is_pair = split is split_pair
    for start, end, rows in iter_blocks(lines, split):
        header, body = (["item", "value"], rows) if is_pair else (rows[0], rows[1:])
        if not body or len(header) < 2 or (is_pair and len(body) < 2):
            continue
        if strict and not looks_like_table(header, body, is_pair):
            continue
        neighbours = [*lines[max(start - 1, 0) : start], *lines[end : end + 1]]
        if odd := next((line for line in neighbours if is_odd_row(split(line))), None):
            # A row of another length would be left out of every sum.
            if not whole:
                continue
            raise TableUnreadable(f"The row {odd.strip()[:60]!r} has not {len(header)} cells. Write all rows alike.")
        rest = "\n".join((*lines[:start], *lines[end:])).strip()
        return TextTable(name_columns(header), tuple(map(tuple, body)), rest)
    return None


def is_odd_row(cells: list[str] | None) -> bool:
    """Whether a line beside the table is a row too: several short cells, one of them a number."""
    return cells is not None and len(cells) > 1 and any(read_number(cell) is not None for cell in cells)


def iter_blocks(
    lines: Sequence[str], split: Callable[[str], list[str] | None]
) -> Iterator[tuple[int, int, list[list[str]]]]:
    """Yield start, end and cells of each run of two or more lines with the same number of cells."""
    rows: list[list[str]] = []
    start = 0
    for number, line in enumerate([*lines, ""]):
        if rows and _LINE_RULE.fullmatch(line.strip()):
            continue
        cells = split(line)
        if cells is not None and rows and len(cells) != len(rows[0]) <= MAX_COLUMNS and split is split_pipes:
            cells = (cells + [""] * len(rows[0]))[: len(rows[0])]
        if cells is not None and (not rows or len(cells) == len(rows[0])):
            start = start if rows else number
            if rows:
                check_size(len(rows[0]), len(rows))
            rows.append(cells)
            continue
        if len(rows) > 1:
            yield start, number, rows
        rows = [cells] if cells is not None else []
        start = number


def looks_like_table(header: Sequence[str], body: Sequence[Sequence[str]], is_pair: bool) -> bool:
    """Whether short cells and a column of numbers or dates make it a table and no prose."""
    if max(len(cell) for row in (header, *body) for cell in row) > MAX_CELL_LENGTH or len(body) < 2:
        return False
    if not is_pair and any(read_number(cell) is not None for cell in header[:1]):
        return False
    return any(infer_column("", [row[at] for row in body]).kind != "TEXT" for at in range(len(header)))


def name_columns(header: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns: unnamed ones are numbered, and so are repeated ones."""
    names: dict[str, str] = {}
    repeats: Counter[str] = Counter()
    for number, cell in enumerate(header, 1):
        name = base = " ".join(cell.split()) or f"column{number}"
        while name.lower() in names:
            repeats[base.lower()] += 1
            name = f"{base}_{repeats[base.lower()] + 1}"
        names[name.lower()] = name
    return tuple(names.values())


def find_json_rows(text: str) -> TextTable | None:
    """Return the table of a JSON list of objects or of lists in a text."""
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start:
        return None
    try:
        rows: Any = msgspec.json.decode(text[start : end + 1])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if not isinstance(rows, list) or not rows:
        return None
    rest = f"{text[:start]}\n{text[end + 1 :]}".strip()
    if all(isinstance(row, dict) for row in rows):
        keys = list(dict.fromkeys(str(key) for row in rows for key in row))
        check_size(len(keys), len(rows))
        cells = tuple(tuple(format_cell(row.get(key)) for key in keys) for row in rows)
        return TextTable(name_columns(keys), cells, rest) if keys else None
    if len(rows) > 1 and all(isinstance(row, list) and len(row) == len(rows[0]) > 1 for row in rows):
        check_size(len(rows[0]), len(rows) - 1)
        body = tuple(tuple(map(format_cell, row)) for row in rows[1:])
        return TextTable(name_columns(list(map(format_cell, rows[0]))), body, rest)
    return None


def format_cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read_number(cell: str) -> tuple[float | int, str] | None:
    """Return number and unit of a cell such as `1,200`, `$3.50`, `$1.2B`, `17%`, `21 °C`, `(40)`; None if it is none.
    Only an amount of money is scaled: elsewhere `M` may be metres, months or millions."""
    cell = cell.strip()
    match = _NUMBER.fullmatch(cell) if len(cell) <= MAX_NUMBER_LENGTH else None
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    digits = re.sub(r"[,\u202f\u00a0 ']", "", match["digits"])
    number: float | int = float(digits) if "." in digits else int(digits[:18])
    if len(digits) > 18 and "." not in digits:
        number = float(digits)
    if match["before"] and (scale := SCALES.get((match["unit"] or "").strip().lower())):
        scaled = Decimal(digits).scaleb(scale)
        number = int(scaled) if scaled == scaled.to_integral_value() else float(scaled)
    negative = match["open"] or match["sign"] in ("-", "−") or match["sign2"]
    return -number if negative else number, (match["before"] or match["unit"] or "").strip()


def infer_column(name: str, cells: Sequence[str]) -> TypedColumn:
    """Return a column with its type: numbers if every cell is one in the same unit, dates if every cell is one."""
    written = cells
    filled = [cell for cell in cells if cell.strip().lower() not in BLANK_CELLS]
    if filled and all(_DECIMAL_COMMA.fullmatch(cell.strip()) for cell in filled):
        cells = [cell.replace(".", "").replace(",", ".") for cell in cells]
        filled = [cell for cell in cells if cell.strip().lower() not in BLANK_CELLS]
    numbers = [read_number(cell) for cell in filled]
    units = {number[1].lower() for number in numbers if number} - {""}
    # 007 is a code and no number.
    has_codes = any(re.fullmatch(r"0\d+", cell.strip()) for cell in filled)
    if filled and None not in numbers and len(units) < 2 and not has_codes and not units & CALENDAR_UNITS:
        values = tuple(None if cell.strip().lower() in BLANK_CELLS else read_number(cell) for cell in cells)
        kind = "REAL" if any(value and isinstance(value[0], float) for value in values) else "INTEGER"
        unit = next((number[1] for number in numbers if number and number[1]), "")
        return TypedColumn(name, kind, tuple(value and value[0] for value in values), unit)
    days = read_dates(filled)
    if filled and days is not None:
        iso = dict(zip(filled, days, strict=True))
        return TypedColumn(name, "DATE", tuple(iso.get(cell) for cell in cells))
    return TypedColumn(name, "TEXT", tuple(None if cell == "" else cell for cell in written))


def read_dates(cells: Sequence[str]) -> list[str] | None:
    """Return ISO dates of cells that are all dates with a year; None if one is not or the order of day and month is
    not known."""
    if any(len(cell) > MAX_CELL_LENGTH for cell in cells):
        return None
    slashes = [_SLASH_DATE.fullmatch(cell.strip()) for cell in cells]
    if cells and all(slashes):
        parts = [(int(match[1]), int(match[2]), int(match[3])) for match in slashes if match]
        day_first, month_first = any(one > 12 for one, _, _ in parts), any(two > 12 for _, two, _ in parts)
        if day_first == month_first:
            return None
        return [f"{y:04}-{two:02}-{one:02}" if day_first else f"{y:04}-{one:02}-{two:02}" for one, two, y in parts]
    days = [split_date(cell.strip()) for cell in cells]
    if any(day is None or not day[0] for day in days):
        return None
    return [f"{day[0]:04}-{day[1]:02}-{day[2]:02}" for day in days if day]


def infer_columns(table: TextTable) -> list[TypedColumn]:
    return [infer_column(name, [row[at] for row in table.rows]) for at, name in enumerate(table.columns)]
