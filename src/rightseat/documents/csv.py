"""Reads comma-, semicolon- and tab-separated tables."""

from __future__ import annotations

import csv
import io

from rightseat.documents.cut import fits
from rightseat.documents.document import Document, Reading, Unreadable
from rightseat.documents.table import as_csv
from rightseat.documents.text import cut_text, decoded

DELIMITERS = ",;\t|"
LOOKED_AT = 20


def read_csv(data: bytes, reading: Reading) -> Document:
    text, note = decoded(data, reading.charset)
    text = text.strip("\n")
    if fits(text, reading.budget):
        return reading.made(text, note)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter(text)))
    except csv.Error:
        return cut_text(text, reading, note, "It is not a well-formed table.")
    rows = [row for row in rows if any(row)]
    columns, *rest = even(rows, reading.limits.cells) or [[]]
    shown, notes, cut = as_csv(columns, rest, reading.budget)
    return reading.made(shown, note, *notes, cut=cut)


def delimiter(text: str) -> str:
    """Return the delimiter with the most regular count in the first lines."""
    lines = [line for line in text[:20_000].split("\n") if line.strip()][:LOOKED_AT]
    if not lines:
        return ","

    def regular(char: str) -> tuple[int, int]:
        counts = [line.count(char) for line in lines]
        return sum(count == counts[0] for count in counts) if counts[0] else 0, counts[0]

    return max(DELIMITERS, key=regular)


def even(rows: list[list[str]], cells: int) -> list[list[str]]:
    """Pad all rows to the length of the longest; raises for too many cells."""
    width = max(map(len, rows), default=0)
    if width * len(rows) > cells:
        raise Unreadable(f"has more than {cells} cells. Send a part of it.")
    return [row + [""] * (width - len(row)) for row in rows]
