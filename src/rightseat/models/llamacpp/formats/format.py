"""What a tool-call format is: how a model is told of tools, what it may write, and how that is read.

One file per format; each fills the hooks of `Format`. Pure: no I/O. `plan` is the same for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightseat.models.llamacpp.abilities import Abilities
from rightseat.models.llamacpp.control import Control, Trusted
from rightseat.models.llamacpp.formats.allowed import Allowed
from rightseat.models.llamacpp.formats.free import without
from rightseat.models.llamacpp.formats.thinking import Thinking
from rightseat.tools.text_calls.reader import Reader, Reading
from rightseat.types.messages import Message, Text, said
from rightseat.types.model import Prompt, ToolSpec


class Ask(Struct, frozen=True, kw_only=True):
    """One prompt, and what is known of the model it goes to."""

    prompt: Prompt
    abilities: Abilities
    control: Control = Control(())
    thinking: Thinking = Thinking()
    publish: Literal["typescript", "json"] = "typescript"
    """How tools are shown where the format leaves it open."""
    thought: Literal["content", "reasoning"] = "content"
    """What the generic format's thought is to the caller."""
    clock: Callable[[], datetime] = datetime.now

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.prompt.callable

    @property
    def must(self) -> bool:
        return self.prompt.must

    def foreign(self, text: str) -> str:
        """Somebody else's text, to be put between our own: its control tokens are text."""
        marked: str = self.control.mark(text)
        return marked


class Plan(Struct, frozen=True, kw_only=True):
    """How the prompt goes to the engine, and how the answer is read."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    """For the template, in OpenAI's form; none where the format itself tells of them."""
    names: dict[str, Any] = {}
    """Further names for the template."""
    ending: str = ""
    """What the answer begins with, put behind the prompt; it is not read."""
    grammar: str = ""
    adapted: bool = False
    """The answer is one for the adapter that was loaded beside the model."""
    stops: tuple[str, ...] = ()
    preserved: tuple[str, ...] = ()
    """Control tokens that must be seen in the answer."""
    enveloped: bool = False
    """What the caller sees is inside something else: the caller's stop words do not go to the engine."""
    enforced: frozenset[str] = frozenset()
    read: Callable[[Reader], Reading[None]]

    def reader(self) -> Reader:
        return Reader(self.read, enforced=self.enforced)


class Format:
    name: ClassVar[str]
    marks: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """A template that contains all of one of these was made for this format."""
    proven: ClassVar[bool] = False
    """Marks are not enough: `read` must read back a call that the template shows. Other formats use the same
    marks in other ways."""
    own_prompt: ClassVar[bool] = False
    """The format tells of the tools itself, also where the template could."""
    leads: ClassVar[bool] = False
    """What it tells stands before the caller's system message, not behind it."""
    triggers: ClassVar[tuple[str, ...]] = ()
    """What begins a call, wherever it stands in the answer: text holds none of it. The grammar binds all of
    the answer and waits for them itself. llama.cpp's own lazy grammars fail where a token holds more than the
    trigger, miss one that is spelled in other tokens, and take one in a thought for a call."""
    stops: ClassVar[tuple[str, ...]] = ()
    preserved: ClassVar[tuple[str, ...]] = ()

    # ---- hooks

    def told(self, ask: Ask) -> str:
        """What the system message says of the tools, where the template cannot."""
        raise NotImplementedError

    def told_schema(self, schema: dict[str, Any], ask: Ask) -> str:
        """What the system message says of the output schema."""
        words = "Answer in JSON that satisfies this JSON schema, and write nothing else:"
        return f"{words}\n{ask.foreign(dumped(schema))}"

    def calls(self, allowed: Allowed) -> str:
        """Adds rules to `allowed.rules`; the GBNF of one or more calls, from their first character on."""
        raise NotImplementedError

    def read(self, reader: Reader) -> Reading[None]:
        """Text and calls, after any thinking."""
        raise NotImplementedError

    def reading(self, ask: Ask) -> Callable[[Reader], Reading[None]]:
        """`read`, for a format whose reading depends on the tools."""
        return self.read

    def shown(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        """The tools as a template takes them that tells of tools."""
        return tuple(map(published, ask.tools))

    def names(self, ask: Ask) -> dict[str, Any]:
        """Further names for the template."""
        return {}

    def ending(self, ask: Ask) -> str:
        """What the answer has to begin with, where the template leaves it out."""
        return ""

    def speaks(self, message: Message, ask: Ask) -> bool:
        """Whether earlier calls are told by `spoken`, because the template does not show them well."""
        return self.own_prompt or not shows_calls(message, ask.abilities)

    def tells(self, ask: Ask) -> bool:
        """Whether results are told by `result`, because the template has no role for them."""
        return self.own_prompt or not shows_results(ask.abilities)

    def spoken(self, message: Message, ask: Ask) -> str:
        """An assistant's earlier message with calls, as the model itself would have written it."""
        raise NotImplementedError

    def result(self, message: Message, ask: Ask) -> str:
        """A tool's result, told by the user where the template has no role for it."""
        name = f" of {message.name}" if message.name else ""
        return f"Result{ask.foreign(name)}:\n{ask.foreign(message.text)}"

    def answer(self, output: str) -> str:
        """GBNF of an answer that the output schema shapes; `output` is the schema's own rule."""
        return output

    def words(self, reader: Reader) -> Reading[None]:
        """An answer without calls, after any thinking."""
        yield from reader.text()

    def root(self, allowed: Allowed) -> str:
        """GBNF of an answer after any thinking: calls, what the output schema says, or text and calls."""
        calls = self.calls(allowed)
        if allowed.must:
            return calls
        if allowed.output is not None:
            return f"{calls} | {self.answer(allowed.output)}"
        return f"{self.text(allowed)} ({calls})?"

    def toolless(self, allowed: Allowed) -> str:
        """GBNF of an answer after any thinking, where no tool may be called."""
        return self.text(allowed) if allowed.output is None else self.answer(allowed.output)

    def text(self, allowed: Allowed) -> str:
        """GBNF of text in which no call begins."""
        return without(allowed.rules, self.triggers)

    # ---- the same for all

    def native(self, ask: Ask) -> bool:
        return ask.abilities.tools and not self.own_prompt

    def plan(self, ask: Ask) -> Plan:
        prompt = ask.prompt
        tools = ask.tools
        if not tools:
            return self.plain(ask)
        bound = Allowed.bound(self, ask)
        words = [] if self.native(ask) else [self.told(ask)]
        if prompt.output_schema is not None:
            words.append(self.told_schema(prompt.output_schema, ask))
        return Plan(
            messages=self.told_first(words, ask),
            tools=self.shown(ask) if self.native(ask) else (),
            names=self.names(ask),
            ending=self.ending(ask),
            grammar=bound.grammar,
            stops=self.stops,
            preserved=(*self.preserved, *ask.thinking.marks),
            # They may stand in a call, which they are not meant for.
            enveloped=bool(prompt.settings.stop),
            enforced=bound.enforced,
            read=ask.thinking.before(self.reading(ask)),
        )

    def plain(self, ask: Ask) -> Plan:
        """No tool may be called: text, or what the output schema says."""
        schema = ask.prompt.output_schema
        words = [] if schema is None else [self.told_schema(schema, ask)]
        # A model that was told of tools before may want to call one; else its text needs no watching.
        called = bool(ask.prompt.tools and self.triggers)
        return Plan(
            messages=self.told_first(words, ask),
            grammar=Allowed.bound(self, ask).grammar if called or schema is not None else "",
            stops=self.stops,
            preserved=(*self.preserved, *ask.thinking.marks),
            read=ask.thinking.before(self.words),
        )

    def history(self, ask: Ask) -> tuple[Message, ...]:
        """Earlier calls and results in words, where the template cannot show them."""
        names = {call.id: call.name for message in ask.prompt.messages for call in message.calls}

        def fitted(message: Message) -> Message:
            if message.calls and self.speaks(message, ask):
                return replace(message, parts=(Text(Trusted(self.spoken(message, ask))),), calls=())
            if message.role == "tool" and self.tells(ask):
                # A client says whose result it is by the call alone.
                called = replace(message, name=message.name or names.get(message.call_id or ""))
                return said("user", Trusted(self.result(called, ask)))
            return message

        return tuple(map(fitted, ask.prompt.messages))

    def told_first(self, words: Sequence[str], ask: Ask) -> tuple[Message, ...]:
        """The conversation with our words in its first system message, made if need be."""
        messages = self.history(ask)
        if not words:
            return messages
        first = messages[0] if messages else None
        if first is None or first.role not in ("system", "developer"):
            return (said("system", Trusted("\n\n".join(words))), *messages)
        given = ask.foreign(first.text)
        text = Trusted("\n\n".join(filter(None, [*words, given] if self.leads else [given, *words])))
        return (replace(first, parts=(Text(text),)), *messages[1:])


def shows_calls(message: Message, can: Abilities) -> bool:
    """Whether a template shows the message's calls, and its text too."""
    return can.tool_calls and (can.text_and_calls or not message.text)


def shows_results(can: Abilities) -> bool:
    """Whether a template has a role for results that its model knows. One that knows no tools writes any role
    that it is given."""
    return can.tool_role and (can.tools or can.tool_calls)


def published(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def dumped(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
