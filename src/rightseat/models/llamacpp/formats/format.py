"""ToolCallFormat: how tools are described to a model, what the model may write, and how that is parsed.

Formats override the hooks; `make_plan` is common to all. No I/O.
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
    """One prompt with the properties of its model."""

    prompt: Prompt
    abilities: Abilities
    control: Control = Control(())
    thinking: Thinking = Thinking()
    publish: Literal["typescript", "json"] = "typescript"
    """How GenericFormat describes tools."""
    thought: Literal["content", "reasoning"] = "content"
    """Where GenericFormat's thought goes: into the content or into the reasoning."""
    clock: Callable[[], datetime] = datetime.now

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.prompt.callable

    @property
    def must(self) -> bool:
        return self.prompt.must

    def foreign(self, text: str) -> str:
        """Return user or tool text with its control tokens marked, for use inside TrustedText."""
        marked: str = self.control.mark(text)
        return marked


class Plan(Struct, frozen=True, kw_only=True):
    """What to send to the engine for a prompt, and how to parse the answer."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    """Tools for the template in OpenAI's form; empty if the format describes them itself."""
    names: dict[str, Any] = {}
    """Extra template variables."""
    ending: str = ""
    """Start of the answer, appended to the prompt; the parser does not see it."""
    grammar: str = ""
    adapted: bool = False
    """Enable the loaded LoRA adapter for this answer."""
    stops: tuple[str, ...] = ()
    preserved: tuple[str, ...] = ()
    """Control tokens that the engine must not strip from the answer."""
    enveloped: bool = False
    """The caller's stop words apply to parsed text only, so they are not sent to the engine."""
    enforced: frozenset[str] = frozenset()
    read: Callable[[Reader], Reading[None]]

    def reader(self) -> Reader:
        return Reader(self.read, enforced=self.enforced)


class Format:
    name: ClassVar[str]
    marks: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Marker sets: a template that contains all markers of one set uses this format."""
    proven: ClassVar[bool] = False
    """Markers are ambiguous: `parse` must also read back the template's rendering of PROBE_CALL."""
    own_prompt: ClassVar[bool] = False
    """The format always describes the tools itself, even if the template could."""
    leads: ClassVar[bool] = False
    """The format's instructions precede the caller's system text."""
    triggers: ClassVar[tuple[str, ...]] = ()
    """Markers that begin a call anywhere in the answer; text must not contain them. The grammar covers the
    whole answer instead of using llama.cpp's lazy grammars, which fail if a token is longer than the trigger,
    miss a trigger spelled in other tokens, and take one inside a thought for a call."""
    stops: ClassVar[tuple[str, ...]] = ()
    preserved: ClassVar[tuple[str, ...]] = ()

    # ---- hooks

    def told(self, ask: Ask) -> str:
        """Return the system text that describes the tools, for templates that cannot."""
        raise NotImplementedError

    def told_schema(self, schema: dict[str, Any], ask: Ask) -> str:
        """Return the system text that describes the output schema."""
        words = "Answer in JSON that satisfies this JSON schema, and write nothing else:"
        return f"{words}\n{ask.foreign(dumped(schema))}"

    def calls(self, allowed: Allowed) -> str:
        """Add rules to the grammar and return the GBNF of one or more calls."""
        raise NotImplementedError

    def read(self, reader: Reader) -> Reading[None]:
        """Parse text and calls, after any thinking."""
        raise NotImplementedError

    def reading(self, ask: Ask) -> Callable[[Reader], Reading[None]]:
        """Return the parser; a format may make it depend on the tools."""
        return self.read

    def shown(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        """Return the tools in the form of a template that supports tools."""
        return tuple(map(published, ask.tools))

    def names(self, ask: Ask) -> dict[str, Any]:
        """Return extra template variables."""
        return {}

    def ending(self, ask: Ask) -> str:
        """Return the start of the answer that the template's generation prompt lacks."""
        return ""

    def speaks(self, message: Message, ask: Ask) -> bool:
        """Return whether `format_calls` writes earlier calls, because the template renders them badly."""
        return self.own_prompt or not shows_calls(message, ask.abilities)

    def tells(self, ask: Ask) -> bool:
        """Return whether `format_result` writes results, because the template has no role for them."""
        return self.own_prompt or not shows_results(ask.abilities)

    def spoken(self, message: Message, ask: Ask) -> str:
        """Return an earlier assistant message with calls, as the model would have written it."""
        raise NotImplementedError

    def result(self, message: Message, ask: Ask) -> str:
        """Return a tool result as user text, for templates without a tool role."""
        name = f" of {message.name}" if message.name else ""
        return f"Result{ask.foreign(name)}:\n{ask.foreign(message.text)}"

    def answer(self, output: str) -> str:
        """Return GBNF of an answer by the output schema; `output` is the schema's rule."""
        return output

    def words(self, reader: Reader) -> Reading[None]:
        """Parse an answer without calls, after any thinking."""
        yield from reader.text()

    def root(self, allowed: Allowed) -> str:
        """Return GBNF of an answer after any thinking: calls, output-schema JSON, or text and calls."""
        calls = self.calls(allowed)
        if allowed.must:
            return calls
        if allowed.output is not None:
            return f"{calls} | {self.answer(allowed.output)}"
        return f"{self.text(allowed)} ({calls})?"

    def toolless(self, allowed: Allowed) -> str:
        """Return GBNF of an answer without calls, after any thinking."""
        return self.text(allowed) if allowed.output is None else self.answer(allowed.output)

    def text(self, allowed: Allowed) -> str:
        """Return GBNF of text without call triggers."""
        return without(allowed.rules, self.triggers)

    # ---- common to all formats

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
            # Stop words may occur inside a call, where they must not stop the engine.
            enveloped=bool(prompt.settings.stop),
            enforced=bound.enforced,
            read=ask.thinking.before(self.reading(ask)),
        )

    def plain(self, ask: Ask) -> Plan:
        """Plan an answer without calls: text, or JSON by the output schema."""
        schema = ask.prompt.output_schema
        words = [] if schema is None else [self.told_schema(schema, ask)]
        # Only a model that knows of tools may try to call one; other text needs no grammar.
        called = bool(ask.prompt.tools and self.triggers)
        return Plan(
            messages=self.told_first(words, ask),
            grammar=Allowed.bound(self, ask).grammar if called or schema is not None else "",
            stops=self.stops,
            preserved=(*self.preserved, *ask.thinking.marks),
            read=ask.thinking.before(self.words),
        )

    def history(self, ask: Ask) -> tuple[Message, ...]:
        """Return the messages with calls and results as text where the template cannot render them."""
        names = {call.id: call.name for message in ask.prompt.messages for call in message.calls}

        def fitted(message: Message) -> Message:
            if message.calls and self.speaks(message, ask):
                return replace(message, parts=(Text(Trusted(self.spoken(message, ask))),), calls=())
            if message.role == "tool" and self.tells(ask):
                # Clients often send only the call id, not the tool's name.
                called = replace(message, name=message.name or names.get(message.call_id or ""))
                return said("user", Trusted(self.result(called, ask)))
            return message

        return tuple(map(fitted, ask.prompt.messages))

    def told_first(self, words: Sequence[str], ask: Ask) -> tuple[Message, ...]:
        """Return the messages with our instructions in the first system message, added if missing."""
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
    """Return whether a template renders the message's calls together with its text."""
    return can.tool_calls and (can.text_and_calls or not message.text)


def shows_results(can: Abilities) -> bool:
    """Return whether a template has a tool role that its model was trained on. A template without tool
    support may render any role name."""
    return can.tool_role and (can.tools or can.tool_calls)


def published(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def dumped(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
