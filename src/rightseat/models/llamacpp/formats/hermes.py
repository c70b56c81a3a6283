"""Hermes 2 Pro, Hermes 3, Qwen 2.5 and 3: `<tool_call>{"name": …, "arguments": …}</tool_call>`.

The grammar puts the name first, because the arguments' schema depends on it; Hermes was trained on both
orders, and the parser accepts both.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rightseat.models.llamacpp.formats.allowed import AnswerGrammar
from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat, dump_json, to_openai_tool
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps
from rightseat.tools.text_calls.values import read_call_object
from rightseat.types.messages import Message

BEGIN, END = "<tool_call>", "</tool_call>"
RESULT_TEMPLATE = "<tool_response>\n{}\n</tool_response>"
_CALL_SCHEMA = (
    '{"properties": {"arguments": {"title": "Arguments", "type": "object"}, '
    '"name": {"title": "Name", "type": "string"}}, "required": ["arguments", "name"], '
    '"title": "FunctionCall", "type": "object"}'
)


class HermesFormat(ToolCallFormat):
    name = "hermes"
    needs_round_trip = True
    template_markers: ClassVar[tuple[tuple[str, ...], ...]] = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved_tokens = (BEGIN, END)

    def describe_tools(self, context: FormatContext) -> str:
        tools = context.mark_foreign(dump_json([to_openai_tool(tool) for tool in context.tools], indent=2))
        return (
            "You are a function calling AI model. You are provided with function signatures within "
            "<tools></tools> XML tags.\n\n"
            "You may call one or more functions to assist with the user query. Don't make assumptions about "
            "what values to plug into functions.\n\n"
            f"Here are the available tools: <tools>{tools}</tools>\n\n"
            "Use the following pydantic model json schema for each tool call you will make:\n\n"
            f"{_CALL_SCHEMA}\n\n"
            "For each function call return a json object with function name and arguments within "
            "<tool_call></tool_call> XML tags as follows:\n\n"
            '<tool_call>\n{"arguments": <args-dict>, "name": <function-name>}\n</tool_call>'
        )

    def describe_output_schema(self, schema: dict[str, Any], context: FormatContext) -> str:
        words = "You are a helpful assistant that answers in JSON. Here's the json schema you must adhere to:"
        return f"{words}\n<schema>\n{context.mark_foreign(dump_json(schema, indent=2))}\n</schema>"

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        quote = grammar.rules.quote
        call = grammar.add_json_call_rule()
        tagged_call = grammar.rules.add("tagged", f'{quote(BEGIN)} "\\n"? {call} "\\n"? {quote(END)}')
        return grammar.repeat_calls(tagged_call, '"\\n"?')

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until(BEGIN)):
            yield from read_call_object(reader, arguments=("arguments", "parameters"))
            yield from reader.skip_space()
            yield from reader.expect(END)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        bodies = (
            f'{{"name": {dump_json(call.name)}, "arguments": {call.arguments}}}' for call in message.calls
        )
        calls = (f"{BEGIN}\n{context.mark_foreign(body)}\n{END}" for body in bodies)
        return "\n".join(filter(None, [context.mark_foreign(message.text), *calls]))

    def format_result(self, message: Message, context: FormatContext) -> str:
        return RESULT_TEMPLATE.format(context.mark_foreign(message.text))
