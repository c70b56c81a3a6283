"""Build the grammar of an answer: the allowed tools, their arguments, the output schema and text."""

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
# Without a limit a small model never stops calling tools.
MOST_CALLS = 8
_cache: OrderedDict[bytes, Bound] = OrderedDict()


class Bound(Struct, frozen=True):
    grammar: str
    enforced: frozenset[str]


class Allowed:
    """Grammar of one prompt's answer. `argument_rules`: rule name of the arguments by tool. `output_rule`:
    rule of the output schema, if any. `must_call`: at least one call. `allows_many_calls`: more than one."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.rules = Rules(Limits())
        # Reserved first, so that no tool's rule takes this name.
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
        """Add a rule with one alternative per tool: the GBNF of `format_call(tool name, argument rule)`."""
        options = (form(tool, arguments) for tool, arguments in self.arguments.items())
        return self.rules.add("call", " | ".join(options))

    def json_call(self, name: str = "name", arguments: str = "arguments") -> str:
        """Add a rule for `{"name": …, "arguments": …}` of any allowed tool."""

        def form(tool: str, rule: str) -> str:
            begin = f'{{"{name}": {as_json(tool)}, "{arguments}": '
            return f'{self.rules.quote(begin)} {rule} "}}"'

        return self.each(form)

    def repeated(self, one: str, between: str = "") -> str:
        """Return GBNF of one call, or of up to MAX_CALLS where several are allowed."""
        if not self.many:
            return one
        # A separate rule, because llama.cpp copies a group for each possible repetition.
        more = self.rules.add("more", f"{between} {one}".strip())
        return f"{one} {more}{{0,{MOST_CALLS - 1}}}"

    @classmethod
    def bound(cls, format: Format, ask: Ask) -> Bound:
        """Compile the grammar of an answer in this format; cached, since every turn repeats its schemas."""
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
    """Return an unquoted tool name; raises CallerError if it contains one of its terminators."""
    if any((tool + end).find(end) != len(tool) for end in ends):
        raise CallerError(f"This model cannot be told of a tool {tool[:64]!r}: give it a plain name.")
    return tool


def as_object(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with `"type": "object"` added if it names no type."""
    return parameters if "type" in parameters or "$ref" in parameters else {"type": "object", **parameters}


def as_json(text: str) -> str:
    return msgspec.json.encode(text).decode()
