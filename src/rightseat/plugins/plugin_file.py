"""Read one YAML or JSON file of a plugin within limits, as plain values with line numbers. Runs nothing."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never

from rightseat.plugins.plugin import Gravity, PathKey, Problem, format_path
from rightseat.plugins.yaml_reader import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_REMARKS,
    ComposedYaml,
    InvalidYaml,
    compose_with_repairs,
    compose_yaml,
    parse_float,
    parse_integer,
    replace_control_characters,
)

MAX_BYTES = 10 << 20


class UnreadableFile(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class LineIndex:
    """Line numbers of keys. For JSON they are computed on first use."""

    def __init__(self, text: str, composed: ComposedYaml | None = None) -> None:
        self.text = text
        self.composed = composed

    def find_line(self, path: Sequence[PathKey]) -> int:
        """Return the line of the path from 1, or of its nearest existing parent; 0 if unknown."""
        if self.composed is None:
            try:
                self.composed = compose_yaml(self.text)
            except InvalidYaml:
                self.composed = ComposedYaml()
        value, line = self.composed.value, 1 if self.composed.line_numbers else 0
        for step in path:
            marks: Any = self.composed.line_numbers.get(id(value))
            try:
                value, line = value[step], marks[step]
            except (KeyError, IndexError, TypeError):
                break
        return line


@dataclass(frozen=True, slots=True)
class PluginDocument:
    name: str
    """Path within the plugin's folder, with slashes."""
    value: Any
    line_index: LineIndex
    problems: tuple[Problem, ...] = ()

    def make_problem(self, path: Sequence[PathKey], what: str, fix: str, gravity: Gravity = "error") -> Problem:
        return Problem(self.name, format_path(path), what, fix, self.line_index.find_line(path), gravity)


def read_document(folder: Path, name: str) -> PluginDocument:
    """Read the file inside the folder; raise UnreadableFile with the problem otherwise."""
    text = read_text(folder, name)
    if name.lower().endswith(".json"):
        return parse_json_document(name, text)
    return parse_yaml_document(name, text)


def read_text(folder: Path, name: str) -> str:
    data = read_bytes(folder, name)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise_unreadable(name, "It is not UTF-8 text.", f"Save it as UTF-8{get_encoding_hint(data)}.", line)


def get_encoding_hint(data: bytes) -> str:
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return "; if it is in GBK: iconv -f GB18030 -t UTF-8"


def read_bytes(folder: Path, name: str) -> bytes:
    path = resolve_inside(folder, name)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise_unreadable(name, "It is not a file.", "Put a plain file there.")
        if status.st_size > MAX_BYTES:
            what = f"It has {status.st_size / (1 << 20):.0f} MB; at most {MAX_BYTES >> 20} MB are read."
            raise_unreadable(name, what, "Leave out what no assistant needs, or make several plugins of it.")
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        raise_unreadable(name, f"It cannot be read: {error.strerror}.", "See to its rights, or write it.")


def resolve_inside(folder: Path, name: str) -> Path:
    """Return the resolved path; raise UnreadableFile if a link or `..` leads out of the folder."""
    try:
        path, root = (folder / name).resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError):
        raise_unreadable(name, "Its path leads nowhere.", "Put a plain file there.")
    if not path.is_relative_to(root):
        raise_unreadable(name, "It lies outside the plugin's folder.", "Copy it into the folder; links do not help.")
    return path


def raise_unreadable(name: str, what: str, fix: str, line: int = 0) -> Never:
    raise UnreadableFile(Problem(name, "", what, fix, line))


def parse_yaml_document(name: str, text: str) -> PluginDocument:
    text, dirty_line = replace_control_characters(text)
    try:
        composed, repaired_lines = compose_with_repairs(text, name)
    except InvalidYaml as error:
        raise_unreadable(name, error.what, error.fix, error.line)
    problems = composed.remarks
    for line in repaired_lines[:MAX_REMARKS]:
        what = "In double quotes a backslash must be doubled; here it is read as it was meant."
        problems.append(Problem(name, "", what, "Write the text in single quotes.", line, "warning"))
    if dirty_line:
        what = "It holds a character that no text has, mostly of a wrong encoding; it is left out."
        problems.append(Problem(name, "", what, "Write the character anew.", dirty_line, "warning"))
    return PluginDocument(name, composed.value, LineIndex("", composed), tuple(problems))


def parse_json_document(name: str, text: str) -> PluginDocument:
    """Parse JSON; text that is only valid YAML (a trailing comma, a comment) is parsed as YAML."""
    has_duplicates = False

    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_duplicates
        fields = dict(pairs)
        has_duplicates = has_duplicates or len(fields) < len(pairs)
        return fields

    try:
        value = json.loads(
            text, object_pairs_hook=make_object, parse_int=parse_integer, parse_float=parse_float, parse_constant=str
        )
    except RecursionError:
        raise_unreadable(name, f"It is nested deeper than {MAX_DEPTH} levels.", "Write it flatter.")
    except ValueError as error:
        return parse_json_as_yaml(name, text, error)
    check_limits(name, text, value)
    if not has_duplicates:
        return PluginDocument(name, value, LineIndex(text))
    try:
        composed = compose_yaml(text, name)
    except InvalidYaml:
        problem = Problem(name, "", "A key stands twice in one object.", "Delete one of them.", 0, "warning")
        return PluginDocument(name, value, LineIndex(text), (problem,))
    return PluginDocument(name, value, LineIndex("", composed), tuple(composed.remarks))


def check_limits(name: str, text: str, value: Any) -> None:
    """Raise UnreadableFile for values that are too deep, too many, or hold lone surrogates."""
    level, row, count = 0, list_containers([value]), 1
    while row:
        level += 1
        if level > MAX_DEPTH:
            raise_unreadable(name, f"It is nested deeper than {MAX_DEPTH} levels.", "Write it flatter.")
        count += sum(map(len, row))
        row = [child for item in row for child in list_containers(item)]
    if count > MAX_NODES:
        raise_unreadable(name, f"It holds more than {MAX_NODES:,} values.", "Make several plugins of it.")
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            what = "It holds half a character (\\ud800 to \\udfff alone)."
            raise_unreadable(name, what, "Write the character itself.")


def list_containers(value: Any) -> list[Any]:
    return [one for one in (value.values() if isinstance(value, dict) else value) if one.__class__ in (dict, list)]


def parse_json_as_yaml(name: str, text: str, error: ValueError) -> PluginDocument:
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
    message = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
    try:
        composed = compose_yaml(text, name)
    except InvalidYaml:
        composed = ComposedYaml()
    if not isinstance(composed.value, dict):
        raise_unreadable(name, f"It is no JSON: {message}.", "Check the line: quotes, commas, brackets.", line)
    problem = Problem(name, "", f"It is no JSON, but can be read: {message}.", "Mend the line.", line, "warning")
    problems = (problem, *composed.remarks)
    return PluginDocument(name, composed.value, LineIndex("", composed), problems)
