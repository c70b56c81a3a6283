"""Grammar of an answer: the allowed tools, their arguments, the output schema, text, and reasoning before them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import complement, format_character_class, ranges_of
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps
from rightseat.tools.text_calls.thinking import THINKING_TAGS, parse_thought

if TYPE_CHECKING:
    from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat


def add_until_rule(rules: GrammarRules, word: str) -> str:
    """Add a rule for any text up to and including the first `word`; returns its name."""
    return _add_automaton(rules, "until", (word,), ends=True)


def add_excluding_rule(rules: GrammarRules, words: Sequence[str], *, excluded_first: str = "") -> str:
    """Add a rule for any text, also empty, that contains none of the words; returns its name. The text does
    not start with a character in `excluded_first`; these must not occur in the words."""
    return _add_automaton(rules, "free", tuple(words), excluded_first=excluded_first)


def _add_automaton(
    rules: GrammarRules, hint: str, words: tuple[str, ...], *, ends: bool = False, excluded_first: str = ""
) -> str:
    """Add an automaton, with one rule (state) per prefix of a word that may have been read; returns the start
    rule. `ends`: the text ends with a word, else before any."""
    letters = sorted({letter for word in words for letter in word})
    steps = _build_transitions(words, letters)
    names = {seen: rules.reserve(hint) for seen in steps}

    def define(name: str, seen: str, barred: str) -> None:
        options = [f"{format_character_class(complement(ranges_of(''.join(letters) + barred)))} {names['']}"]
        for reached in sorted(set(steps[seen].values())):
            to_reached = "".join(letter for letter in letters if steps[seen][letter] == reached)
            if reached in names or ends:
                options.append(f"{format_character_class(ranges_of(to_reached))} {names.get(reached, '')}".rstrip())
        rules.define(name, " | ".join(options) if ends else f"({' | '.join(options)})?")

    for seen, name in names.items():
        define(name, seen, "")
    if not excluded_first:
        return names[""]
    begin = rules.reserve(hint)
    define(begin, "", excluded_first)
    return begin


def _build_transitions(words: tuple[str, ...], letters: list[str]) -> dict[str, dict[str, str]]:
    """Return for each state (a word prefix) and letter the next state: the longest word prefix that has been
    read. States that end with a word have no transitions."""
    beginnings = {word[:size] for word in words for size in range(len(word) + 1)} or {""}
    steps: dict[str, dict[str, str]] = {}
    # By length, because fallback states are shorter.
    later = {"": ""}
    for seen in sorted(beginnings, key=lambda seen: (len(seen), seen)):
        shorter = steps.get(later[seen], {})
        step = {}
        for letter in letters:
            grown, other = seen + letter, shorter.get(letter, "") if seen else ""
            step[letter] = grown if grown in beginnings else other
            if grown in beginnings:
                later[grown] = other
        if not seen or not any(seen.endswith(word) for word in words):
            steps[seen] = step
    return steps


Parser = Callable[[ModelTextReader], ParseSteps[None]]


class ThinkingTags(Struct, frozen=True):
    """Thinking tags of a model. `allowed`: the answer may start with a thought. `opened_by_prompt`: the
    prompt has already opened it."""

    allowed: bool = False
    opened_by_prompt: bool = False
    open_tag: str = THINKING_TAGS[0][0]
    close_tag: str = THINKING_TAGS[0][1]

    @classmethod
    def from_template(cls, source: str, prompt_end: str) -> ThinkingTags:
        """Detect the tags in a template and its prompt's end; a prompt that closes a thought disables it. The first
        pair whose closing tag occurs in the template is used."""
        open, close = next((marks for marks in THINKING_TAGS if marks[1] in source), THINKING_TAGS[0])
        prompt_end = prompt_end.rstrip()
        return cls(close in source and not prompt_end.endswith(close), prompt_end.endswith(open), open, close)

    @property
    def active_tags(self) -> tuple[str, ...]:
        return (self.open_tag, self.close_tag) if self.allowed or self.opened_by_prompt else ()

    def wrap_parser(self, parse: Parser) -> Parser:
        """Return a parser that parses the thought, then calls `parse`."""
        if not self.active_tags:
            return parse

        def parse_thinking(reader: ModelTextReader) -> ParseSteps[None]:
            yield from parse_thought(reader, self.open_tag, self.close_tag, opened=self.opened_by_prompt)
            yield from parse(reader)

        return parse_thinking

    def wrap_gbnf(self, rules: GrammarRules, root: str) -> str:
        """Return the GBNF of an answer with an optional thought before `root`."""
        if not self.active_tags:
            return root
        thought = add_until_rule(rules, self.close_tag)
        # Bounded, because a small model may repeat line ends forever.
        after = f"{thought} [ \\t\\n]{{0,4}} ({root})"
        return after if self.opened_by_prompt else f"{rules.quote(self.open_tag)} {after} | {root}"


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
        self.rules = GrammarRules()
        # Reserved first, so that no tool's rule takes this name.
        self.root_rule = self.rules.reserve("root")
        self.argument_rules: dict[str, str] = {}
        enforced = []
        for tool in context.tools:
            unsaid = len(self.rules.unenforced)
            self.argument_rules[tool.name] = self.rules.add_schema(as_object_schema(tool.parameters), tool.name)
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

    def add_call_rule(self, format_call: Callable[[str, str], str], tools: Container[str] | None = None) -> str:
        """Add a rule with one alternative per tool: the GBNF of `format_call(tool name, argument rule)`."""
        rules = self.argument_rules.items()
        options = (format_call(tool, rule) for tool, rule in rules if tools is None or tool in tools)
        return self.rules.add("call", " | ".join(options))

    def add_json_call_rule(self, arguments_key: str = "arguments", tools: Container[str] | None = None) -> str:
        """Add a rule for `{"name": …, "arguments": …}` of any of these tools, by default all."""

        def format_call(tool: str, rule: str) -> str:
            return f'{self.rules.quote(format_call_prefix(tool, arguments_key))} {rule} "}}"'

        return self.add_call_rule(format_call, tools)

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
        switches = (prompt.tool_choice.mode, prompt.settings.parallel_calls, context.thinking, context.capabilities)
        key = msgspec.json.encode((format.name, shape, prompt.output_schema, switches))
        compiled = _cache.get(key)
        if compiled is None:
            answer = cls(context)
            root = format.build_answer_gbnf(answer) if answer.tools else format.build_toolless_gbnf(answer)
            answer.rules.define(answer.root_rule, context.thinking.wrap_gbnf(answer.rules, root))
            gbnf = answer.rules.to_gbnf(answer.root_rule)
            compiled = _cache[key] = CompiledAnswerGrammar(gbnf, answer.enforced_tools)
            if len(_cache) > MAX_CACHED:
                _cache.popitem(last=False)
        _cache.move_to_end(key)
        return compiled


def check_bare_name(tool: str, *ends: str) -> str:
    """Return an unquoted tool name; raises CallerError if it contains one of its terminators."""
    if any((tool + end).find(end) != len(tool) for end in ends):
        raise CallerError(f"This model's tool format cannot express the tool name {tool[:64]!r}. Use a plain name.")
    return tool


def as_object_schema(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with `"type": "object"` added if it names no type."""
    return parameters if "type" in parameters or "$ref" in parameters else {"type": "object", **parameters}


def quote_json(text: str) -> str:
    return msgspec.json.encode(text).decode()


def format_call_prefix(tool: str, arguments_key: str) -> str:
    """Return a call `{"name": …, "arguments": …}` up to its arguments."""
    return f'{{"name": {quote_json(tool)}, "{arguments_key}": '
