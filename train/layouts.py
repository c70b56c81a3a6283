"""How tools give their results: JSON flat, nested or in rows, tables, lines, plain words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from train.draw import Draw, to_camel_case

Row = dict[str, Any]
WRAPPER_KEYS = ("data", "result", "item", "response", "record", "output")
LIST_KEYS = ("items", "results", "data", "rows", "records", "entries")


def dump_compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def dump_spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def dump_indented(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def dump_json(draw: Draw, value: Any) -> str:
    return draw.one([dump_compact, dump_spaced, dump_spaced, dump_indented])(value)


def as_lines(draw: Draw, row: Row) -> str:
    return "\n".join(f"{key.replace('_', ' ')}: {value}" for key, value in row.items())


def as_words(draw: Draw, row: Row) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in row.items()) + "."


def as_json(draw: Draw, row: Row) -> str:
    return dump_json(draw, row)


def as_wrapped(draw: Draw, row: Row) -> str:
    key = draw.one(WRAPPER_KEYS)
    return dump_json(draw, draw.one([{key: row}, {"status": "ok", key: row}, {"success": True, key: row}]))


def as_nested(draw: Draw, row: Row) -> str:
    """Some of the values one storey deeper."""
    keys = list(row)
    deep = {key: row[key] for key in keys[len(keys) // 2 :]}
    flat = {key: row[key] for key in keys[: len(keys) // 2]}
    return dump_json(draw, {**flat, draw.one(["details", "info", "attributes", "values"]): deep})


def as_grouped(draw: Draw, row: Row) -> str:
    """Keys that begin alike share a storey: departure_time and departure_gate."""
    found: Row = {}
    for key, value in row.items():
        side, _, rest = key.partition("_")
        inner = found.setdefault(side, {}) if rest else found
        if not isinstance(inner, dict) or (rest or key) in inner:
            return dump_json(draw, row)
        inner[rest or key] = value
    return dump_json(draw, found)


def as_listed(draw: Draw, row: Row) -> str:
    return dump_json(draw, [row])


ROW_LAYOUTS: Sequence[Callable[[Draw, Row], str]] = (
    as_json,
    as_json,
    as_json,
    as_wrapped,
    as_nested,
    as_grouped,
    as_listed,
    as_lines,
    as_words,
)


def format_row(draw: Draw, row: Row) -> str:
    return draw.one(ROW_LAYOUTS)(draw, row)


def format_table(rows: Sequence[Row]) -> str:
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *([str(row[key]) for key in head] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_csv(rows: Sequence[Row]) -> str:
    head = list(rows[0])
    return "\n".join(",".join(line) for line in [head, *([str(row[key]) for key in head] for row in rows)])


def format_rows(draw: Draw, rows: list[Row]) -> str:
    if draw.chance(0.3):
        return format_table(rows)
    if draw.chance(0.15):
        return format_csv(rows)
    if draw.chance(0.6):
        return dump_json(draw, rows)
    key = draw.one(LIST_KEYS)
    return dump_json(draw, draw.one([{key: rows}, {"count": len(rows), key: rows}, {key: rows, "next": None}]))


def format_error(draw: Draw, message: str) -> str:
    code = draw.one([400, 403, 404, 409, 429, 500, 503])
    forms = [
        dump_json(draw, {"error": message}),
        dump_json(draw, {"error": {"code": code, "message": message}}),
        dump_json(draw, {"status": "error", "message": message}),
        dump_json(draw, {"ok": False, "reason": message}),
        f"Error: {message}",
        f"Error {code}: {message}",
        f"The call failed: {message}",
    ]
    return draw.one(forms)


def restyle_keys(draw: Draw, row: Row, camels: bool) -> Row:
    """In another order, and in another style of keys."""
    keys = draw.some(list(row), len(row))
    return {to_camel_case(key) if camels else key: row[key] for key in keys}
