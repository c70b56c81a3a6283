"""Reads JSON, JSON lines and near-JSON: verbatim where it fits, else cut by structure."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rightseat.documents.cut import fits_budget
from rightseat.documents.document import Document, ReadRequest
from rightseat.documents.shape import JsonCutter, columns_to_rows, encode_json, is_table, list_columns
from rightseat.documents.table import fit_csv
from rightseat.documents.text import cut_text, decode_text


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
        shown, notes, cut = fit_csv(*table, request.budget)
        return request.make_document(shown, note, *notes, cut=cut)
    shape = JsonCutter()
    shown = shape.cut(value, request.budget)
    return request.make_document(shown, note, *shape.notes, cut=True)


def parse_json(text: str) -> Any:
    """Parse JSON; a string that holds JSON is decoded once more, because some clients encode twice."""
    value = parse_loosely(text)
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_loosely(value)
        except InvalidJson:
            return value
    return value


def parse_loosely(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    # Python and many servers write NaN and Infinity.
    for attempt in (parse_value, parse_lines):
        try:
            return attempt(text)
        except ValueError:
            continue
    raise InvalidJson


def parse_value(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None)


def parse_lines(text: str) -> Any:
    values = [parse_value(line) for line in text.split("\n") if line.strip()]
    if len(values) < 2 or not all(isinstance(value, dict | list) for value in values):
        raise ValueError
    return values


def to_table(value: Any) -> tuple[list[str], list[list[str]]] | None:
    """Return columns and rows of a list of objects or an object of equally long lists, else None."""
    if isinstance(value, list) and is_table(value):
        columns = list_columns(value)
        return columns, [[format_cell(row.get(name)) for name in columns] for row in value]
    if isinstance(value, dict) and (series := columns_to_rows(value)) is not None:
        return list(value), [[format_cell(cell) for cell in row] for row in series]
    return None


def format_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return encode_json(value)
