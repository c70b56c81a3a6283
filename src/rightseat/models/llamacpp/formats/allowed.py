"""Build the grammar of an answer: the allowed tools, their arguments, the output schema and text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar import GrammarLimits, GrammarRules

if TYPE_CHECKING:
    from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat

MAX_CACHED = 128
# Without a limit a small model never stops calling tools.
MAX_CALLS = 8
_cache: OrderedDict[bytes, CompiledAnswerGrammar] = OrderedDict()


class CompiledAnswerGrammar(Struct, frozen=True):
    grammar: str
    enforced_tools: frozenset[str]


class AnswerGrammar:
    """Grammar of one prompt's answer. `argument_rules`: rule name of the arguments by tool. `output_rule`:
    rule of the output schema, if any. `must_call`: at least one call. `allows_many_calls`: more than one."""

    def __init__(self, context: FormatContext) -> None:
        self.context = context
        self.rules = GrammarRules(GrammarLimits())
        # Reserved first, so that no tool's rule takes this name.
        self.root_rule = self.rules.reserve("root")
        self.argument_rules: dict[str, str] = {}
        enforced = []
        for tool in context.tools:
            unsaid = len(self.rules.unenforced)
            self.argument_rules[tool.name] = self.rules.add_schema(
                as_object_schema(tool.parameters), tool.name
            )
            if len(self.rules.unenforced) == unsaid:
                enforced.append(tool.name)
        self.enforced_tools = frozenset(enforced)
        schema = context.prompt.output_schema
        self.output_rule = None if schema is None else self.rules.add_schema(schema, "output")
        self.must_call = context.must_call
        self.allows_many_calls = context.prompt.settings.parallel_calls is not False

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(self.argument_rules)

    def add_call_rule(self, format_call: Callable[[str, str], str]) -> str:
        """Add a rule with one alternative per tool: the GBNF of `format_call(tool name, argument rule)`."""
        options = (format_call(tool, arguments) for tool, arguments in self.argument_rules.items())
        return self.rules.add("call", " | ".join(options))

    def add_json_call_rule(self, name: str = "name", arguments: str = "arguments") -> str:
        """Add a rule for `{"name": …, "arguments": …}` of any allowed tool."""

        def form(tool: str, rule: str) -> str:
            begin = f'{{"{name}": {quote_json(tool)}, "{arguments}": '
            return f'{self.rules.quote(begin)} {rule} "}}"'

        return self.add_call_rule(form)

    def repeat_calls(self, call: str, separator: str = "") -> str:
        """Return GBNF of one call, or of up to MAX_CALLS where several are allowed."""
        if not self.allows_many_calls:
            return call
        # A separate rule, because llama.cpp copies a group for each possible repetition.
        more = self.rules.add("more", f"{separator} {call}".strip())
        return f"{call} {more}{{0,{MAX_CALLS - 1}}}"

    @classmethod
    def compile(cls, format: ToolCallFormat, context: FormatContext) -> CompiledAnswerGrammar:
        """Compile the grammar of an answer in this format; cached, since every turn repeats its schemas."""
        prompt = context.prompt
        shape = [(tool.name, tool.parameters) for tool in context.tools]
        switches = (
            prompt.tool_choice.mode,
            prompt.settings.parallel_calls,
            context.thinking,
            context.capabilities,
        )
        key = msgspec.json.encode((format.name, shape, prompt.output_schema, switches))
        compiled = _cache.get(key)
        if compiled is None:
            answer_grammar = cls(context)
            root = (
                format.build_answer_gbnf(answer_grammar)
                if answer_grammar.tools
                else format.build_toolless_gbnf(answer_grammar)
            )
            answer_grammar.rules.define(
                answer_grammar.root_rule, context.thinking.wrap_gbnf(answer_grammar.rules, root)
            )
            compiled = _cache[key] = CompiledAnswerGrammar(
                answer_grammar.rules.to_gbnf(answer_grammar.root_rule), answer_grammar.enforced_tools
            )
            if len(_cache) > MAX_CACHED:
                _cache.popitem(last=False)
        _cache.move_to_end(key)
        return compiled


def check_bare_name(tool: str, *ends: str) -> str:
    """Return an unquoted tool name; raises CallerError if it contains one of its terminators."""
    if any((tool + end).find(end) != len(tool) for end in ends):
        raise CallerError(f"This model cannot be told of a tool {tool[:64]!r}: give it a plain name.")
    return tool


def as_object_schema(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with `"type": "object"` added if it names no type."""
    return parameters if "type" in parameters or "$ref" in parameters else {"type": "object", **parameters}


def quote_json(text: str) -> str:
    return msgspec.json.encode(text).decode()
