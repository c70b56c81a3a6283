"""Read one YAML or JSON file of a plugin within limits, as plain values with line numbers. Runs nothing."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never

from rightseat.plugins import scalars
from rightseat.plugins.compose import MAX_DEPTH, MAX_NODES, MAX_REMARKS, Broken, Composed, compose
from rightseat.plugins.mending import cleaned, mending
from rightseat.plugins.place import Step, written
from rightseat.plugins.problem import Gravity, Problem

MAX_BYTES = 10 << 20
_SUFFIXES = (".yaml", ".yml", ".json")


class Unreadable(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Lines:
    """Line numbers of keys. For JSON they are computed on first use."""

    def __init__(self, text: str, composed: Composed | None = None) -> None:
        self.text = text
        self.composed = composed

    def of(self, path: Sequence[Step]) -> int:
        """Return the line of the path from 1, or of its nearest existing parent; 0 if unknown."""
        if self.composed is None:
            try:
                self.composed = compose(self.text)
            except Broken:
                self.composed = Composed()
        value, line = self.composed.value, 1 if self.composed.marks else 0
        for step in path:
            marks: Any = self.composed.marks.get(id(value))
            try:
                value, line = value[step], marks[step]
            except (KeyError, IndexError, TypeError):
                break
        return line


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    """Path within the plugin's folder, with slashes."""
    value: Any
    lines: Lines
    problems: tuple[Problem, ...] = ()

    def problem(self, path: Sequence[Step], what: str, fix: str, gravity: Gravity = "error") -> Problem:
        return Problem(self.name, written(path), what, fix, self.lines.of(path), gravity)


def read(folder: Path, name: str) -> Document:
    """Read the file inside the folder; raise UnreadableFile with the problem otherwise."""
    text = text_of(folder, name)
    if name.lower().endswith(".json"):
        return json_document(name, text)
    return yaml_document(name, text)


def found(folder: Path, stem: str) -> str | None:
    """Return the existing one of `STEM.yaml`, `STEM.yml` and `STEM.json`; None if there is none."""
    return next((stem + suffix for suffix in _SUFFIXES if (folder / (stem + suffix)).is_file()), None)


def text_of(folder: Path, name: str) -> str:
    data = data_of(folder, name)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            Problem(name, "", "It is not UTF-8 text.", f"Save it as UTF-8{looks(data)}.", line)
        ) from None


def looks(data: bytes) -> str:
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return "; if it is in GBK: iconv -f GB18030 -t UTF-8"


def data_of(folder: Path, name: str) -> bytes:
    path = inside(folder, name)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            refuse(name, "It is not a file.", "Put a plain file there.")
        if status.st_size > MAX_BYTES:
            refuse(
                name,
                f"It has {status.st_size / (1 << 20):.0f} MB; at most {MAX_BYTES >> 20} MB are read.",
                "Leave out what no assistant needs, or make several plugins of it.",
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        refuse(name, f"It cannot be read: {error.strerror}.", "See to its rights, or write it.")


def inside(folder: Path, name: str) -> Path:
    """Return the resolved path; raise UnreadableFile if a link or `..` leads out of the folder."""
    try:
        path, root = (folder / name).resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError):
        refuse(name, "Its path leads nowhere.", "Put a plain file there.")
    if not path.is_relative_to(root):
        refuse(name, "It lies outside the plugin's folder.", "Copy it into the folder; links do not help.")
    return path


def refuse(name: str, what: str, fix: str, line: int = 0) -> Never:
    raise Unreadable(Problem(name, "", what, fix, line))


def yaml_document(name: str, text: str) -> Document:
    text, soiled = cleaned(text)
    try:
        composed, mended = mending(text)
    except Broken as error:
        refuse(name, error.what, error.fix, error.line)
    problems = [*remarks(name, composed), *(escaped(name, line) for line in mended[:MAX_REMARKS])]
    if soiled:
        what = "It holds a character that no text has, mostly of a wrong encoding; it is left out."
        problems.append(Problem(name, "", what, "Write the character anew.", soiled, "warning"))
    return Document(name, composed.value, Lines("", composed), tuple(problems))


def escaped(name: str, line: int) -> Problem:
    return Problem(
        name,
        "",
        "In double quotes a backslash must be doubled; here it is read as it was meant.",
        "Write the text in single quotes.",
        line,
        "warning",
    )


def remarks(name: str, composed: Composed) -> Iterable[Problem]:
    for one in composed.remarks:
        yield Problem(name, written(one.path), one.what, one.fix, one.line, "warning")


def json_document(name: str, text: str) -> Document:
    """Parse JSON; text that is only valid YAML (a trailing comma, a comment) is parsed as YAML."""
    doubles: list[bool] = []

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            doubles.append(True)
        return made

    try:
        value = json.loads(
            text,
            object_pairs_hook=table,
            parse_int=scalars.integer,
            parse_float=scalars.number,
            parse_constant=str,
        )
    except RecursionError:
        refuse(name, f"It is nested deeper than {MAX_DEPTH} levels.", "Write it flatter.")
    except ValueError as error:
        return nearly_json(name, text, error)
    sound(name, text, value)
    if not doubles:
        return Document(name, value, Lines(text))
    try:
        composed = compose(text)
    except Broken:
        problem = Problem(name, "", "A key stands twice in one object.", "Delete one of them.", 0, "warning")
        return Document(name, value, Lines(text), (problem,))
    return Document(name, value, Lines("", composed), tuple(remarks(name, composed)))


def sound(name: str, text: str, value: Any) -> None:
    """Raise UnreadableFile for values that are too deep, too many, or hold lone surrogates."""
    level, row, count = 0, children([value]), 1
    while row:
        level += 1
        if level > MAX_DEPTH:
            refuse(name, f"It is nested deeper than {MAX_DEPTH} levels.", "Write it flatter.")
        count += sum(map(len, row))
        row = [child for item in row for child in children(item)]
    if count > MAX_NODES:
        refuse(name, f"It holds more than {MAX_NODES:,} values.", "Make several plugins of it.")
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            refuse(
                name, "It holds half a character (\\ud800 to \\udfff alone).", "Write the character itself."
            )


def children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [one for one in value.values() if one.__class__ in (dict, list)]
    return [one for one in value if one.__class__ in (dict, list)] if isinstance(value, list) else []


def nearly_json(name: str, text: str, error: ValueError) -> Document:
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
    said = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
    try:
        composed = compose(text)
    except Broken:
        composed = Composed()
    if not isinstance(composed.value, dict):
        refuse(name, f"It is no JSON: {said}.", "Check the line: quotes, commas, brackets.", line)
    problem = Problem(name, "", f"It is no JSON, but can be read: {said}.", "Mend the line.", line, "warning")
    return Document(name, composed.value, Lines("", composed), (problem, *remarks(name, composed)))
