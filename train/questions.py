"""The held-out questions: heldout/, written by hand, about things that are not in the training data.

`dev` was read between the trainings; `final` was written before them and asked at the end.

## set                            tools are shared by all questions of a set
tool name(a: type, b?: type) // description      and an indented line for each described argument
? question
> name {arguments}                a call that was made, and < its result
= name {arguments}; name {…}      the calls wanted; ` | ` parts other right answers
= none   = ask words|words   = say value|value & value     words wanted instead
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec
from train.draw import HERE
from train.example import make_call, make_exchange

CallSet = tuple[tuple[str, dict[str, Any]], ...]
_TOKEN = re.compile(r'"[^"]*"|\w+|\[\]|[{}():,?|]')


@dataclass
class HeldOutQuestion:
    skill: str
    set: str
    tools: tuple[ToolSpec, ...]
    question: str
    earlier_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    wanted: str = ""

    @property
    def zh(self) -> bool:
        return not self.question.isascii() and bool(re.search("[\u4e00-\u9fff]", self.question))

    @property
    def messages(self) -> tuple[Message, ...]:
        calls = [make_call(name, arguments, number) for number, (name, arguments) in enumerate(self.earlier_calls)]
        talk = make_exchange(self.question, calls, self.results)
        return talk if calls else talk[:1]

    @property
    def kind(self) -> str:
        """`call`, `none`, `ask` or `say`."""
        first = self.wanted.split()[0]
        return first if first in ("none", "ask", "say") else "call"

    @property
    def calls(self) -> list[CallSet]:
        """All sets of calls that are right."""
        return [tuple(map(_call, other.split("; "))) for other in self.wanted.split(" | ")]

    @property
    def words(self) -> list[list[str]]:
        """All of these, each in one of its wordings."""
        return [part.strip().split("|") for part in self.wanted.partition(" ")[2].split(" & ")]


def _call(text: str) -> tuple[str, dict[str, Any]]:
    name, _, arguments = text.strip().partition(" ")
    return name, json.loads(arguments)


def load_questions(part: str) -> Iterator[HeldOutQuestion]:
    for path in sorted((HERE / "heldout" / part).glob("*.txt")):
        yield from parse_questions(path.stem, path.read_text("utf-8").splitlines())


def parse_questions(skill: str, lines: list[str]) -> Iterator[HeldOutQuestion]:
    name, tools = "", list[ToolSpec]()
    item: HeldOutQuestion | None = None
    for line in filter(str.strip, lines):
        mark, _, rest = line.partition(" ")
        if mark == "##":
            name, tools = rest, []
        elif mark == "tool":
            tools.append(parse_tool(rest))
        elif not mark:
            key, _, text = rest.strip().partition(": ")
            tools[-1].parameters["properties"][key]["description"] = text
        elif mark == "?":
            item = HeldOutQuestion(skill, name, tuple(tools), rest)
        elif item and mark == ">":
            item.earlier_calls.append(_call(rest))
        elif item and mark == "<":
            item.results.append(rest.replace("\\n", "\n"))
        elif item and mark == "=":
            item.wanted = rest
            yield item


def parse_tool(text: str) -> ToolSpec:
    signature, _, description = text.partition(" // ")
    name, _, listed = signature.partition("(")
    tokens = _TOKEN.findall(listed.rpartition(")")[0])
    return ToolSpec(name, description, _object(tokens))


def _object(tokens: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    while tokens and tokens[0] != "}":
        key = tokens.pop(0)
        if tokens[0] == "?":
            tokens.pop(0)
        else:
            required.append(key)
        tokens.pop(0)  # the colon
        properties[key] = _type(tokens)
        if tokens and tokens[0] == ",":
            tokens.pop(0)
    return {"type": "object", "properties": properties, "required": required}


def _type(tokens: list[str]) -> dict[str, Any]:
    first = tokens.pop(0)
    found: dict[str, Any]
    if first == "{":
        found = _object(tokens)
        tokens.pop(0)
    elif first[0] == '"':
        values = [first[1:-1]]
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            values.append(tokens.pop(0)[1:-1])
        found = {"type": "string", "enum": values}
    else:
        found = {"type": first}
    if tokens and tokens[0] == "[]":
        tokens.pop(0)
        found = {"type": "array", "items": found}
    return found
