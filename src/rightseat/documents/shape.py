"""Cuts JSON values by structure: the result stays JSON and names what is left out."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

import msgspec

from rightseat.documents.cut import cut_middle, fits_budget, share_budget
from rightseat.documents.table import Row, fit_table
from rightseat.types.tokens import estimate_tokens

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
    series = list(value.values())
    if len(series) < 2 or not all(isinstance(one, list) for one in series):
        return None
    lengths = {len(one) for one in series}
    if len(lengths) != 1 or min(lengths) < MIN_TABLE_ROWS:
        return None
    if any(isinstance(cell, dict | list) for one in series for cell in one):
        return None
    return list(zip(*series, strict=True))


class JsonArrayStyle:
    """Writes rows as JSON arrays; cells are JSON texts."""

    def format_row(self, row: Row, /) -> str:
        return f"[{','.join(row)}]"

    def shorten_cell(self, cell: str, tokens: int, /) -> str:
        return summarize_value(msgspec.json.decode(cell), tokens)

    def format_gap(self, rows: int, /) -> str:
        return encode_json(f"… {rows} rows left out …")


class JsonCutter:
    def __init__(self) -> None:
        self.notes: list[str] = []

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

    def cut_table(self, value: list[dict[str, Any]], budget: int) -> str:
        names = list_columns(value)
        rows = [[encode_json(row.get(name)) for name in names] for row in value]
        table = fit_table([encode_json(name) for name in names], rows, budget - MIN_TOKENS, JsonArrayStyle())
        for note in table.notes:
            self.add_note(note)
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
            side, item = (
                (first, value[len(first)])
                if len(first) <= 2 * len(last)
                else (last, value[len(value) - 1 - len(last)])
            )
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
    match value:
        case str():
            text = encode_json(cut_middle(value, budget - 1))
            # Escapes lengthen the text.
            return text if fits_budget(text, budget) else encode_json(cut_middle(value, max(budget // 6, 1)))
        case dict():
            return encode_json(f"{{… {len(value)} keys}}")
        case list():
            return encode_json(f"[… {len(value)} items]")
        case _:
            return encode_json(value)
