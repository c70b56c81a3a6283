"""FireFunction v2: `functools[{"name": …, "arguments": …}, …]` after the text of an answer."""

from __future__ import annotations

from typing import ClassVar

from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar
from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat, dump_json
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps, read_call_list
from rightseat.types.messages import Message

BEGIN = "functools"


class FireFunctionFormat(ToolCallFormat):
    """The template gets the tools as JSON text in its variable `functions`."""

    name = "firefunction"
    needs_round_trip = True
    template_markers: ClassVar[tuple[tuple[str, ...], ...]] = ((f"{BEGIN}[", "functions"),)
    triggers = (f"{BEGIN}[",)

    def describe_tools(self, context: FormatContext) -> str:
        return (
            f"You can call these functions:\n{context.dump_tools(indent=4)}\n"
            f'To call functions, write only: {BEGIN}[{{"name": …, "arguments": {{…}}}}, …]'
        )

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        listed = grammar.repeat_calls(grammar.add_json_call_rule(), '"," " "?')
        return f'" "? {grammar.rules.quote(f"{BEGIN}[")} {listed} "]"'

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until(f"{BEGIN}[")):
            yield from read_call_list(reader, opened=True)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = ", ".join(
            f'{{"name": {dump_json(call.name)}, "arguments": {call.arguments}}}' for call in message.calls
        )
        return context.mark_foreign(f"{message.text} {BEGIN}[{calls}]".lstrip())
