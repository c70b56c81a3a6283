"""The grammar of what one prompt allows: which tools, with which arguments, and what else."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar import Limits, Rules

if TYPE_CHECKING:
    from rightseat.models.llamacpp.formats.format import Ask, Format

MAX_CACHED = 128
# A small model that may call any number of tools never stops calling.
MOST_CALLS = 8
_cache: OrderedDict[bytes, Bound] = OrderedDict()


class Bound(Struct, frozen=True):
    grammar: str
    enforced: frozenset[str]


class Allowed:
    """`arguments`: of each tool the name of the rule for its arguments. `output`: the rule for the output
    schema, if there is one. `must`: at least one call. `many`: more than one."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.rules = Rules(Limits())
        # Reserved, so that no tool's rule takes the name.
        self.root = self.rules.reserve("root")
        self.arguments: dict[str, str] = {}
        enforced = []
        for tool in ask.tools:
            unsaid = len(self.rules.unsaid)
            self.arguments[tool.name] = self.rules.add_schema(as_object(tool.parameters), tool.name)
            if len(self.rules.unsaid) == unsaid:
                enforced.append(tool.name)
        self.enforced = frozenset(enforced)
        schema = ask.prompt.output_schema
        self.output = None if schema is None else self.rules.add_schema(schema, "output")
        self.must = ask.must
        self.many = ask.prompt.settings.parallel_calls is not False

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(self.arguments)

    def each(self, form: Callable[[str, str], str]) -> str:
        """A rule with an alternative for each tool: `form(tool's name, rule of its arguments)` as GBNF."""
        options = (form(tool, arguments) for tool, arguments in self.arguments.items())
        return self.rules.add("call", " | ".join(options))

    def json_call(self, name: str = "name", arguments: str = "arguments") -> str:
        """A rule for `{"name": …, "arguments": …}` of any allowed tool."""

        def form(tool: str, rule: str) -> str:
            begin = f'{{"{name}": {as_json(tool)}, "{arguments}": '
            return f'{self.rules.quote(begin)} {rule} "}}"'

        return self.each(form)

    def repeated(self, one: str, between: str = "") -> str:
        """One, or where more are allowed up to MOST_CALLS."""
        if not self.many:
            return one
        # A rule of its own: llama.cpp copies a group as often as it may be repeated.
        more = self.rules.add("more", f"{between} {one}".strip())
        return f"{one} {more}{{0,{MOST_CALLS - 1}}}"

    @classmethod
    def bound(cls, format: Format, ask: Ask) -> Bound:
        """The grammar for the format, remembered: schemas come again with every turn."""
        prompt = ask.prompt
        shape = [(tool.name, tool.parameters) for tool in ask.tools]
        switches = (prompt.tool_choice.mode, prompt.settings.parallel_calls, ask.thinking, ask.abilities)
        key = msgspec.json.encode((format.name, shape, prompt.output_schema, switches))
        found = _cache.get(key)
        if found is None:
            allowed = cls(ask)
            root = format.root(allowed) if allowed.tools else format.toolless(allowed)
            allowed.rules.define(allowed.root, ask.thinking.rule(allowed.rules, root))
            found = _cache[key] = Bound(allowed.rules.text(allowed.root), allowed.enforced)
            if len(_cache) > MAX_CACHED:
                _cache.popitem(last=False)
        _cache.move_to_end(key)
        return found


def bare(tool: str, *ends: str) -> str:
    """A tool's name where it is written without quotes; CallerError if what ends it stands in it."""
    if any((tool + end).find(end) != len(tool) for end in ends):
        raise CallerError(f"This model cannot be told of a tool {tool[:64]!r}: give it a plain name.")
    return tool


def as_object(parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments are an object, also where a schema leaves that out."""
    return parameters if "type" in parameters or "$ref" in parameters else {"type": "object", **parameters}


def as_json(text: str) -> str:
    return msgspec.json.encode(text).decode()
