"""Reads comma-, semicolon- and tab-separated tables."""

from __future__ import annotations

import csv
import io

from rightseat.documents.cut import fits_budget
from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest
from rightseat.documents.table import fit_csv
from rightseat.documents.text import cut_text, decode_text

DELIMITERS = ",;\t|"
SAMPLE_LINES = 20


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
    shown, notes, cut = fit_csv(columns, body, request.budget)
    return request.make_document(shown, note, *notes, cut=cut)


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
