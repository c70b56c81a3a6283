"""Compose untrusted YAML into plain values, event by event and without recursion.

No tag builds an object, an alias counts as all nodes it refers to, and every key has its line number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from rightseat.plugins.place import Path, Step
from rightseat.plugins.scalars import meant

# Without libyaml, the pure Python loader gives the same events, slower.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(f"{_STANDARD}{name}" for name in ("int", "float", "bool", "null"))
_KNOWN_TAGS = _PLAIN_TAGS | {"!", *(f"{_STANDARD}{name}" for name in ("str", "map", "seq", "binary"))}

MAX_NODES = 500_000
MAX_DEPTH = 100
MAX_REMARKS = 50
SYNTAX = "Check the lines around it: indents, quotes, brackets."
FLATTER = "Write it flatter, and without aliases."


class Broken(Exception):
    """The text is not readable YAML. `line` is from 1 (0: unknown); `escape` is the index of a bad escape."""

    def __init__(self, what: str, line: int = 0, fix: str = SYNTAX, *, escape: int | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.fix, self.escape = what, line, fix, escape
        self.tab = "tab character" in what


@dataclass(slots=True)
class Frame:
    """A mapping or list whose end has not been read."""

    value: dict[str, Any] | list[Any]
    lines: dict[str, int] | list[int]
    anchor: str | None
    before: int
    begun: int
    flow: bool = False
    """A flow mapping, in braces."""
    height: int = 1
    key: str | None = None
    line: int = 0
    """Line of the key whose value comes next."""


@dataclass(slots=True)
class Remark:
    path: Path
    what: str
    fix: str
    line: int


@dataclass(slots=True)
class Anchored:
    value: Any
    size: int
    height: int


@dataclass(slots=True)
class Composed:
    value: Any = None
    marks: dict[int, dict[str, int] | list[int]] = field(default_factory=dict)
    """Lines of keys or items by the id() of their container, which `value` keeps alive."""
    remarks: list[Remark] = field(default_factory=list)


class Composer:
    def __init__(self) -> None:
        self.made = Composed()
        self.stack: list[Frame] = []
        self.anchors: dict[str, Anchored] = {}
        self.nodes = 0

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self.scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self.open(Frame({}, {}, event.anchor, self.nodes, line_of(event), bool(event.flow_style)), event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self.open(Frame([], [], event.anchor, self.nodes, line_of(event)), event)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.close()

    def scalar(self, event: Any) -> None:
        line = line_of(event)
        self.tagged(event.tag, line)
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self.count(1, line)
            self.name(top, event.value, line)
            return
        plain = event.implicit[0] or event.tag in _PLAIN_TAGS
        if top is not None and top.flow and plain and not event.value:
            self.torn(top)
        value = meant(event.value) if plain else event.value
        if event.anchor:
            self.anchors[event.anchor] = Anchored(value, 1, 0)
        self.put(value, line, 1)

    def torn(self, top: Frame) -> None:
        """Warn about `{description: One sentence, in English}`: two keys, the second without a value."""
        what = "It has no value, so it may be the rest of a text that a comma has cut in two."
        self.remark(what, "Put the whole text in quotes.", top.line)

    def name(self, top: Frame, key: str, line: int) -> None:
        assert isinstance(top.lines, dict)
        if key in top.lines and key != "<<":
            self.remark(
                f"It stands here twice: on line {top.lines[key]} and on line {line}. The last one counts.",
                "Delete one of them.",
                line,
                key,
            )
        top.key, top.line = key, line

    def open(self, frame: Frame, event: Any) -> None:
        self.tagged(event.tag, frame.begun)
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            raise Broken("A key must be a word, and this one is a list or a mapping.", frame.begun)
        if len(self.stack) >= MAX_DEPTH:
            raise Broken(f"It is nested deeper than {MAX_DEPTH} levels.", frame.begun, FLATTER)
        self.stack.append(frame)

    def close(self) -> None:
        frame = self.stack.pop()
        self.made.marks[id(frame.value)] = frame.lines
        if frame.anchor:
            size = self.nodes - frame.before + 1
            self.anchors[frame.anchor] = Anchored(frame.value, size, frame.height)
        self.put(frame.value, frame.begun, 1, frame.height)

    def alias(self, event: Any) -> None:
        line = line_of(event)
        found = self.anchors.get(event.anchor)
        if found is None:
            raise Broken(f"*{event.anchor} stands for nothing, or for something that it is a part of.", line)
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            self.count(1, line)
            self.name(self.stack[-1], str(found.value), line)
            return
        if len(self.stack) + found.height > MAX_DEPTH:
            raise Broken(f"It is nested deeper than {MAX_DEPTH} levels.", line, FLATTER)
        self.put(found.value, line, found.size, found.height)

    def put(self, value: Any, line: int, size: int, height: int = 0) -> None:
        self.count(size, line)
        if not self.stack:
            self.made.value = value
            return
        top = self.stack[-1]
        top.height = max(top.height, height + 1)
        if isinstance(top.value, list) and isinstance(top.lines, list):
            top.value.append(value)
            top.lines.append(line)
        elif isinstance(top.value, dict) and isinstance(top.lines, dict):
            key, top.key = top.key or "", None
            if key == "<<":
                self.merge(top.value, value, size, line)
            else:
                top.value[key] = value
                top.lines[key] = top.line

    def merge(self, into: dict[str, Any], value: Any, size: int, line: int) -> None:
        """Apply `<<: *other`: add the other mapping's keys that are missing here."""
        self.count(size, line)
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                self.remark(
                    "takes the keys of something that has none.", "Write an alias of a mapping.", line
                )
                continue
            for key, item in one.items():
                into.setdefault(key, item)

    def count(self, size: int, line: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            raise Broken(f"It stands for more than {MAX_NODES:,} values, aliases counted.", line, FLATTER)

    def tagged(self, tag: str | None, line: int) -> None:
        if tag is not None and tag not in _KNOWN_TAGS:
            self.remark(
                f"has the tag {tag[:60]}, which is passed over.",
                "Delete it: only plain values are read.",
                line,
            )

    def remark(self, what: str, fix: str, line: int, key: str | None = None) -> None:
        if len(self.made.remarks) < MAX_REMARKS:
            path = self.path() if key is None else (*self.path(), key)
            self.made.remarks.append(Remark(path, what, fix, line))

    def path(self) -> Path:
        steps: list[Step] = []
        for frame in self.stack:
            if isinstance(frame.value, list):
                steps.append(len(frame.value))
            elif frame.key is not None:
                steps.append(frame.key)
        return tuple(steps)


def line_of(event: Any) -> int:
    return int(event.start_mark.line) + 1


def compose(text: str) -> Composed:
    """Compose the first document of the text; raise InvalidYaml if it cannot be read."""
    composer = Composer()
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    line = line_of(event)
                    composer.remark("begins a second document, which is passed over.", "Delete it.", line)
                    break
            composer.take(event)
    except yaml.YAMLError as error:
        raise broken(error) from None
    return composer.made


def broken(error: yaml.YAMLError) -> Broken:
    mark = getattr(error, "problem_mark", None)
    said = str(getattr(error, "problem", None) or "")
    if mark is None:
        # A character that YAML does not allow.
        return Broken("It is no YAML: it holds a character that no text has, such as a control character.")
    escape = mark.index if "escape character" in said else None
    return Broken(f"It is no YAML: {said}.", mark.line + 1, escape=escape)
