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

from rightseat.models.llamacpp.formats.allowed import Allowed, as_json, bare
from rightseat.models.llamacpp.formats.format import Ask, Format, dumped, published
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.tools.text_calls.values import call_list, value
from rightseat.types.messages import Message

BEGIN, ARGS, ID = "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_LETTERS = string.ascii_letters + string.digits


class Mistral(Format):
    name = "mistral"
    proven = True
    marks: ClassVar[tuple[tuple[str, ...], ...]] = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved: ClassVar[tuple[str, ...]] = (BEGIN,)

    def told(self, ask: Ask) -> str:
        tools = ask.foreign(dumped([published(tool) for tool in ask.tools]))
        return (
            f"[AVAILABLE_TOOLS] {tools}[/AVAILABLE_TOOLS]\n"
            f'To call tools, write only: {BEGIN} [{{"name": …, "arguments": {{…}}, "id": nine letters}}]'
        )

    def calls(self, allowed: Allowed) -> str:
        rules = allowed.rules

        def form(tool: str, arguments: str) -> str:
            begin = rules.quote(f'{{"name": {as_json(tool)}, "arguments": ')
            id = rules.quote(', "id": "')
            return f'{begin} {arguments} {id} [A-Za-z0-9]{{9}} "\\"}}"'

        listed = allowed.repeated(allowed.each(form), '"," " "?')
        return f'{rules.quote(BEGIN)} " "? "[" {listed} "]"'

    def read(self, reader: Reader) -> Reading[None]:
        while (yield from reader.text(BEGIN)):
            yield from call_list(reader)

    def spoken(self, message: Message, ask: Ask) -> str:
        calls = ", ".join(
            f'{{"name": {dumped(call.name)}, "arguments": {call.arguments}, "id": "{nine(call.id)}"}}'
            for call in message.calls
        )
        return f"{ask.foreign(message.text)}{BEGIN} {ask.foreign(f'[{calls}]')}"

    def result(self, message: Message, ask: Ask) -> str:
        told = dumped({"content": message.text, "call_id": nine(message.call_id or "")})
        return f"[TOOL_RESULTS] {ask.foreign(told)}[/TOOL_RESULTS]"

    def history(self, ask: Ask) -> tuple[Message, ...]:
        return tuple(map(_with_short_ids, super().history(ask)))


class MistralNamed(Mistral):
    """The format `[TOOL_CALLS]NAME[ARGS]{…}` of Mistral Small 3.2, Devstral and Ministral."""

    name = "mistral-args"
    marks = ((BEGIN, ARGS),)
    preserved = (BEGIN, ID, ARGS)

    def told(self, ask: Ask) -> str:
        tools = ask.foreign(dumped([published(tool) for tool in ask.tools]))
        return (
            f"[AVAILABLE_TOOLS]{tools}[/AVAILABLE_TOOLS]\n"
            f"To call a tool, write only {BEGIN}, its name, {ARGS} and its arguments as a JSON object."
        )

    def calls(self, allowed: Allowed) -> str:
        rules = allowed.rules
        id = rules.add("id", f"{rules.quote(ID)} [A-Za-z0-9]{{9}}")

        def form(tool: str, arguments: str) -> str:
            return f"{rules.quote(BEGIN + bare(tool, ID, ARGS))} {id}? {rules.quote(ARGS)} {arguments}"

        return allowed.repeated(allowed.each(form))

    def read(self, reader: Reader) -> Reading[None]:
        while (yield from reader.text(BEGIN)):
            reader.inside = True
            head = yield from reader.upto(ARGS)
            yield from value(reader, reader.begin(head.partition(ID)[0]))
            reader.end()

    def spoken(self, message: Message, ask: Ask) -> str:
        calls = (
            f"{BEGIN}{ask.foreign(call.name)}{ARGS}{ask.foreign(call.arguments)}" for call in message.calls
        )
        return ask.foreign(message.text) + "".join(calls)


def nine(id: str) -> str:
    """Map an id deterministically to nine letters or digits, as Mistral's templates require."""
    if _NINE.fullmatch(id):
        return id
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:9])


def _with_short_ids(message: Message) -> Message:
    if message.calls:
        return replace(message, calls=tuple(replace(call, id=nine(call.id)) for call in message.calls))
    return message if message.call_id is None else replace(message, call_id=nine(message.call_id))
