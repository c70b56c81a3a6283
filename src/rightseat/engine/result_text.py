"""Results of tools as text for the model: JSON, cut where it does not fit the context window.

Of a large table only the rows that may fit are converted, the first and the last ones.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from rightseat.documents.document import cut_middle, fits_budget
from rightseat.documents.json import JsonCutter
from rightseat.types.json_rows import count_rows, slice_rows, to_json_rows
from rightseat.types.json_values import decode_encoded, encode_json, find_library, is_large, series_to_frame
from rightseat.types.text import estimate_tokens

DEFAULT_TOKENS = 64_000
"""The most tokens of a JSON result, where the model's context window is not known."""
LARGE_TABLE = 500
SAMPLE_ROWS = 20


class ResultText(Struct, frozen=True):
    """The text of a result. `is_cut`: a part of the result is left out."""

    text: str
    is_cut: bool = False
    rows: tuple[int, int] | None = None
    """The rows shown and all rows, where rows of a table are left out."""


async def make_result_text(content: Any, budget: int | None) -> ResultText:
    """Return the text of a tool's result within a budget of tokens. Raise NotJsonError if it has no JSON form."""
    if content is None or isinstance(content, str):
        whole = content or ""
        text = whole if budget is None else cut_middle(whole, budget)
        return ResultText(text, is_cut=text != whole)
    limit = DEFAULT_TOKENS if budget is None else budget
    # A large value is encoded in a thread, so that it does not delay other runs.
    return await asyncio.to_thread(fit_result, content, limit) if is_large(content) else fit_result(content, limit)


def fit_result(content: Any, budget: int) -> ResultText:
    """Return the JSON of a result, cut by its structure where it is longer than the budget."""
    table = find_table(content)
    if table is not None and (fitted := fit_large_table(table, budget)) is not None:
        return fitted
    encoded = encode_json(content)
    text = encoded.decode()
    if fits_budget(text, budget):
        return ResultText(text)
    value = decode_encoded(content, encoded)
    cutter = JsonCutter()
    shortened = cutter.cut(value, budget)
    return ResultText(add_notes(shortened, cutter), True, cutter.rows)


def find_table(content: Any) -> Any:
    """Return the content if it is a large data frame or a large list of objects, else None."""
    if find_library(content) == "pandas":
        content = series_to_frame(content)
    count = count_rows(content)
    if count is None or count <= LARGE_TABLE:
        return None
    return content if not isinstance(content, list) or isinstance(content[0], dict) else None


def fit_large_table(table: Any, budget: int) -> ResultText | None:
    """Return the first and last rows of a table that fit into the budget; None if all rows may fit, or if the table is
    not made of objects."""
    total = count_rows(table) or 0
    sample = to_json_rows(table, max_rows=SAMPLE_ROWS).rows
    if not all(isinstance(row, dict) for row in sample):
        return None
    tokens = sum(estimate_tokens(encode_json(list(row.values())).decode()) for row in sample)
    # Other rows may be shorter than those of the sample. The cutter keeps two first rows for each last one.
    last = budget * len(sample) // max(2 * tokens, 1) + SAMPLE_ROWS
    first = 2 * last + 1
    if first + last >= total:
        return None
    rows = to_json_rows(table, max_rows=first).rows
    rows += to_json_rows(slice_rows(table, total - last, total)).rows
    if not all(isinstance(row, dict) for row in rows):
        return None
    cutter = JsonCutter()
    text = cutter.cut_table(rows, budget, total)
    return ResultText(add_notes(text, cutter), True, cutter.rows)


def add_notes(text: str, cutter: JsonCutter) -> str:
    """Return the text with what the cutter left out."""
    return f"{text}\n\n[{' '.join(cutter.notes)}]" if cutter.notes else text
