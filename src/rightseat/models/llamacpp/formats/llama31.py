"""Llama 3.1, 3.2 and 3.3, in two dialects.

`llama-3.1` is the form of the published templates: an answer that begins with `{` is a call,
`{"name": …, "parameters": …}`. `llama-3.1-functions` is `<function=NAME>{…}</function>`, described in the
prompt. Both call builtin tools after `<|python_tag|>`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.models.llamacpp.formats import python_tag
from rightseat.models.llamacpp.formats.allowed import Allowed, as_json, bare
from rightseat.models.llamacpp.formats.format import Ask, dumped, published, shows_results
from rightseat.models.llamacpp.formats.free import without
from rightseat.models.llamacpp.formats.python_tag import TAG, PythonTag
from rightseat.tools.text_calls.builtin import CODE
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.tools.text_calls.values import value
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec

BETWEEN = "; "
FUNCTION, END = "<function=", "</function>"
KNOWLEDGE = "December 2023"


class Llama31(PythonTag):
    name = "llama-3.1"
    marks = (("<|start_header_id|>ipython<|end_header_id|>", '"parameters"'),)
    triggers = (TAG,)

    def builtins(self, ask: Ask) -> tuple[ToolSpec, ...]:
        return super().builtins(ask) if ask.abilities.builtin_tools else ()

    def names(self, ask: Ask) -> dict[str, Any]:
        # The template's name for the interpreter, which it does not list as a tool.
        names = ["code_interpreter" if tool.name in CODE else tool.name for tool in self.builtins(ask)]
        return {"builtin_tools": names} if names else {}

    def told(self, ask: Ask) -> str:
        tools = ask.foreign("\n\n".join(dumped(published(tool), indent=4) for tool in ask.tools))
        return (
            "You can call the functions below. To call one, answer with nothing but a JSON object of its "
            f'name and its arguments:\n{{"name": …, "parameters": …}}\n\n{tools}'
        )

    def functions(self, allowed: Allowed, arguments: dict[str, str]) -> str:
        quote = allowed.rules.quote
        options = (f'{quote(_opening(tool))} {rule} "}}"' for tool, rule in arguments.items())
        return allowed.repeated(allowed.rules.add("call", " | ".join(options)), quote(BETWEEN))

    def root(self, allowed: Allowed) -> str:
        if allowed.must or allowed.output is not None:
            return super().root(allowed)
        functions, tagged = self.kinds(allowed)
        text = f"{self.text(allowed)} {tagged and f'({tagged})?'}"
        return " | ".join(filter(None, [text, functions]))

    def text(self, allowed: Allowed) -> str:
        # An answer after a thought must not start with `{` either.
        words = (*self.triggers, *allowed.ask.thinking.marks)
        return without(allowed.rules, words, first="{ \t\r\n")

    def reading(self, ask: Ask) -> Callable[[Reader], Reading[None]]:
        builtins = [tool.name for tool in self.builtins(ask)]
        openings = {_opening(tool.name): tool.name for tool in self.others(ask)}

        def read(reader: Reader) -> Reading[None]:
            opening = yield from reader.peek(*openings)
            while opening is not None:
                yield from reader.literal(opening)
                yield from value(reader, reader.begin(openings[opening]))
                yield from reader.literal("}")
                reader.end()
                opening = yield from reader.peek(*(BETWEEN + opening for opening in openings))
                if opening is not None:
                    yield from reader.literal(BETWEEN)
                    opening = opening.removeprefix(BETWEEN)
            if (yield from reader.text(TAG)):
                yield from python_tag.read(reader, builtins)

        return read

    def speaks(self, message: Message, ask: Ask) -> bool:
        # The published templates reject several calls in one message.
        return len(message.calls) > 1 or super().speaks(message, ask)

    def spoken(self, message: Message, ask: Ask) -> str:
        plain = [call for call in message.calls if not self.tagged(call, ask)]
        calls = BETWEEN.join(ask.foreign(f"{_opening(call.name)}{call.arguments}}}") for call in plain)
        builtins = [python_tag.spoken(call, ask) for call in message.calls if call not in plain]
        return "\n".join(filter(None, [ask.foreign(message.text), calls, *builtins]))


class LlamaFunctions(PythonTag):
    name = "llama-3.1-functions"
    own_prompt = True
    leads = True
    triggers = (FUNCTION, TAG)

    def told(self, ask: Ask) -> str:
        builtins = [tool.name for tool in self.builtins(ask)]
        searches = ", ".join(name for name in builtins if name not in CODE)
        head = ["Environment: ipython"] if any(name in CODE for name in builtins) else []
        head += [f"Tools: {searches}"] if searches else []
        dates = f"Cutting Knowledge Date: {KNOWLEDGE}\nToday's Date: {ask.clock():%Y-%m-%d}"
        others = self.others(ask)
        tools = ask.foreign(dumped([published(tool) for tool in others], indent=2))
        functions = _FUNCTIONS % tools if others else ""
        return "\n\n".join(filter(None, ["\n".join(head), dates, _HELPFUL, functions]))

    def functions(self, allowed: Allowed, arguments: dict[str, str]) -> str:
        quote = allowed.rules.quote
        options = (f"{quote(_tag(tool))} {rule} {quote(END)}" for tool, rule in arguments.items())
        return allowed.repeated(allowed.rules.add("call", " | ".join(options)), '"\\n"?')

    def reading(self, ask: Ask) -> Callable[[Reader], Reading[None]]:
        builtins = [tool.name for tool in self.builtins(ask)]
        openings = {_tag(tool.name): tool.name for tool in self.others(ask)}

        def read(reader: Reader) -> Reading[None]:
            while found := (yield from reader.text(*openings, TAG)):
                if found == TAG:
                    yield from python_tag.read(reader, builtins)
                else:
                    yield from value(reader, reader.begin(openings[found]))
                    yield from reader.literal(END)
                    reader.end()

        return read

    def tells(self, ask: Ask) -> bool:
        return not shows_results(ask.abilities)

    def spoken(self, message: Message, ask: Ask) -> str:
        calls = [
            python_tag.spoken(call, ask)
            if self.tagged(call, ask)
            else f"{FUNCTION}{ask.foreign(call.name)}>{ask.foreign(call.arguments)}{END}"
            for call in message.calls
        ]
        return ask.foreign(message.text) + "".join(calls)


def _opening(tool: str) -> str:
    return f'{{"name": {as_json(tool)}, "parameters": '


def _tag(tool: str) -> str:
    return f"{FUNCTION}{bare(tool, '>')}>"


_HELPFUL = (
    "You are a helpful assistant with tool calling capabilities. When you receive a tool call response, use "
    "the output to format an answer to the orginal user question."
)
_FUNCTIONS = """You have access to the following functions:

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
