"""Hermes 2 Pro, Hermes 3, Qwen 2.5 and 3: `<tool_call>{"name": …, "arguments": …}</tool_call>`.

The grammar puts the name first, because the arguments' schema depends on it; Hermes was trained on both
orders, and the parser accepts both.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rightseat.models.llamacpp.formats.allowed import Allowed
from rightseat.models.llamacpp.formats.format import Ask, Format, dumped, published
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.tools.text_calls.values import call_object
from rightseat.types.messages import Message

BEGIN, END = "<tool_call>", "</tool_call>"
RESULT = "<tool_response>\n{}\n</tool_response>"
_FORM = (
    '{"properties": {"arguments": {"title": "Arguments", "type": "object"}, '
    '"name": {"title": "Name", "type": "string"}}, "required": ["arguments", "name"], '
    '"title": "FunctionCall", "type": "object"}'
)


class Hermes(Format):
    name = "hermes"
    proven = True
    marks: ClassVar[tuple[tuple[str, ...], ...]] = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved = (BEGIN, END)

    def told(self, ask: Ask) -> str:
        tools = ask.foreign(dumped([published(tool) for tool in ask.tools], indent=2))
        return (
            "You are a function calling AI model. You are provided with function signatures within "
            "<tools></tools> XML tags.\n\n"
            "You may call one or more functions to assist with the user query. Don't make assumptions about "
            "what values to plug into functions.\n\n"
            f"Here are the available tools: <tools>{tools}</tools>\n\n"
            "Use the following pydantic model json schema for each tool call you will make:\n\n"
            f"{_FORM}\n\n"
            "For each function call return a json object with function name and arguments within "
            "<tool_call></tool_call> XML tags as follows:\n\n"
            '<tool_call>\n{"arguments": <args-dict>, "name": <function-name>}\n</tool_call>'
        )

    def told_schema(self, schema: dict[str, Any], ask: Ask) -> str:
        words = "You are a helpful assistant that answers in JSON. Here's the json schema you must adhere to:"
        return f"{words}\n<schema>\n{ask.foreign(dumped(schema, indent=2))}\n</schema>"

    def calls(self, allowed: Allowed) -> str:
        quote = allowed.rules.quote
        call = allowed.json_call()
        one = allowed.rules.add("tagged", f'{quote(BEGIN)} "\\n"? {call} "\\n"? {quote(END)}')
        return allowed.repeated(one, '"\\n"?')

    def read(self, reader: Reader) -> Reading[None]:
        while (yield from reader.text(BEGIN)):
            yield from call_object(reader, arguments=("arguments", "parameters"))
            yield from reader.space()
            yield from reader.literal(END)

    def spoken(self, message: Message, ask: Ask) -> str:
        bodies = (f'{{"name": {dumped(call.name)}, "arguments": {call.arguments}}}' for call in message.calls)
        calls = (f"{BEGIN}\n{ask.foreign(body)}\n{END}" for body in bodies)
        return "\n".join(filter(None, [ask.foreign(message.text), *calls]))

    def result(self, message: Message, ask: Ask) -> str:
        return RESULT.format(ask.foreign(message.text))
