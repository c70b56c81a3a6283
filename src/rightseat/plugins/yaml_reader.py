"""Compose YAML into plain values with line numbers, within limits, by the rules of YAML 1.2 as OpenAPI requires.

In YAML 1.1 `NO` is false, `2024-10-09` a date and `1:20` eighty; here each stays text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from rightseat.plugins.plugin import KeyPath, PathKey, Problem, format_path

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEX_OR_OCTAL = re.compile(r"0x[0-9a-fA-F]{1,15}|0o[0-7]{1,20}")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FIRST = frozenset("+-.0123456789")
_DIGITS = 18  # always fits 64 bits
MAX_NUMBER_LENGTH = 40


def parse_scalar(text: str) -> str | int | float | bool | None:
    if text in _NULLS:
        return None
    truth = _BOOLEANS.get(text)
    if truth is not None:
        return truth
    if text[0] not in _FIRST or len(text) > MAX_NUMBER_LENGTH:
        return text
    if _INTEGER.fullmatch(text):
        return parse_integer(text)
    if _HEX_OR_OCTAL.fullmatch(text):
        return int(text, 0)
    return parse_float(text) if _NUMBER.fullmatch(text) else text


def parse_integer(text: str) -> int | float | str:
    """Parse an integer; beyond 64 bits it becomes a float, because the JSON encoder cannot hold it."""
    return int(text) if len(text) <= _DIGITS else parse_float(text)


def parse_float(text: str) -> float | str:
    """Parse a float; text that overflows stays text."""
    value = float(text)
    return value if math.isfinite(value) else text


# Without libyaml, the pure Python loader gives the same events, slower.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(f"{_STANDARD}{name}" for name in ("int", "float", "bool", "null"))
_KNOWN_TAGS = _PLAIN_TAGS | {"!", *(f"{_STANDARD}{name}" for name in ("str", "map", "seq", "binary"))}
MAX_NODES = 500_000
MAX_DEPTH = 100
MAX_REMARKS = 50
SYNTAX_FIX = "Check the lines around it: indents, quotes, brackets."
FLATTEN_FIX = "Write it flatter, and without aliases."


class InvalidYaml(Exception):
    """The text is not readable YAML. `line` is from 1 (0: unknown); `escape` is the index of a bad escape."""

    def __init__(self, what: str, line: int = 0, fix: str = SYNTAX_FIX, *, escape: int | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.fix, self.escape = what, line, fix, escape
        self.has_tab = "tab character" in what


@dataclass(slots=True)
class OpenContainer:
    """A mapping or list whose end has not been read."""

    value: dict[str, Any] | list[Any]
    lines: dict[str, int] | list[int]
    anchor: str | None
    nodes_before: int
    start_line: int
    in_braces: bool = False
    """A flow mapping, in braces."""
    height: int = 1
    key: str | None = None
    key_line: int = 0
    """Line of the key whose value comes next."""


@dataclass(slots=True)
class AnchoredNode:
    value: Any
    size: int
    height: int


@dataclass(slots=True)
class ComposedYaml:
    value: Any = None
    line_numbers: dict[int, dict[str, int] | list[int]] = field(default_factory=dict)
    """Lines of keys or items by the id() of their container, which `value` keeps alive."""
    remarks: list[Problem] = field(default_factory=list)


class YamlComposer:
    def __init__(self, file: str) -> None:
        self.file = file
        self.result = ComposedYaml()
        self.stack: list[OpenContainer] = []
        self.anchors: dict[str, AnchoredNode] = {}
        self.nodes = 0

    def handle_event(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self.handle_scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self.open_container(event, {}, {})
        elif isinstance(event, yaml.SequenceStartEvent):
            self.open_container(event, [], [])
        elif isinstance(event, yaml.AliasEvent):
            self.handle_alias(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.close_container()

    def handle_scalar(self, event: Any) -> None:
        line = get_line(event)
        self.check_tag(event.tag, line)
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self.count_nodes(1, line)
            self.start_key(top, event.value, line)
            return
        plain = event.implicit[0] or event.tag in _PLAIN_TAGS
        if top is not None and top.in_braces and plain and not event.value:
            # As in `{description: One sentence, in English}`: two keys, the second without a value.
            what = "It has no value, so it may be the rest of a text that a comma has cut in two."
            self.add_remark(what, "Put the whole text in quotes.", top.key_line)
        value = parse_scalar(event.value) if plain else event.value
        if event.anchor:
            self.anchors[event.anchor] = AnchoredNode(value, 1, 0)
        self.add_value(value, line, 1)

    def start_key(self, top: OpenContainer, key: str, line: int) -> None:
        assert isinstance(top.lines, dict)
        if key in top.lines and key != "<<":
            what = f"It stands here twice: on line {top.lines[key]} and on line {line}. The last one counts."
            self.add_remark(what, "Delete one of them.", line, key)
        top.key, top.key_line = key, line

    def open_container(self, event: Any, value: dict[str, Any] | list[Any], lines: dict[str, int] | list[int]) -> None:
        line = get_line(event)
        self.check_tag(event.tag, line)
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            raise InvalidYaml("A key must be a word, and this one is a list or a mapping.", line)
        self.check_depth(1, line)
        in_braces = isinstance(value, dict) and bool(event.flow_style)
        self.stack.append(OpenContainer(value, lines, event.anchor, self.nodes, line, in_braces))

    def check_depth(self, height: int, line: int) -> None:
        if len(self.stack) + height > MAX_DEPTH:
            raise InvalidYaml(f"It is nested deeper than {MAX_DEPTH} levels.", line, FLATTEN_FIX)

    def close_container(self) -> None:
        frame = self.stack.pop()
        self.result.line_numbers[id(frame.value)] = frame.lines
        if frame.anchor:
            size = self.nodes - frame.nodes_before + 1
            self.anchors[frame.anchor] = AnchoredNode(frame.value, size, frame.height)
        self.add_value(frame.value, frame.start_line, 1, frame.height)

    def handle_alias(self, event: Any) -> None:
        line = get_line(event)
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            raise InvalidYaml(f"*{event.anchor} has no anchor, or refers to a value that contains it.", line)
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            self.count_nodes(1, line)
            self.start_key(self.stack[-1], str(anchored.value), line)
            return
        self.check_depth(anchored.height, line)
        self.add_value(anchored.value, line, anchored.size, anchored.height)

    def add_value(self, value: Any, line: int, size: int, height: int = 0) -> None:
        self.count_nodes(size, line)
        if not self.stack:
            self.result.value = value
            return
        top = self.stack[-1]
        top.height = max(top.height, height + 1)
        if isinstance(top.value, list) and isinstance(top.lines, list):
            top.value.append(value)
            top.lines.append(line)
        elif isinstance(top.value, dict) and isinstance(top.lines, dict):
            key, top.key = top.key or "", None
            if key == "<<":
                self.merge_keys(top.value, value, size, line)
            else:
                top.value[key] = value
                top.lines[key] = top.key_line

    def merge_keys(self, into: dict[str, Any], value: Any, size: int, line: int) -> None:
        """Apply `<<: *other`: add the other mapping's keys that are missing here."""
        self.count_nodes(size, line)
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                self.add_remark("takes the keys of something that has none.", "Write an alias of a mapping.", line)
                continue
            for key, item in one.items():
                into.setdefault(key, item)

    def count_nodes(self, size: int, line: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            what = f"The document has more than {MAX_NODES:,} values, with aliases expanded."
            raise InvalidYaml(what, line, FLATTEN_FIX)

    def check_tag(self, tag: str | None, line: int) -> None:
        if tag is not None and tag not in _KNOWN_TAGS:
            what = f"has the tag {tag[:60]}, which is passed over."
            self.add_remark(what, "Delete it: only plain values are read.", line)

    def add_remark(self, what: str, fix: str, line: int, key: str | None = None) -> None:
        if len(self.result.remarks) < MAX_REMARKS:
            path = self.get_path() if key is None else (*self.get_path(), key)
            self.result.remarks.append(Problem(self.file, format_path(path), what, fix, line, "warning"))

    def get_path(self) -> KeyPath:
        steps: list[PathKey] = []
        for frame in self.stack:
            if isinstance(frame.value, list):
                steps.append(len(frame.value))
            elif frame.key is not None:
                steps.append(frame.key)
        return tuple(steps)


def get_line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def compose_yaml(text: str, file: str = "") -> ComposedYaml:
    """Compose the first document of the text; raise InvalidYaml if it cannot be read."""
    composer = YamlComposer(file)
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    line = get_line(event)
                    composer.add_remark("begins a second document, which is passed over.", "Delete it.", line)
                    break
            composer.handle_event(event)
    except yaml.YAMLError as error:
        raise make_invalid_yaml(error) from None
    return composer.result


def make_invalid_yaml(error: yaml.YAMLError) -> InvalidYaml:
    mark = getattr(error, "problem_mark", None)
    message = str(getattr(error, "problem", None) or "")
    if mark is None:
        # A character that YAML does not allow.
        return InvalidYaml("It is no YAML: it holds a character that no text has, such as a control character.")
    escape = mark.index if "escape character" in message else None
    return InvalidYaml(f"It is no YAML: {message}.", mark.line + 1, escape=escape)


MAX_REPARSED = 16 << 20
"""Characters parsed in total: each repair parses the text from the start."""
_LONE_BACKSLASH = r"\\(?![0abtnvfreN_LPxuU\"/\\ \t\n\r])"
_ESCAPE = re.compile(_LONE_BACKSLASH + r'|\\.|"', re.DOTALL)
_PATTERN = re.compile(r'(?<=\bpattern:) +"(?:[^"\\\n]|\\.)*"')
_CONTROL = re.compile("[\x7f-\x84\x86-\x9f]")

# A blank line with tabs: libyaml reports a wrong indent.
_TABBED_BLANK_LINE = re.compile(r"^[ \t]*\t[ \t]*$", re.MULTILINE)


def replace_control_characters(text: str) -> tuple[str, int]:
    """Replace control characters (traces of a wrong encoding); return the text and the line of the first."""
    first = _CONTROL.search(text)
    if first is None:
        return text, 0
    return _CONTROL.sub("\ufffd", text), text.count("\n", 0, first.start()) + 1


def compose_with_repairs(text: str, file: str) -> tuple[ComposedYaml, list[int]]:
    """Compose YAML, doubling backslashes as in `"[\\d]"`; return the value and the repaired lines."""
    characters_read, lines = 0, set[int]()
    while True:
        characters_read += len(text)
        try:
            return compose_yaml(text, file), sorted(lines)
        except InvalidYaml as error:
            if error.has_tab and (spaced := _TABBED_BLANK_LINE.sub("", text)) != text:
                text = spaced
                continue
            if error.escape is None or characters_read > MAX_REPARSED:
                raise
            text = double_backslashes(text, error.escape)
            lines.add(error.line)
            if len(lines) == 1:
                # One pattern like this means that all of them are.
                text = repair_patterns(text, lines)


def double_backslashes(text: str, start: int) -> str:
    """Double the lone backslashes from `start` to the closing quote."""
    parts, at = [text[:start]], start
    for match in _ESCAPE.finditer(text, start):
        parts += (text[at : match.start()], "\\\\" if match[0] == "\\" else match[0])
        at = match.end()
        if match[0] == '"':
            break
    return "".join((*parts, text[at:]))


def repair_patterns(text: str, lines: set[int]) -> str:
    line, at = 1, 0

    def repair(match: re.Match[str]) -> str:
        nonlocal line, at
        repaired = re.sub(_LONE_BACKSLASH + r"|\\.", lambda one: "\\\\" if one[0] == "\\" else one[0], match[0])
        line, at = line + text.count("\n", at, match.start()), match.start()
        if repaired != match[0]:
            lines.add(line)
        return repaired

    return _PATTERN.sub(repair, text)
