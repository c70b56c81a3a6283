"""Reads JSON, JSON lines and near-JSON: verbatim where it fits, else cut by structure. What is cut stays JSON and names
what is left out."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import json
from typing import Any

import msgspec

from rightseat.documents.document import Document, ReadRequest, cut_middle, fits_budget, share_budget
from rightseat.documents.table import Row, RowStyle, add_rows, fit_csv, fit_table
from rightseat.documents.text import cut_text, decode_text
from rightseat.types.text import estimate_tokens

MAX_DEPTH = 32
# With fewer tokens a value is only summarized.
MIN_TOKENS = 8
MIN_TABLE_ROWS = 5
MAX_COLUMNS = 2000
FEW_ITEMS = 20
MAX_SPARSITY = 8


def encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def is_table(value: list[Any]) -> bool:
    """Whether a list is a table: objects, either many or flat."""
    if len(value) < 2 or not all(isinstance(row, dict) for row in value):
        return False
    columns = len(list_columns(value))
    # Rows that share few keys would make a sparse table, larger than the rows.
    if columns > MAX_COLUMNS or columns * len(value) > MAX_SPARSITY * sum(map(len, value)):
        return False
    return len(value) >= MIN_TABLE_ROWS or not any(
        isinstance(cell, dict | list) for row in value for cell in row.values()
    )


def list_columns(rows: list[Any]) -> list[str]:
    """Return the keys of all rows in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def columns_to_rows(value: dict[str, Any]) -> list[tuple[Any, ...]] | None:
    """Return the rows of an object that has one list per column, else None."""
    columns = list(value.values())
    if len(columns) < 2 or not all(isinstance(column, list) for column in columns):
        return None
    lengths = set(map(len, columns))
    nested = any(isinstance(cell, dict | list) for column in columns for cell in column)
    return None if len(lengths) > 1 or min(lengths) < MIN_TABLE_ROWS or nested else list(zip(*columns, strict=True))


class JsonArrayStyle(RowStyle):
    """Writes rows as JSON arrays; cells are JSON texts."""

    def format_row(self, row: Row) -> str:
        return f"[{','.join(row)}]"

    def shorten_cell(self, cell: str, tokens: int) -> str:
        return summarize_value(msgspec.json.decode(cell), tokens)

    def format_gap(self, rows: int) -> str:
        return encode_json(f"… {rows} rows left out …")


class JsonCutter:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.rows: tuple[int, int] | None = None
        """Rows of all tables: those shown and all."""

    def add_note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def cut(self, value: Any, budget: int, depth: int = 0) -> str:
        whole = encode_json(value)
        if fits_budget(whole, budget):
            return whole
        if budget < MIN_TOKENS or depth >= MAX_DEPTH or not isinstance(value, dict | list):
            self.add_note("Long or deeply nested values are shortened.")
            return summarize_value(value, budget)
        if isinstance(value, dict):
            return self.cut_object(value, budget, depth)
        if is_table(value):
            return self.cut_table(value, budget)
        return self.cut_list(value, budget, depth)

    def cut_object(self, value: dict[str, Any], budget: int, depth: int) -> str:
        names = list(value)
        costs = [estimate_tokens(encode_json(name)) + 1 for name in names]
        # Each key reserves tokens for its value, else keys would use the whole budget.
        needed = list(itertools.accumulate(cost + MIN_TOKENS // 2 for cost in costs))
        shown = max(bisect.bisect_right(needed, budget - MIN_TOKENS), 1)
        left = len(names) - shown
        names, costs = names[:shown], costs[:shown]
        sizes = [estimate_tokens(encode_json(value[name])) + 1 for name in names]
        parts = share_budget(sizes, budget - sum(costs) - (MIN_TOKENS if left else 2))
        pairs = [
            f"{encode_json(name)}:{self.cut(value[name], part - 1, depth + 1)}"
            for name, part in zip(names, parts, strict=True)
        ]
        if left:
            self.add_note(f"An object has {left} more keys that are left out.")
            pairs.append(f'"…":{encode_json(f"{left} keys left out")}')
        return f"{{{','.join(pairs)}}}"

    def cut_table(self, value: list[dict[str, Any]], budget: int, total: int | None = None) -> str:
        """Cut a table. `total`: the number of all rows, if `value` has only the first and the last ones."""
        names = list_columns(value)
        rows = [[encode_json(row.get(name)) for name in names] for row in value]
        table = fit_table([encode_json(name) for name in names], rows, budget - MIN_TOKENS, JsonArrayStyle(), total)
        for note in table.notes:
            self.add_note(note)
        self.rows = add_rows(self.rows, table.rows)
        text = f'{{"columns":{table.header},"rows":[{",".join(table.lines)}]}}'
        return text if fits_budget(text, budget) else summarize_value(value, budget)

    def cut_list(self, value: list[Any], budget: int, depth: int) -> str:
        if len(value) <= FEW_ITEMS and len(value) * MIN_TOKENS * 2 <= budget:
            parts = share_budget([estimate_tokens(encode_json(item)) + 1 for item in value], budget - 2)
            return f"[{','.join(self.cut(i, p - 1, depth + 1) for i, p in zip(value, parts, strict=True))}]"
        room = budget - 2 * MIN_TOKENS
        first: list[str] = []
        last: list[str] = []
        while len(first) + len(last) < len(value):
            from_top = len(first) <= 2 * len(last)
            side, item = (first, value[len(first)]) if from_top else (last, value[-1 - len(last)])
            text = self.cut(item, max(budget // 4, MIN_TOKENS), depth + 1)
            room -= estimate_tokens(text) + 1
            if room < 0:
                break
            side.append(text)
        left = len(value) - len(first) - len(last)
        self.add_note(f"{len(value) - left} of {len(value)} items of a list are shown.")
        return f"[{','.join([*first, encode_json(f'… {left} items left out …'), *reversed(last)])}]"


def summarize_value(value: Any, budget: int) -> str:
    """Return the shortest JSON that says what the value was, within the budget where possible."""
    if isinstance(value, str):
        text = encode_json(cut_middle(value, budget - 1))
        # Escapes lengthen the text.
        return text if fits_budget(text, budget) else encode_json(cut_middle(value, max(budget // 6, 1)))
    if isinstance(value, dict):
        return encode_json(f"{{… {len(value)} keys}}")
    return encode_json(f"[… {len(value)} items]" if isinstance(value, list) else value)


class InvalidJson(Exception):
    pass


def read_json(data: bytes, request: ReadRequest) -> Document:
    text, note = decode_text(data, request.charset)
    text = text.strip()
    try:
        return fit_json(text, parse_json(text), request, note)
    except RecursionError:
        return cut_text(text, request, note, "It is nested too deeply to be read as JSON.")
    except (InvalidJson, UnicodeEncodeError):
        return cut_text(text, request, note, "It is not well-formed JSON.")


def fit_json(text: str, value: Any, request: ReadRequest, note: str) -> Document:
    whole = encode_json(value)
    if isinstance(value, str):
        return cut_text(value, request, note)
    for exact in (text, whole):
        # Double-encoded JSON is shown decoded.
        if exact[0] != '"' and fits_budget(exact, request.budget):
            return request.make_document(exact, note)
    if (table := to_table(value)) is not None:
        fitted = fit_csv(*table, request.budget)
        return request.make_document(fitted.text, note, *fitted.notes, cut=fitted.cut, rows=fitted.rows)
    shape = JsonCutter()
    shown = shape.cut(value, request.budget)
    return request.make_document(shown, note, *shape.notes, cut=True, rows=shape.rows)


def parse_json(text: str) -> Any:
    """Parse JSON; a string that holds JSON is decoded once more, because some clients encode twice."""
    value = parse_loosely(text)
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(InvalidJson):
            return parse_loosely(value)
    return value


def parse_loosely(text: str) -> Any:
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(text)
    with contextlib.suppress(ValueError):
        return parse_value(text)
    try:
        values = [parse_value(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        raise InvalidJson from None
    if len(values) < 2 or not all(isinstance(value, dict | list) for value in values):
        raise InvalidJson
    return values


def parse_value(text: str) -> Any:
    # Python and many servers write NaN and Infinity.
    return json.loads(text, parse_constant=lambda _: None)


def to_table(value: Any) -> tuple[list[str], list[list[str]]] | None:
    """Return columns and rows of a list of objects or an object of equally long lists, else None."""
    if isinstance(value, list) and is_table(value):
        columns = list_columns(value)
        return columns, [[format_cell(row.get(name)) for name in columns] for row in value]
    if isinstance(value, dict) and (series := columns_to_rows(value)) is not None:
        return list(value), [[format_cell(cell) for cell in row] for row in series]
    return None


def format_cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else encode_json(value)
