"""Mistral: `[TOOL_CALLS] [{"name": …, "arguments": …, "id": …}]` (Nemo and its time), and the later
`[TOOL_CALLS]NAME[ARGS]{…}`.

Their templates reject ids that are not nine letters or digits, so call ids are mapped to such ids.
"""

from __future__ import annotations

import hashlib
import re
import string
from typing import ClassVar

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar, check_bare_name, format_call_prefix
from rightseat.models.llamacpp.formats.format import FormatContext, ToolCallFormat, dump_json
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps, copy_value, read_call_list
from rightseat.types.messages import Message

BEGIN, ARGS, ID = "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")
_LETTERS = string.ascii_letters + string.digits


class MistralFormat(ToolCallFormat):
    name = "mistral"
    needs_round_trip = True
    template_markers: ClassVar[tuple[tuple[str, ...], ...]] = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved_tokens: ClassVar[tuple[str, ...]] = (BEGIN,)

    def describe_tools(self, context: FormatContext) -> str:
        return (
            f"[AVAILABLE_TOOLS] {context.dump_tools()}[/AVAILABLE_TOOLS]\n"
            f'To call tools, write only: {BEGIN} [{{"name": …, "arguments": {{…}}, "id": nine letters}}]'
        )

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        rules = grammar.rules

        def form(tool: str, arguments: str) -> str:
            begin, id = rules.quote(format_call_prefix(tool, "arguments")), rules.quote(', "id": "')
            return f'{begin} {arguments} {id} [A-Za-z0-9]{{9}} "\\"}}"'

        listed = grammar.repeat_calls(grammar.add_call_rule(form), '"," " "?')
        return f'{rules.quote(BEGIN)} " "? "[" {listed} "]"'

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until(BEGIN)):
            yield from read_call_list(reader)

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = ", ".join(
            f'{{"name": {dump_json(call.name)}, "arguments": {call.arguments}, "id": "{to_mistral_id(call.id)}"}}'
            for call in message.calls
        )
        return f"{context.mark_foreign(message.text)}{BEGIN} {context.mark_foreign(f'[{calls}]')}"

    def format_result(self, message: Message, context: FormatContext) -> str:
        content = dump_json({"content": message.text, "call_id": to_mistral_id(message.call_id or "")})
        return f"[TOOL_RESULTS] {context.mark_foreign(content)}[/TOOL_RESULTS]"

    def format_history(self, context: FormatContext) -> tuple[Message, ...]:
        return tuple(map(_with_mistral_ids, super().format_history(context)))


class MistralArgsFormat(MistralFormat):
    """The format `[TOOL_CALLS]NAME[ARGS]{…}` of Mistral Small 3.2, Devstral and Ministral."""

    name = "mistral-args"
    template_markers = ((BEGIN, ARGS),)
    preserved_tokens = (BEGIN, ID, ARGS)

    def describe_tools(self, context: FormatContext) -> str:
        return (
            f"[AVAILABLE_TOOLS]{context.dump_tools()}[/AVAILABLE_TOOLS]\n"
            f"To call a tool, write only {BEGIN}, its name, {ARGS} and its arguments as a JSON object."
        )

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        rules = grammar.rules
        id = rules.add("id", f"{rules.quote(ID)} [A-Za-z0-9]{{9}}")

        def form(tool: str, arguments: str) -> str:
            return f"{rules.quote(BEGIN + check_bare_name(tool, ID, ARGS))} {id}? {rules.quote(ARGS)} {arguments}"

        return grammar.repeat_calls(grammar.add_call_rule(form))

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until(BEGIN)):
            reader.inside_call = True
            head = yield from reader.read_until(ARGS)
            yield from copy_value(reader, reader.begin_call(head.partition(ID)[0]))
            reader.end_call()

    def format_calls(self, message: Message, context: FormatContext) -> str:
        calls = (
            f"{BEGIN}{context.mark_foreign(call.name)}{ARGS}{context.mark_foreign(call.arguments)}"
            for call in message.calls
        )
        return context.mark_foreign(message.text) + "".join(calls)


def to_mistral_id(id: str) -> str:
    """Map an id deterministically to nine letters or digits, as Mistral's templates require."""
    if _MISTRAL_ID.fullmatch(id):
        return id
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:9])


def _with_mistral_ids(message: Message) -> Message:
    if message.calls:
        return replace(message, calls=tuple(replace(call, id=to_mistral_id(call.id)) for call in message.calls))
    return message if message.call_id is None else replace(message, call_id=to_mistral_id(message.call_id))
