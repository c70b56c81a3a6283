"""ConfigProblems: all problems of a file, each with line, key and a fix; and the check of a table against a Struct.

The line numbers of keys are found here: tomllib does not provide them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from rightseat.config.secret import Secret, resolve_reference
from rightseat.errors import ConfigError
from rightseat.types.text import closest_match

Key = tuple[str, ...]
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=")
_MULTILINE = re.compile(r"\"\"\"|'''")


def _split_dotted(dotted: str) -> Key:
    return tuple(name.strip("\"'") for name in re.findall(_NAME, dotted))


def array_key(name: str, number: int) -> str:
    """Return the key of an array's table by its index; the first has the array's own name."""
    return f"{name}[{number}]" if number else name


def find_key_lines(text: str) -> dict[Key, int]:
    lines: dict[Key, int] = {}
    arrays: dict[str, int] = {}
    table: Key = ()
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote:
            if match := _TABLE.match(line):
                first, *rest = _split_dotted(match[2])
                if match[1] == "[[" and not rest:
                    arrays[first] = arrays.get(first, -1) + 1
                table = (array_key(first, arrays.get(first, 0)), *rest)
                lines.setdefault(table, number)
            elif match := _ASSIGNMENT.match(line):
                lines.setdefault(table + _split_dotted(match[1]), number)
        for mark in _MULTILINE.findall(line):
            # The other kind of quotes inside an open string is text.
            quote = mark if not quote else ("" if mark == quote else quote)
    return lines


def find_line(lines: dict[Key, int], key: Key) -> int | None:
    """Return the line of a key, or of the first table in it ([assistants.NAME] for `assistants`), or of the nearest
    table around it (keys of inline tables have none)."""
    if key not in lines and (inner := [number for name, number in lines.items() if name[: len(key)] == key]):
        return min(inner)
    for length in range(len(key), 0, -1):
        if number := lines.get(key[:length]):
            return number
    return None


_TYPE_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "dict": "a table",
    "array": "a list",
    "list": "a list",
}


class ConfigProblems:
    def __init__(self, path: Path, lines: dict[Key, int]) -> None:
        self.path = path
        self.lines = lines
        self.items: list[tuple[int, str]] = []

    def add(self, key: Key, text: str) -> None:
        self.add_sentence(key, f"{'.'.join(key)}: {text}")

    def add_sentence(self, key: Key, text: str) -> None:
        """Add a problem whose text names the key itself."""
        line = find_line(self.lines, key) or 0
        place = f"{self.path}:{line}" if line else str(self.path)
        self.items.append((line, f"{place}: {text}"))

    def add_unknown_name(self, key: Key, text: str, name: str, known: Iterable[str], otherwise: str) -> None:
        """Add a problem with the name that was meant, or `otherwise` if none is close."""
        near = closest_match(name, known)
        self.add(key, f"{text} Did you mean {near}?" if near else f"{text} {otherwise}")

    def add_unknown_key(self, key: Key, known: Iterable[str]) -> None:
        self.add_unknown_name(key, "unknown key.", key[-1], known, f"Known here: {', '.join(known)}.")

    def check_target(self, key: Key, target: str) -> None:
        if not re.fullmatch(r"[\w.]+:[\w.]+", target):
            self.add(key, f"{target!r} is not of the form module:attribute.")

    def add_wrong_type(self, key: Key, expected: str, value: Any) -> None:
        # Never show the value: it may be a misplaced secret.
        kind = type(value).__name__
        self.add(key, f"expected {expected}, got {_TYPE_WORDS.get(kind, kind)}.")

    def add_invalid_value(self, key: Key, error: str) -> None:
        """Add msgspec's error, in the words of TOML."""
        text, _, place = error.partition(" - at ")
        text = re.sub(r"`([\w ]+?)(?: \| null)?`", lambda m: _TYPE_WORDS.get(m[1], m[0]), text)
        where = re.search(r"`\$?(.*)`", place)
        inside = f" (at {where[1]})" if where and where[1] else ""
        self.add(key, f"{text[:1].lower()}{text[1:]}{inside}.")

    def format_message(self) -> str:
        return "\n".join(text for _, text in sorted(self.items))


S = TypeVar("S", bound=Struct)


def check_named_tables(
    raw: dict[str, Any],
    name: str,
    check_table: Callable[[Any, Key, Path, ConfigProblems], S | None],
    folder: Path,
    problems: ConfigProblems,
) -> dict[str, S]:
    """Check the tables [name.NAME] and return the valid ones by NAME."""
    tables = raw.get(name, {})
    if not isinstance(tables, dict):
        problems.add_wrong_type((name,), f"tables such as [{name}.NAME]", tables)
        return {}
    checked = {
        table_name: check_table(table, (name, table_name), folder, problems) for table_name, table in tables.items()
    }
    return {table_name: settings for table_name, settings in checked.items() if settings is not None}


def check_struct(table: Any, kind: type[S], key: Key, problems: ConfigProblems) -> S | None:
    if not isinstance(table, dict):
        problems.add_wrong_type(key, "a table", table)
        return None
    before = len(problems.items)
    fields = {f.name: f for f in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name in fields:
            _check_value(value, fields[name].type, (*key, name), problems)
        else:
            problems.add_unknown_key((*key, name), fields)
    for name, field in fields.items():
        if field.required and name not in table:
            problems.add(key, f"{name} is missing.")
    return msgspec.convert(table, kind, dec_hook=_decode_secret) if len(problems.items) == before else None


def _check_value(value: Any, kind: Any, key: Key, problems: ConfigProblems) -> None:
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    inner = next((o for o in options if isinstance(o, type) and issubclass(o, Struct)), None)
    other_types = [option for option in options if option not in (inner, NoneType)]
    if inner is not None and (isinstance(value, dict) or not other_types):
        check_struct(value, inner, key, problems)
    elif get_origin(kind) is dict and isinstance(value, dict):
        for name, item in value.items():
            _check_value(item, get_args(kind)[1], (*key, name), problems)
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            problems.add_wrong_type(key, f"one of {', '.join(get_args(kind))}", value)
    else:
        try:
            msgspec.convert(value, kind, dec_hook=_decode_secret)
        except msgspec.ValidationError as error:
            problems.add_invalid_value(key, str(error))


def _decode_secret(kind: type, value: Any) -> Secret:
    if isinstance(value, str):
        return Secret(value)
    raise ValueError("Expected `str`, such as 'env:NAME'")


def resolve_secret(reference: str, key: Key, folder: Path, problems: ConfigProblems) -> Secret:
    try:
        return resolve_reference(reference, ".".join(key), folder=folder)
    except ConfigError as error:
        problems.add_sentence(key, error.message)
        return Secret("")
