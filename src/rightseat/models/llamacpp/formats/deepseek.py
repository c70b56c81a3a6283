"""DeepSeek R1 and V3: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, the arguments
in a fence of JSON, `<｜tool▁call▁end｜><｜tool▁calls▁end｜>`. V3.1 leaves out `function` and the fence.

Most of its templates render calls but not tools, so the system message describes the tools.
"""

from __future__ import annotations

from collections.abc import Iterator

from rightseat.models.llamacpp.formats.allowed import Allowed, bare
from rightseat.models.llamacpp.formats.format import Ask, Format, dumped, published
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.tools.text_calls.values import value
from rightseat.types.messages import Message

BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
ONE, DONE, SEP = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
_KIND, _FENCE, _FENCED = f"function{SEP}", "\n```json\n", "\n```"


class DeepSeek(Format):
    name = "deepseek"
    proven = True
    marks = ((BEGIN, "```json"),)
    # Distilled models omit the outer marker.
    triggers = (BEGIN, ONE)
    preserved = (BEGIN, END, ONE, DONE, SEP)
    before, between, after = _KIND, _FENCE, _FENCED
    """Markup before a call's name, before its arguments and after them."""

    def told(self, ask: Ask) -> str:
        tools = ask.foreign(dumped([published(tool)["function"] for tool in ask.tools], indent=2))
        example = f"{BEGIN}{ONE}{self.before}NAME{self.between}{{…}}{self.after}{DONE}{END}"
        return f"You can call these functions:\n{tools}\nTo call one, write exactly this form:\n{example}"

    def calls(self, allowed: Allowed) -> str:
        quote = allowed.rules.quote

        def form(tool: str, arguments: str) -> str:
            head = ONE + self.before + bare(tool, self.between) + self.between
            return f'{quote(head)} {arguments} {quote(self.after)} "\\n"? {quote(DONE)}'

        listed = allowed.repeated(allowed.each(form), '"\\n"?')
        # Published templates omit the outer end after a single call.
        return f"{quote(BEGIN)}? {listed} {quote(END)}?"

    def read(self, reader: Reader) -> Reading[None]:
        while found := (yield from reader.text(BEGIN, ONE)):
            if found == BEGIN:
                yield from reader.space()
                yield from reader.literal(ONE)
            yield from self._call(reader)
            yield from reader.space()
            while (yield from reader.maybe(ONE)):
                yield from self._call(reader)
                yield from reader.space()
            yield from reader.maybe(END)

    def _call(self, reader: Reader) -> Reading[None]:
        reader.inside = True
        yield from reader.literal(self.before)
        name = yield from reader.upto(self.between)
        yield from reader.space()
        yield from value(reader, reader.begin(name))
        yield from reader.space()
        yield from reader.literal(self.after.strip())
        yield from reader.space()
        yield from reader.literal(DONE)
        reader.end()

    def spoken(self, message: Message, ask: Ask) -> str:
        calls = "\n".join(self._shown(message, ask))
        return f"{ask.foreign(message.text)}{BEGIN}{calls}{END}"

    def _shown(self, message: Message, ask: Ask) -> Iterator[str]:
        for call in message.calls:
            body = f"{ask.foreign(call.name)}{self.between}{ask.foreign(call.arguments)}"
            yield f"{ONE}{self.before}{body}{self.after}{DONE}"

    def result(self, message: Message, ask: Ask) -> str:
        return f"<｜tool▁output▁begin｜>{ask.foreign(message.text)}<｜tool▁output▁end｜>"


class DeepSeekV31(DeepSeek):
    name = "deepseek-v3.1"
    marks = ((BEGIN, SEP),)
    before, between, after = "", SEP, ""
