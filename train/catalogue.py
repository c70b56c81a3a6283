"""The tools of the training data, read from data/tools/*.txt: a file for each domain, a line for each fact.

= names : descriptions            a tool; alternatives are parted by |
+ names ; kind ; description      a required argument (- an optional one, with ; its words in a question)
! imperative   ? question   . statement, with {0} for the first argument
~ missing ; question without it ; what to ask back
z descriptions  zp arguments  zo optional words  zt questions  zm missing;question;asked    in Chinese
de fr es questions                in other languages
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from train.draw import DATA


@dataclass(frozen=True)
class Parameter:
    required: bool
    names: tuple[str, ...]
    kind: str
    description: str
    words: str = ""
    """How an optional one is added to a question; for a boolean `+words` means true and `-words` false."""


@dataclass
class Tool:
    domain: str
    plugin: str
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    parameters: list[Parameter] = field(default_factory=list)
    asks: list[tuple[str, str]] = field(default_factory=list)
    """(`!`, `?` or `.`, wording)"""
    missing: list[tuple[str, str]] = field(default_factory=list)
    """(question that lacks something, what to ask back)"""
    zh: tuple[str, ...] = ()
    zh_parameters: tuple[str, ...] = ()
    zh_words: tuple[str, ...] = ()
    zh_asks: tuple[str, ...] = ()
    zh_missing: list[tuple[str, str]] = field(default_factory=list)
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)
    entity: bool = False

    @property
    def required(self) -> list[int]:
        return [index for index, parameter in enumerate(self.parameters) if parameter.required]

    @property
    def is_read_only(self) -> bool:
        """Whether it only looks something up."""
        return not any(word in self.names[0] for word in _WRITES)


_WRITES = [
    "create",
    "add",
    "update",
    "set",
    "send",
    "delete",
    "cancel",
    "post",
    "make",
    "start",
    "stop",
    "book",
    "order",
    "pay",
    "move",
    "write",
]


def split_parts(text: str, by: str = "|") -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(by))


def parse_parameter(line: str) -> Parameter:
    fields = split_parts(line[1:], " ; ")
    words = fields[3] if len(fields) > 3 else ""
    return Parameter(line[0] == "+", split_parts(fields[0]), fields[1], fields[2], words)


def load_tools() -> Iterator[Tool]:
    for path in sorted((DATA / "tools").glob("*.txt")):
        yield from parse_tools(path.stem, path.read_text("utf-8").splitlines())


def parse_tools(domain: str, lines: Iterable[str]) -> Iterator[Tool]:
    tool: Tool | None = None
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("= "):
            if tool:
                yield tool
            names, _, described = line[2:].partition(" : ")
            tool = Tool(domain, domain, split_parts(names), split_parts(described))
        elif tool:
            apply_line(tool, line)
    if tool:
        yield tool


def apply_line(tool: Tool, line: str) -> None:
    mark, _, rest = line.partition(" ")
    if mark in ("+", "-"):
        tool.parameters.append(parse_parameter(line))
    elif mark in ("!", "?", "."):
        tool.asks.append((mark, rest))
    elif mark == "~":
        _, question, asked = split_parts(rest, " ; ")
        tool.missing.append((question, asked))
    elif mark == "zm":
        _, question, asked = split_parts(rest, ";")
        tool.zh_missing.append((question, asked))
    else:
        apply_chinese_line(tool, mark, split_parts(rest))


def apply_chinese_line(tool: Tool, mark: str, texts: tuple[str, ...]) -> None:
    if mark == "z":
        tool.zh = texts
    elif mark == "zp":
        tool.zh_parameters = texts
    elif mark == "zo":
        tool.zh_words = texts
    elif mark == "zt":
        tool.zh_asks = texts
    else:
        tool.others[mark] = texts
