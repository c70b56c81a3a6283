"""Edit rightseat.toml as text: a table of [models] is written, everything else stays as it is, comments too."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rightseat.config.load import load_config
from rightseat.errors import ConfigError

_HEADER = re.compile(r"^[ \t]*\[(\[?)([^\[\]#]+)\]\]?[ \t]*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.|$)""")
TomlValue = str | bool | int | float | Iterable[str]


def format_table(name: tuple[str, ...], values: Mapping[str, TomlValue]) -> str:
    """Return a table as TOML, with a newline at its end."""
    header = ".".join(map(_format_key, name))
    return f"[{header}]\n" + "".join(f"{_format_key(key)} = {_format_value(value)}\n" for key, value in values.items())


def _format_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _format_value(key)


def _format_value(value: TomlValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # JSON's escapes are TOML's, except for DEL, which TOML wants escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return str(value)
        case _:
            return f"[{', '.join(map(_format_value, value))}]"


def replace_table(text: str, name: tuple[str, ...], values: Mapping[str, TomlValue]) -> str:
    """Return the text with a table that has these values. The lines of a table of that name become comments below the
    new ones. Raises ConfigError where the text writes the table in a form that cannot be edited line by line."""
    before = tomllib.loads(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    table = format_table(name, values)
    lines = text.replace("\r\n", "\n").split("\n")
    ranges = list(_find_ranges(lines, name))
    if ranges:
        edited = _replace_ranges(lines, ranges, table)
    else:
        body = "\n".join(lines).rstrip("\n")
        edited = f"{body}\n\n{table}" if body else table
    _check_edit(before, edited, name, values)
    return edited.replace("\n", newline)


def _find_ranges(lines: list[str], name: tuple[str, ...]) -> Iterable[tuple[int, int]]:
    """Yield first and last line of the table and of the tables inside it."""
    headers = [(number, _parse_header(line)) for number, line in enumerate(lines)]
    starts = [(number, key) for number, key in headers if key is not None]
    for index, (start, key) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(lines)
        if key[: len(name)] == name:
            yield start, end


def _parse_header(line: str) -> tuple[str, ...] | None:
    """Return the key of a table's header; None for any other line."""
    match = _HEADER.match(line)
    if match is None:
        return None
    parts, rest = [], match[2].strip()
    while rest:
        part = _KEY.match(rest)
        if part is None:
            return None
        parts.append(next(group for group in part.groups()[:3] if group is not None))
        rest = rest[part.end() :]
    return tuple(parts)


def _replace_ranges(lines: list[str], ranges: list[tuple[int, int]], table: str) -> str:
    """Return the lines with the table in place of the first range, and what was there as comments."""
    result = lines[: ranges[0][0]]
    position = ranges[0][0]
    for number, (start, end) in enumerate(ranges):
        result += lines[position:start]
        body = lines[start + 1 : end] if number == 0 else lines[start:end]
        result += table.rstrip("\n").split("\n") if number == 0 else []
        result += _comment_out(body)
        position = end
    return "\n".join(result + lines[position:])


def _comment_out(lines: list[str]) -> list[str]:
    """Return the lines with each statement as a comment. Comments that stand before the next table stay below it."""
    return [line if not line.strip() or line.lstrip().startswith("#") else f"# {line}" for line in lines]


def _check_edit(before: dict[str, Any], edited: str, name: tuple[str, ...], values: Mapping[str, TomlValue]) -> None:
    """Raise ConfigError unless the edit changes this one table and nothing else."""
    try:
        after = tomllib.loads(edited)
    except tomllib.TOMLDecodeError:
        after = {}
    plain = (str, bool, int, float)
    expected = {key: value if isinstance(value, plain) else list(value) for key, value in values.items()}
    if _take_table(after, name) != expected or _without_table(after, name) != _without_table(before, name):
        raise ConfigError(
            f"[{'.'.join(name)}] is written in a form that is not edited here. Change it by hand to:\n"
            + format_table(name, values)
        )


def _take_table(raw: dict[str, Any], name: tuple[str, ...]) -> Any:
    table: Any = raw
    for part in name:
        table = table.get(part) if isinstance(table, dict) else None
    return table


def _without_table(raw: dict[str, Any], name: tuple[str, ...]) -> dict[str, Any]:
    """Return the values without one table; a table that held nothing else is left out too."""
    first, *rest = name
    inner = raw.get(first)
    others = {key: value for key, value in raw.items() if key != first}
    if not rest or not isinstance(inner, dict):
        return others
    remaining = _without_table(inner, tuple(rest))
    return {**others, first: remaining} if remaining else others


class ConfigEdit:
    """A file and its new text. `apply` replaces the file at once; `undo` brings back what was there."""

    def __init__(self, path: Path, text: str) -> None:
        # A link, as in a mounted volume, stays one.
        self.path = path.resolve()
        self.text = text
        self.before = self.path.read_bytes() if self.path.exists() else None

    def apply(self) -> None:
        """Check the new text as the server reads it, then replace the file. Raises ConfigError and changes nothing."""
        self._replace(self.text.encode(), check=True)

    def undo(self) -> None:
        if self.before is None:
            self.path.unlink(missing_ok=True)
        else:
            self._replace(self.before, check=False)

    def _replace(self, data: bytes, *, check: bool) -> None:
        draft = ""
        try:
            # In the same folder: paths in the file are relative to it.
            descriptor, draft = tempfile.mkstemp(".toml", ".rightseat-", self.path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).chmod(self.path.stat().st_mode & 0o777 if self.path.exists() else 0o644)
            if check:
                self._check(Path(draft))
            Path(draft).replace(self.path)
        except OSError as error:
            raise ConfigError(f"Cannot write {self.path}: {error.strerror}. Nothing was changed.") from None
        finally:
            if draft:
                Path(draft).unlink(missing_ok=True)

    def _check(self, draft: Path) -> None:
        try:
            load_config(draft, env={})
        except ConfigError as error:
            raise ConfigError(error.message.replace(str(draft), str(self.path))) from None
