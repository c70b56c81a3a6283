"""Reads JSON, JSON lines and near-JSON: verbatim where it fits, else cut by structure."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rightseat.documents.cut import fits
from rightseat.documents.document import Document, Reading
from rightseat.documents.shape import Shape, cells_of, columns_of, tabular, written
from rightseat.documents.table import as_csv
from rightseat.documents.text import cut_text, decoded


class NotJson(Exception):
    pass


def read_json(data: bytes, reading: Reading) -> Document:
    text, note = decoded(data, reading.charset)
    text = text.strip()
    try:
        return shaped(text, parsed(text), reading, note)
    except RecursionError:
        return cut_text(text, reading, note, "It is nested too deeply to be read as JSON.")
    except (NotJson, UnicodeEncodeError):
        return cut_text(text, reading, note, "It is not well-formed JSON.")


def shaped(text: str, value: Any, reading: Reading, note: str) -> Document:
    whole = written(value)
    if isinstance(value, str):
        return cut_text(value, reading, note)
    for exact in (text, whole):
        # Double-encoded JSON is shown decoded.
        if exact[0] != '"' and fits(exact, reading.budget):
            return reading.made(exact, note)
    if (table := rows_of(value)) is not None:
        shown, notes, cut = as_csv(*table, reading.budget)
        return reading.made(shown, note, *notes, cut=cut)
    shape = Shape()
    shown = shape.cut(value, reading.budget)
    return reading.made(shown, note, *shape.notes, cut=True)


def parsed(text: str) -> Any:
    """Parse JSON; a string that holds JSON is decoded once more, because some clients encode twice."""
    value = loose(text)
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return loose(value)
        except NotJson:
            return value
    return value


def loose(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    # Python and many servers write NaN and Infinity.
    for attempt in (one_value, lines):
        try:
            return attempt(text)
        except ValueError:
            continue
    raise NotJson


def one_value(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None)


def lines(text: str) -> Any:
    found = [one_value(line) for line in text.split("\n") if line.strip()]
    if len(found) < 2 or not all(isinstance(value, dict | list) for value in found):
        raise ValueError
    return found


def rows_of(value: Any) -> tuple[list[str], list[list[str]]] | None:
    """Return columns and rows of a list of objects or an object of equally long lists, else None."""
    if isinstance(value, list) and tabular(value):
        columns = columns_of(value)
        return columns, [[cell_text(row.get(name)) for name in columns] for row in value]
    if isinstance(value, dict) and (series := cells_of(value)) is not None:
        return list(value), [[cell_text(cell) for cell in row] for row in series]
    return None


def cell_text(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return written(value)
