"""Command R7B: `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": …}]<|END_ACTION|>`.

Text is enclosed in `<|START_RESPONSE|>` and `<|END_RESPONSE|>`; a thought precedes calls and text.
"""

from __future__ import annotations

from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar, quote_json
from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat, dump_json, to_openai_tool
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps, read_call_list
from rightseat.types.messages import Message

BEGIN, END = "<|START_ACTION|>", "<|END_ACTION|>"
RESPONSE_BEGIN, RESPONSE_END = "<|START_RESPONSE|>", "<|END_RESPONSE|>"
_SPACE = "[ \\n]{0,8}"


class CommandR7BFormat(ToolCallFormat):
    name = "command-r7b"
    needs_round_trip = True
    template_markers = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved_tokens = (BEGIN, END, RESPONSE_BEGIN, RESPONSE_END)

    def describe_tools(self, context: FormatContext) -> str:
        tools = "\n".join(dump_json(to_openai_tool(tool)["function"]) for tool in context.tools)
        form = '[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]'
        return (
            f"You can use these tools:\n{context.mark_foreign(tools)}\n"
            f"To call tools, write {BEGIN}{form}{END}. "
            f"To answer, write {RESPONSE_BEGIN}, the answer and {RESPONSE_END}."
        )

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        rules = grammar.rules

        def form(tool: str, arguments: str) -> str:
            begin = rules.quote('{"tool_call_id": "')
            name = rules.quote(f'", "tool_name": {quote_json(tool)}, "parameters": ')
            return f'{begin} [0-9]{{1,3}} {name} {arguments} "}}"'

        listed = grammar.repeat_calls(grammar.add_call_rule(form), f'"," {_SPACE}')
        return f'{rules.quote(BEGIN)} "[" {_SPACE} {listed} {_SPACE} "]" {rules.quote(END)}'

    def build_output_gbnf(self, output: str) -> str:
        return f"{GrammarRules.quote(RESPONSE_BEGIN)}? {output} {GrammarRules.quote(RESPONSE_END)}?"

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while marker := (yield from reader.text_until(BEGIN, RESPONSE_BEGIN, RESPONSE_END)):
            if marker == BEGIN:
                yield from read_call_list(reader, name=("tool_name",), arguments=("parameters",))
                yield from reader.skip_space()
                yield from reader.expect(END)

    def parse_text(self, reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until(RESPONSE_BEGIN, RESPONSE_END)):
            pass

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = ", ".join(
            f'{{"tool_call_id": "{number}", "tool_name": {dump_json(call.name)}, "parameters": {call.arguments}}}'
            for number, call in enumerate(message.calls)
        )
        return f"{context.mark_foreign(message.text)}{BEGIN}{context.mark_foreign(f'[{calls}]')}{END}"
