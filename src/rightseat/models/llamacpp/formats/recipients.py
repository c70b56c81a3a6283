"""Base of the Functionary formats: an answer is a list of messages, each to `all` or to a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.models.llamacpp.formats import python_tag
from rightseat.models.llamacpp.formats.allowed import Allowed, bare
from rightseat.models.llamacpp.formats.format import Ask, Format, Plan, shows_calls, shows_results
from rightseat.models.llamacpp.formats.free import without
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.tools.text_calls.values import value
from rightseat.types.messages import Message
from rightseat.types.model import ToolChoice

ALL = "all"
INTERPRETER = "python"


class Recipients(Format):
    begin: ClassVar[str]
    """Markup before a recipient."""
    middle: ClassVar[str]
    """Markup between a recipient and its content."""
    leads = True

    def interpreter(self, ask: Ask) -> str | None:
        """Return the tool that takes Python code instead of JSON, as the recipient `python`."""
        return None

    def recipients(self, ask: Ask) -> dict[str, str]:
        """Return the callable tools by their recipient markup."""
        interpreter = self.interpreter(ask)
        addressed = (tool.name for tool in ask.tools if tool.name != interpreter)
        names = {self._to(name): name for name in addressed}
        return names if interpreter is None else {INTERPRETER + self.middle: interpreter, **names}

    def _to(self, tool: str) -> str:
        if tool == ALL:
            raise CallerError(f"This model calls everybody {ALL!r}: give the tool another name.")
        return bare(tool, self.middle, "\n") + self.middle

    def begins(self, recipients: Iterable[str]) -> tuple[str, ...]:
        """Return the markers that begin a further message."""
        return tuple(self.begin + recipient for recipient in (ALL + self.middle, *recipients))

    def barred(self, recipients: Iterable[str]) -> tuple[str, ...]:
        """Return the markers that text must not contain."""
        return self.begins(recipients)

    def calls(self, allowed: Allowed) -> str:
        quote = allowed.rules.quote
        recipients = self.recipients(allowed.ask)
        interpreter = self.interpreter(allowed.ask)
        options = []
        for recipient, tool in recipients.items():
            told = allowed.arguments[tool]
            if tool == interpreter:
                told = without(allowed.rules, self.barred(recipients))
            options.append(f"{quote(recipient)} {told}")
        one = allowed.rules.add("call", " | ".join(options))
        return allowed.repeated(one, f'"\\n"? {quote(self.begin)}')

    def root(self, allowed: Allowed) -> str:
        calls = self.calls(allowed)
        if allowed.must:
            return calls
        everybody = allowed.rules.quote(ALL + self.middle)
        if allowed.output is not None:
            return f"{calls} | {everybody} {allowed.output}"
        return f"{everybody} {self.text(allowed)} ({allowed.rules.quote(self.begin)} {calls})? | {calls}"

    def text(self, allowed: Allowed) -> str:
        return without(allowed.rules, self.barred(self.recipients(allowed.ask)))

    def plain(self, ask: Ask) -> Plan:
        everything = replace(ask, prompt=replace(ask.prompt, tool_choice=ToolChoice()))
        begins = self.begins(self.recipients(everything))

        def words(reader: Reader) -> Reading[None]:
            # Messages to other recipients are dropped.
            yield from reader.text(*begins)

        # The prompt already contains the recipient `all`.
        ending = self.ending(ask) + ALL + self.middle
        return replace(super().plain(ask), ending=ending, read=ask.thinking.before(words))

    def ending(self, ask: Ask) -> str:
        """Return the part of the recipient prefix that the generation prompt lacks."""
        sizes = range(len(self.begin), -1, -1)
        there = next(size for size in sizes if ask.abilities.ending.endswith(self.begin[:size]))
        return self.begin[there:]

    def reading(self, ask: Ask) -> Callable[[Reader], Reading[None]]:
        recipients = self.recipients(ask)
        interpreter = self.interpreter(ask)
        begins = self.begins(recipients)

        def read(reader: Reader) -> Reading[None]:
            recipient = yield from reader.peek(ALL + self.middle, *recipients)
            yield from reader.literal(recipient or "")
            while True:
                tool = recipients.get(recipient or "")
                if tool is None:
                    begin = yield from reader.text(*begins)
                elif tool == interpreter:
                    begin = yield from python_tag.code(reader, tool, *begins)
                else:
                    yield from value(reader, reader.begin(tool))
                    reader.end()
                    # Text between messages is dropped.
                    begin = yield from reader.text(*begins, emit=_unheard)
                if begin is None:
                    return
                recipient = begin.removeprefix(self.begin)

        return read

    def speaks(self, message: Message, ask: Ask) -> bool:
        return not shows_calls(message, ask.abilities)

    def tells(self, ask: Ask) -> bool:
        return not shows_results(ask.abilities)

    def spoken(self, message: Message, ask: Ask) -> str:
        calls = (
            f"{self.begin}{ask.foreign(call.name)}{self.middle}{ask.foreign(call.arguments)}"
            for call in message.calls
        )
        text = f"{self.begin}{ALL}{self.middle}{ask.foreign(message.text)}" if message.text else ""
        return "\n".join(filter(None, [text, *calls]))

    def history(self, ask: Ask) -> tuple[Message, ...]:
        """Add missing tool names to results, because the template renders results by name."""
        called = {call.id: call.name for message in ask.prompt.messages for call in message.calls}

        def fitted(message: Message) -> Message:
            if message.role != "tool" or message.name:
                return message
            return replace(message, name=called.get(message.call_id or "", "tool"))

        messages = tuple(map(fitted, ask.prompt.messages))
        return super().history(replace(ask, prompt=replace(ask.prompt, messages=messages)))


def _unheard(text: str) -> None:
    pass
