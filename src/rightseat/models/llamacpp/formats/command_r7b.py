"""Command R7B: `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": …}]<|END_ACTION|>`.

Text is enclosed in `<|START_RESPONSE|>` and `<|END_RESPONSE|>`; a thought precedes calls and text.
"""

from __future__ import annotations

from rightseat.models.llamacpp.formats.allowed import Allowed, as_json
from rightseat.models.llamacpp.formats.format import Ask, Format, dumped, published
from rightseat.models.llamacpp.grammar import Rules
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.tools.text_calls.values import call_list
from rightseat.types.messages import Message

BEGIN, END = "<|START_ACTION|>", "<|END_ACTION|>"
SAY, SAID = "<|START_RESPONSE|>", "<|END_RESPONSE|>"
_SPACE = "[ \\n]{0,8}"


class CommandR7B(Format):
    name = "command-r7b"
    proven = True
    marks = ((BEGIN,),)
    triggers = (BEGIN,)
    preserved = (BEGIN, END, SAY, SAID)

    def told(self, ask: Ask) -> str:
        tools = "\n".join(dumped(published(tool)["function"]) for tool in ask.tools)
        form = '[{"tool_call_id": "0", "tool_name": …, "parameters": {…}}]'
        return (
            f"You can use these tools:\n{ask.foreign(tools)}\n"
            f"To call tools, write {BEGIN}{form}{END}. To answer, write {SAY}, the answer and {SAID}."
        )

    def calls(self, allowed: Allowed) -> str:
        rules = allowed.rules

        def form(tool: str, arguments: str) -> str:
            begin = rules.quote('{"tool_call_id": "')
            name = rules.quote(f'", "tool_name": {as_json(tool)}, "parameters": ')
            return f'{begin} [0-9]{{1,3}} {name} {arguments} "}}"'

        listed = allowed.repeated(allowed.each(form), f'"," {_SPACE}')
        return f'{rules.quote(BEGIN)} "[" {_SPACE} {listed} {_SPACE} "]" {rules.quote(END)}'

    def answer(self, output: str) -> str:
        return f"{Rules.quote(SAY)}? {output} {Rules.quote(SAID)}?"

    def read(self, reader: Reader) -> Reading[None]:
        while found := (yield from reader.text(BEGIN, SAY, SAID)):
            if found == BEGIN:
                yield from call_list(reader, name=("tool_name",), arguments=("parameters",))
                yield from reader.space()
                yield from reader.literal(END)

    def words(self, reader: Reader) -> Reading[None]:
        while (yield from reader.text(SAY, SAID)):
            pass

    def spoken(self, message: Message, ask: Ask) -> str:
        calls = ", ".join(
            f'{{"tool_call_id": "{number}", "tool_name": {dumped(call.name)}, '
            f'"parameters": {call.arguments}}}'
            for number, call in enumerate(message.calls)
        )
        return f"{ask.foreign(message.text)}{BEGIN}{ask.foreign(f'[{calls}]')}{END}"
