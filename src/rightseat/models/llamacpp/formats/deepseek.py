"""DeepSeek R1 and V3: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, the arguments
in a fence of JSON, `<｜tool▁call▁end｜><｜tool▁calls▁end｜>`. V3.1 leaves out `function` and the fence.

Most of its templates render calls but not tools, so the system message describes the tools.
"""

from __future__ import annotations

from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar, check_bare_name
from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat, dump_json, to_openai_tool
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps, copy_value
from rightseat.types.messages import Message

CALLS_BEGIN, CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL_BEGIN, CALL_END, SEP = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
_FUNCTION_PREFIX, _FENCE_BEGIN, _FENCE_END = f"function{SEP}", "\n```json\n", "\n```"


class DeepSeekFormat(ToolCallFormat):
    name = "deepseek"
    needs_round_trip = True
    template_markers = ((CALLS_BEGIN, "```json"),)
    # Distilled models omit the outer marker.
    triggers = (CALLS_BEGIN, CALL_BEGIN)
    preserved_tokens = (CALLS_BEGIN, CALLS_END, CALL_BEGIN, CALL_END, SEP)
    name_prefix, arguments_prefix, arguments_suffix = _FUNCTION_PREFIX, _FENCE_BEGIN, _FENCE_END
    """Markup before a call's name, before its arguments and after them."""

    def describe_tools(self, context: FormatContext) -> str:
        tools = context.mark_foreign(dump_json([to_openai_tool(tool)["function"] for tool in context.tools], indent=2))
        call = f"{self.name_prefix}NAME{self.arguments_prefix}{{…}}{self.arguments_suffix}"
        example = f"{CALLS_BEGIN}{CALL_BEGIN}{call}{CALL_END}{CALLS_END}"
        return f"You can call these functions:\n{tools}\nTo call one, write exactly this form:\n{example}"

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        quote = grammar.rules.quote

        def form(tool: str, arguments: str) -> str:
            head = CALL_BEGIN + self.name_prefix + check_bare_name(tool, self.arguments_prefix) + self.arguments_prefix
            return f'{quote(head)} {arguments} {quote(self.arguments_suffix)} "\\n"? {quote(CALL_END)}'

        listed = grammar.repeat_calls(grammar.add_call_rule(form), '"\\n"?')
        # Published templates omit the outer end after a single call.
        return f"{quote(CALLS_BEGIN)}? {listed} {quote(CALLS_END)}?"

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while marker := (yield from reader.text_until(CALLS_BEGIN, CALL_BEGIN)):
            if marker == CALLS_BEGIN:
                yield from reader.skip_space()
                yield from reader.expect(CALL_BEGIN)
            more = True
            while more:
                yield from self._parse_call(reader)
                yield from reader.skip_space()
                more = yield from reader.accept(CALL_BEGIN)
            yield from reader.accept(CALLS_END)

    def _parse_call(self, reader: ModelTextReader) -> ParseSteps[None]:
        reader.inside_call = True
        yield from reader.expect(self.name_prefix)
        name = yield from reader.read_until(self.arguments_prefix)
        yield from reader.skip_space()
        yield from copy_value(reader, reader.begin_call(name))
        yield from reader.skip_space()
        yield from reader.expect(self.arguments_suffix.strip())
        yield from reader.skip_space()
        yield from reader.expect(CALL_END)
        reader.end_call()

    def format_calls(self, message: Message, context: FormatContext) -> str:
        mark = context.mark_foreign
        bodies = (f"{mark(call.name)}{self.arguments_prefix}{mark(call.arguments)}" for call in message.calls)
        calls = (f"{CALL_BEGIN}{self.name_prefix}{body}{self.arguments_suffix}{CALL_END}" for body in bodies)
        return mark(message.text) + CALLS_BEGIN + "\n".join(calls) + CALLS_END

    def format_result(self, message: Message, context: FormatContext) -> str:
        return f"<｜tool▁output▁begin｜>{context.mark_foreign(message.text)}<｜tool▁output▁end｜>"


class DeepSeekV31Format(DeepSeekFormat):
    name = "deepseek-v3.1"
    template_markers = ((CALLS_BEGIN, SEP),)
    name_prefix, arguments_prefix, arguments_suffix = "", SEP, ""
