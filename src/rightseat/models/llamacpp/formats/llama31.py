"""Llama 3.1, 3.2 and 3.3, in two dialects.

`llama-3.1` is the form of the published templates: an answer that begins with `{` is a call,
`{"name": …, "parameters": …}`. `llama-3.1-functions` is `<function=NAME>{…}</function>`, described in the
prompt. Both call builtin tools after `<|python_tag|>`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.models.llamacpp.formats import python_tag
from rightseat.models.llamacpp.formats.allowed import AnswerGrammar, check_bare_name, quote_json
from rightseat.models.llamacpp.formats.format import FormatContext, dump_json, renders_results, to_openai_tool
from rightseat.models.llamacpp.formats.free import add_excluding_rule
from rightseat.models.llamacpp.formats.python_tag import TAG, PythonTagFormat
from rightseat.tools.text_calls.builtin import CODE_TOOLS
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps
from rightseat.tools.text_calls.values import copy_value
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec

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
            "code_interpreter" if tool.name in CODE_TOOLS else tool.name
            for tool in self.list_builtin_tools(context)
        ]
        return {"builtin_tools": names} if names else {}

    def describe_tools(self, context: FormatContext) -> str:
        tools = context.mark_foreign(
            "\n\n".join(dump_json(to_openai_tool(tool), indent=4) for tool in context.tools)
        )
        return (
            "You can call the functions below. To call one, answer with nothing but a JSON object of its "
            f'name and its arguments:\n{{"name": …, "parameters": …}}\n\n{tools}'
        )

    def build_functions_gbnf(self, grammar: AnswerGrammar, arguments: dict[str, str]) -> str:
        quote = grammar.rules.quote
        options = (f'{quote(_call_prefix(tool))} {rule} "}}"' for tool, rule in arguments.items())
        return grammar.repeat_calls(grammar.rules.add("call", " | ".join(options)), quote(CALL_SEPARATOR))

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

    def make_parser(self, context: FormatContext) -> Callable[[ModelTextReader], ParseSteps[None]]:
        builtins = [tool.name for tool in self.list_builtin_tools(context)]
        openings = {_call_prefix(tool.name): tool.name for tool in self.list_other_tools(context)}

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
                yield from python_tag.parse_tagged_call(reader, builtins)

        return read

    def writes_calls_as_text(self, message: Message, context: FormatContext) -> bool:
        # The published templates reject several calls in one message.
        return len(message.calls) > 1 or super().writes_calls_as_text(message, context)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        plain = [call for call in message.calls if not self.is_builtin_call(call, context)]
        calls = CALL_SEPARATOR.join(
            context.mark_foreign(f"{_call_prefix(call.name)}{call.arguments}}}") for call in plain
        )
        builtins = [
            python_tag.format_builtin_call(call, context) for call in message.calls if call not in plain
        ]
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

    def build_functions_gbnf(self, grammar: AnswerGrammar, arguments: dict[str, str]) -> str:
        quote = grammar.rules.quote
        options = (f"{quote(_function_tag(tool))} {rule} {quote(END)}" for tool, rule in arguments.items())
        return grammar.repeat_calls(grammar.rules.add("call", " | ".join(options)), '"\\n"?')

    def make_parser(self, context: FormatContext) -> Callable[[ModelTextReader], ParseSteps[None]]:
        builtins = [tool.name for tool in self.list_builtin_tools(context)]
        openings = {_function_tag(tool.name): tool.name for tool in self.list_other_tools(context)}

        def read(reader: ModelTextReader) -> ParseSteps[None]:
            while marker := (yield from reader.text_until(*openings, TAG)):
                if marker == TAG:
                    yield from python_tag.parse_tagged_call(reader, builtins)
                else:
                    yield from copy_value(reader, reader.begin_call(openings[marker]))
                    yield from reader.expect(END)
                    reader.end_call()

        return read

    def writes_results_as_text(self, context: FormatContext) -> bool:
        return not renders_results(context.capabilities)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = [
            python_tag.format_builtin_call(call, context)
            if self.is_builtin_call(call, context)
            else f"{FUNCTION}{context.mark_foreign(call.name)}>{context.mark_foreign(call.arguments)}{END}"
            for call in message.calls
        ]
        return context.mark_foreign(message.text) + "".join(calls)


def _call_prefix(tool: str) -> str:
    return f'{{"name": {quote_json(tool)}, "parameters": '


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
