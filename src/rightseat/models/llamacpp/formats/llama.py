"""Llama 3.1, 3.2 and 3.3, in two dialects. Builtin tools are called after `<|python_tag|>`:

    <|python_tag|>print(1 + 1)
    <|python_tag|>brave_search.call(query="weather in Paris")

All text after the tag is code, unless it is a search call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.models.llamacpp.formats.answer_grammar import (
    AnswerGrammar,
    Parser,
    add_excluding_rule,
    check_bare_name,
    format_call_prefix,
    quote_json,
)
from rightseat.models.llamacpp.formats.format import (
    FormatContext,
    PromptPlan,
    ToolCallFormat,
    dump_json,
    to_openai_tool,
)
from rightseat.models.llamacpp.grammar import charset
from rightseat.models.llamacpp.grammar.charset import ANY, format_character_class, ranges_of
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.tools.text_calls import builtin
from rightseat.tools.text_calls.builtin import CODE_TOOLS, SEARCH_TOOLS
from rightseat.tools.text_calls.reader import Emit, ModelTextReader, ParseSteps, copy_value
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import ToolChoice, ToolSpec

TAG = "<|python_tag|>"
_MARK = re.compile(r'["\\]')


class PythonTagFormat(ToolCallFormat):
    """Base of the Llama 3.1 formats; subclasses define `build_functions_gbnf` for the other tools."""

    preserved_tokens = (TAG,)
    stop_words = ("<|eom_id|>",)

    def list_builtin_tools(self, context: FormatContext) -> tuple[ToolSpec, ...]:
        """Return the tools that are called after the tag."""
        return tuple(filter(builtin.is_builtin, context.tools))

    def build_functions_gbnf(self, grammar: AnswerGrammar, tools: list[str]) -> str:
        raise NotImplementedError

    def list_other_tools(self, context: FormatContext) -> tuple[ToolSpec, ...]:
        builtins = self.list_builtin_tools(context)
        return tuple(tool for tool in context.tools if tool not in builtins)

    def make_plan(self, context: FormatContext) -> PromptPlan:
        context = context.replace_prompt(tools=tuple(map(builtin.with_builtin_schema, context.prompt.tools)))
        # Code runs to the end of the answer, so stop words must not cut it.
        plan = super().make_plan(context)
        return replace(plan, filters_stop_words=plan.filters_stop_words or bool(self.list_builtin_tools(context)))

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        return " | ".join(filter(None, self.build_call_kinds_gbnf(grammar)))

    def build_call_kinds_gbnf(self, grammar: AnswerGrammar) -> tuple[str, str]:
        """Return GBNF of calls of other tools and of a builtin tool; each may be empty."""
        builtins = self.list_builtin_tools(grammar.context)
        names = [tool.name for tool in builtins]
        # After the tag the argument is any text, so its schema is not enforced.
        grammar.enforced_tools -= {tool.name for tool in builtins if not builtin.takes_any_text(tool)}
        others = [name for name in grammar.tools if name not in names]
        functions = self.build_functions_gbnf(grammar, others) if others else ""
        return functions, build_tagged_call_gbnf(grammar.rules, names) if names else ""

    def list_template_tools(self, context: FormatContext) -> tuple[dict[str, Any], ...]:
        return tuple(map(to_openai_tool, self.list_other_tools(context)))

    def writes_calls_as_text(self, message: Message, context: FormatContext) -> bool:
        return super().writes_calls_as_text(message, context) or any(
            self.is_builtin_call(call, context) for call in message.calls
        )

    def is_builtin_call(self, call: ToolCall, context: FormatContext) -> bool:
        builtins = self.list_builtin_tools(context.replace_prompt(tool_choice=ToolChoice()))
        return any(tool.name == call.name for tool in builtins)


def build_tagged_call_gbnf(rules: GrammarRules, names: Sequence[str]) -> str:
    """Add a rule for a call of one of these builtin tools, with its tag; returns its name."""
    begins = tuple(_search_prefix(name) for name in names if name in SEARCH_TOOLS)
    options = []
    if begins:
        plain = format_character_class(charset.subtract(charset.subtract(ANY, charset.CONTROLS), ranges_of('"\\')))
        query = rules.add("query", f'({plain} | "\\\\" {format_character_class(ranges_of(chr(34) + chr(92)))})+')
        options += [f'{rules.quote(begin)} {query} "\\")"' for begin in begins]
    if any(name in CODE_TOOLS for name in names):
        options.append(_add_code_rule(rules, begins))
    return rules.add("tagged", f"{rules.quote(TAG)} ({' | '.join(options)})")


def _search_prefix(name: str) -> str:
    return f'{name}.call(query="'


def _add_code_rule(rules: GrammarRules, words: tuple[str, ...]) -> str:
    """Add a rule for code: any text that starts with none of the words; returns its name."""
    anything = rules.add("anything", f"{format_character_class(ANY)}*")
    if not words:
        return anything
    options = []
    for seen in sorted({word[:size] for word in words for size in range(len(word))}):
        after = {word[len(seen)] for word in words if word.startswith(seen)}
        other = format_character_class(charset.complement(ranges_of("".join(after))))
        options.append(f"{rules.quote(seen)} ({other} {anything})?")
    return rules.add("code", " | ".join(options))


def parse_tagged_call(reader: ModelTextReader, names: Sequence[str]) -> ParseSteps[None]:
    """Parse a call after its tag; it runs to the end of the answer."""
    begins = {_search_prefix(name): name for name in names if name in SEARCH_TOOLS}
    begin = yield from reader.peek(*begins)
    if begin is None:
        name = next((name for name in names if name in CODE_TOOLS), CODE_TOOLS[0])
        yield from parse_code_call(reader, name)
    else:
        yield from reader.expect(begin)
        yield from _parse_query(reader, reader.begin_call(begins[begin]))
        yield from reader.expect(")")
        reader.end_call()


def parse_code_call(reader: ModelTextReader, name: str, *ends: str) -> ParseSteps[str | None]:
    """Parse code as the call's only argument up to one of `ends`, which is returned, or to the end (None)."""
    emit = reader.begin_call(name)
    emit('{"code": "')
    marker = yield from reader.text_until(*ends, emit=lambda text: emit(_escape_json_text(text)))
    emit('"}')
    reader.end_call()
    return marker


def _parse_query(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    """Parse the query up to the closing quote; a backslash escapes the next character."""
    emit('{"query": "')
    while True:
        emit(_escape_json_text((yield from reader.read_up_to(_MARK))))
        mark = yield from reader.peek_char()
        if mark == '"':
            yield from reader.read_chars(1)
            break
        if mark == "\\":
            emit(_escape_json_text((yield from reader.read_chars(2))[1]))
    emit('"}')


def _escape_json_text(text: str) -> str:
    return quote_json(text)[1:-1]


def format_builtin_call(call: ToolCall, context: FormatContext) -> str:
    """Return an earlier call of a builtin tool as the model writes it."""
    text = get_single_argument(call)
    if call.name in CODE_TOOLS:
        return TAG + context.mark_foreign(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return TAG + context.mark_foreign(f'{_search_prefix(call.name)}{escaped}")')


def get_single_argument(call: ToolCall) -> str:
    """Return the single argument of a builtin call, or its whole arguments JSON if that is missing."""
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return call.arguments
    value = arguments.get(builtin.builtin_argument(call.name)) if isinstance(arguments, dict) else None
    return value if isinstance(value, str) else call.arguments


CALL_SEPARATOR = "; "
FUNCTION, END = "<function=", "</function>"
KNOWLEDGE_DATE = "December 2023"


class Llama31Format(PythonTagFormat):
    name = "llama-3.1"
    template_markers = (("<|start_header_id|>ipython<|end_header_id|>", '"parameters"'),)
    triggers = (TAG,)

    def list_builtin_tools(self, context: FormatContext) -> tuple[ToolSpec, ...]:
        return super().list_builtin_tools(context) if context.capabilities.builtin_tools else ()

    def make_template_variables(self, context: FormatContext) -> dict[str, Any]:
        # The template's name for the interpreter, which it does not list as a tool.
        names = [
            "code_interpreter" if tool.name in CODE_TOOLS else tool.name for tool in self.list_builtin_tools(context)
        ]
        return {"builtin_tools": names} if names else {}

    def describe_tools(self, context: FormatContext) -> str:
        tools = context.mark_foreign("\n\n".join(dump_json(to_openai_tool(tool), indent=4) for tool in context.tools))
        return (
            "You can call the functions below. To call one, answer with nothing but a JSON object of its "
            f'name and its arguments:\n{{"name": …, "parameters": …}}\n\n{tools}'
        )

    def build_functions_gbnf(self, grammar: AnswerGrammar, tools: list[str]) -> str:
        call = grammar.add_json_call_rule("parameters", tools)
        return grammar.repeat_calls(call, grammar.rules.quote(CALL_SEPARATOR))

    def build_answer_gbnf(self, grammar: AnswerGrammar) -> str:
        if grammar.must_call or grammar.output_rule is not None:
            return super().build_answer_gbnf(grammar)
        functions, tagged = self.build_call_kinds_gbnf(grammar)
        text = f"{self.build_text_gbnf(grammar)} {tagged and f'({tagged})?'}"
        return " | ".join(filter(None, [text, functions]))

    def build_text_gbnf(self, grammar: AnswerGrammar) -> str:
        # An answer after a thought must not start with `{` either.
        words = (*self.triggers, *grammar.context.thinking.active_tags)
        return add_excluding_rule(grammar.rules, words, excluded_first="{ \t\r\n")

    def make_parser(self, context: FormatContext) -> Parser:
        builtins = [tool.name for tool in self.list_builtin_tools(context)]
        openings = {format_call_prefix(tool.name, "parameters"): tool.name for tool in self.list_other_tools(context)}

        def read(reader: ModelTextReader) -> ParseSteps[None]:
            opening = yield from reader.peek(*openings)
            while opening is not None:
                yield from reader.expect(opening)
                yield from copy_value(reader, reader.begin_call(openings[opening]))
                yield from reader.expect("}")
                reader.end_call()
                opening = yield from reader.peek(*(CALL_SEPARATOR + opening for opening in openings))
                if opening is not None:
                    yield from reader.expect(CALL_SEPARATOR)
                    opening = opening.removeprefix(CALL_SEPARATOR)
            if (yield from reader.text_until(TAG)):
                yield from parse_tagged_call(reader, builtins)

        return read

    def writes_calls_as_text(self, message: Message, context: FormatContext) -> bool:
        # The published templates reject several calls in one message.
        return len(message.calls) > 1 or super().writes_calls_as_text(message, context)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        plain = [call for call in message.calls if not self.is_builtin_call(call, context)]
        bodies = (f"{format_call_prefix(call.name, 'parameters')}{call.arguments}}}" for call in plain)
        calls = CALL_SEPARATOR.join(map(context.mark_foreign, bodies))
        builtins = [format_builtin_call(call, context) for call in message.calls if call not in plain]
        return "\n".join(filter(None, [context.mark_foreign(message.text), calls, *builtins]))


class LlamaFunctionsFormat(PythonTagFormat):
    name = "llama-3.1-functions"
    own_prompt = True
    instructions_first = True
    triggers = (FUNCTION, TAG)

    def describe_tools(self, context: FormatContext) -> str:
        builtins = [tool.name for tool in self.list_builtin_tools(context)]
        searches = ", ".join(name for name in builtins if name not in CODE_TOOLS)
        head = ["Environment: ipython"] if any(name in CODE_TOOLS for name in builtins) else []
        head += [f"Tools: {searches}"] if searches else []
        dates = f"Cutting Knowledge Date: {KNOWLEDGE_DATE}\nToday's Date: {context.clock():%Y-%m-%d}"
        others = self.list_other_tools(context)
        tools = context.mark_foreign(dump_json([to_openai_tool(tool) for tool in others], indent=2))
        functions = _FUNCTIONS_TEXT % tools if others else ""
        return "\n\n".join(filter(None, ["\n".join(head), dates, _SYSTEM_TEXT, functions]))

    def build_functions_gbnf(self, grammar: AnswerGrammar, tools: list[str]) -> str:
        def format_call(tool: str, rule: str) -> str:
            return f"{grammar.rules.quote(_function_tag(tool))} {rule} {grammar.rules.quote(END)}"

        return grammar.repeat_calls(grammar.add_call_rule(format_call, tools), '"\\n"?')

    def make_parser(self, context: FormatContext) -> Parser:
        builtins = [tool.name for tool in self.list_builtin_tools(context)]
        openings = {_function_tag(tool.name): tool.name for tool in self.list_other_tools(context)}

        def read(reader: ModelTextReader) -> ParseSteps[None]:
            while marker := (yield from reader.text_until(*openings, TAG)):
                if marker == TAG:
                    yield from parse_tagged_call(reader, builtins)
                else:
                    yield from copy_value(reader, reader.begin_call(openings[marker]))
                    yield from reader.expect(END)
                    reader.end_call()

        return read

    def writes_results_as_text(self, context: FormatContext) -> bool:
        return not context.capabilities.renders_results

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = [
            format_builtin_call(call, context)
            if self.is_builtin_call(call, context)
            else f"{FUNCTION}{context.mark_foreign(call.name)}>{context.mark_foreign(call.arguments)}{END}"
            for call in message.calls
        ]
        return context.mark_foreign(message.text) + "".join(calls)


def _function_tag(tool: str) -> str:
    return f"{FUNCTION}{check_bare_name(tool, '>')}>"


_SYSTEM_TEXT = (
    "You are a helpful assistant with tool calling capabilities. When you receive a tool call response, use "
    "the output to format an answer to the orginal user question."
)

_FUNCTIONS_TEXT = """You have access to the following functions:

%s

If you choose to call a function ONLY reply in the following format with no prefix or suffix:

<function=example_function_name>{"example_name": "example_value"}</function>

Reminder:
- Function calls MUST follow the specified format, start with <function= and end with </function>
- Required parameters MUST be specified
- Only call one function at a time
- Put the entire function call reply on one line
- If there is no function call available, answer the question like normal with your current knowledge and do \
not tell the user about function calls"""
