"""Cuts JSON values by structure: the result stays JSON and names what is left out."""

from __future__ import annotations

import bisect
import itertools
from typing import Any

import msgspec

from rightseat.documents.cut import fits, middle, share
from rightseat.documents.table import Row, fitted
from rightseat.types.tokens import estimate

DEPTH = 32
# With fewer tokens a value is only summarized.
LEAST = 8
TABLE_ROWS = 5
MAX_COLUMNS = 2000
FEW = 20
SPARSE = 8


def written(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def tabular(value: list[Any]) -> bool:
    """Whether a list is a table: objects, either many or flat."""
    if len(value) < 2 or not all(isinstance(row, dict) for row in value):
        return False
    columns = len(columns_of(value))
    # Rows that share few keys would make a sparse table, larger than the rows.
    if columns > MAX_COLUMNS or columns * len(value) > SPARSE * sum(map(len, value)):
        return False
    return len(value) >= TABLE_ROWS or not any(
        isinstance(cell, dict | list) for row in value for cell in row.values()
    )


def columns_of(rows: list[Any]) -> list[str]:
    """Return the keys of all rows in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def cells_of(value: dict[str, Any]) -> list[tuple[Any, ...]] | None:
    """Return the rows of an object that has one list per column, else None."""
    series = list(value.values())
    if len(series) < 2 or not all(isinstance(one, list) for one in series):
        return None
    lengths = {len(one) for one in series}
    if len(lengths) != 1 or min(lengths) < TABLE_ROWS:
        return None
    if any(isinstance(cell, dict | list) for one in series for cell in one):
        return None
    return list(zip(*series, strict=True))


class Arrays:
    """Writes rows as JSON arrays; cells are JSON texts."""

    def line(self, row: Row, /) -> str:
        return f"[{','.join(row)}]"

    def short(self, cell: str, tokens: int, /) -> str:
        return scanty(msgspec.json.decode(cell), tokens)

    def gap(self, rows: int, /) -> str:
        return written(f"… {rows} rows left out …")


class Shape:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def cut(self, value: Any, budget: int, depth: int = 0) -> str:
        whole = written(value)
        if fits(whole, budget):
            return whole
        if budget < LEAST or depth >= DEPTH or not isinstance(value, dict | list):
            self.say("Long or deeply nested values are shortened.")
            return scanty(value, budget)
        if isinstance(value, dict):
            return self.object(value, budget, depth)
        if tabular(value):
            return self.table(value, budget)
        return self.items(value, budget, depth)

    def object(self, value: dict[str, Any], budget: int, depth: int) -> str:
        names = list(value)
        costs = [estimate(written(name)) + 1 for name in names]
        # Each key reserves tokens for its value, else keys would use the whole budget.
        needed = list(itertools.accumulate(cost + LEAST // 2 for cost in costs))
        kept = max(bisect.bisect_right(needed, budget - LEAST), 1)
        left = len(names) - kept
        names, costs = names[:kept], costs[:kept]
        sizes = [estimate(written(value[name])) + 1 for name in names]
        parts = share(sizes, budget - sum(costs) - (LEAST if left else 2))
        pairs = [
            f"{written(name)}:{self.cut(value[name], part - 1, depth + 1)}"
            for name, part in zip(names, parts, strict=True)
        ]
        if left:
            self.say(f"An object has {left} more keys that are left out.")
            pairs.append(f'"…":{written(f"{left} keys left out")}')
        return f"{{{','.join(pairs)}}}"

    def table(self, value: list[dict[str, Any]], budget: int) -> str:
        names = columns_of(value)
        rows = [[written(row.get(name)) for name in names] for row in value]
        made = fitted([written(name) for name in names], rows, budget - LEAST, Arrays())
        for note in made.notes:
            self.say(note)
        text = f'{{"columns":{made.header},"rows":[{",".join(made.lines)}]}}'
        return text if fits(text, budget) else scanty(value, budget)

    def items(self, value: list[Any], budget: int, depth: int) -> str:
        if len(value) <= FEW and len(value) * LEAST * 2 <= budget:
            parts = share([estimate(written(item)) + 1 for item in value], budget - 2)
            return f"[{','.join(self.cut(i, p - 1, depth + 1) for i, p in zip(value, parts, strict=True))}]"
        room = budget - 2 * LEAST
        first: list[str] = []
        last: list[str] = []
        while len(first) + len(last) < len(value):
            side, item = (
                (first, value[len(first)])
                if len(first) <= 2 * len(last)
                else (last, value[len(value) - 1 - len(last)])
            )
            text = self.cut(item, max(budget // 4, LEAST), depth + 1)
            room -= estimate(text) + 1
            if room < 0:
                break
            side.append(text)
        left = len(value) - len(first) - len(last)
        self.say(f"{len(value) - left} of {len(value)} items of a list are shown.")
        return f"[{','.join([*first, written(f'… {left} items left out …'), *reversed(last)])}]"


def scanty(value: Any, budget: int) -> str:
    """Return the shortest JSON that says what the value was, within the budget where possible."""
    match value:
        case str():
            text = written(middle(value, budget - 1))
            # Escapes lengthen the text.
            return text if fits(text, budget) else written(middle(value, max(budget // 6, 1)))
        case dict():
            return written(f"{{… {len(value)} keys}}")
        case list():
            return written(f"[… {len(value)} items]")
        case _:
            return written(value)
