"""Calls of builtin tools after `<|python_tag|>`, as Llama 3.1 writes them:

    <|python_tag|>print(1 + 1)
    <|python_tag|>brave_search.call(query="weather in Paris")

All text after the tag is code, unless it is a search call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.models.llamacpp.formats.allowed import Allowed, as_json
from rightseat.models.llamacpp.formats.format import Ask, Format, Plan, published
from rightseat.models.llamacpp.grammar import Rules
from rightseat.models.llamacpp.grammar.charset import ANY, CONTROLS, bracket, complement, less, of
from rightseat.tools.text_calls import builtin
from rightseat.tools.text_calls.builtin import CODE, SEARCHES
from rightseat.tools.text_calls.reader import Emit, Reader, Reading
from rightseat.types.messages import Call, Message
from rightseat.types.model import ToolChoice, ToolSpec

TAG = "<|python_tag|>"
_MARK = re.compile(r'["\\]')


class PythonTag(Format):
    """Base of the Llama 3.1 formats; subclasses define `build_functions_gbnf` for the other tools."""

    preserved = (TAG,)
    stops = ("<|eom_id|>",)

    def builtins(self, ask: Ask) -> tuple[ToolSpec, ...]:
        """Return the tools that are called after the tag."""
        return tuple(filter(builtin.fits, ask.tools))

    def functions(self, allowed: Allowed, arguments: dict[str, str]) -> str:
        """Return GBNF of calls of the other tools; `arguments` maps tools to argument rules."""
        raise NotImplementedError

    def others(self, ask: Ask) -> tuple[ToolSpec, ...]:
        builtins = self.builtins(ask)
        return tuple(tool for tool in ask.tools if tool not in builtins)

    def plan(self, ask: Ask) -> Plan:
        tools = tuple(map(builtin.understood, ask.prompt.tools))
        ask = replace(ask, prompt=replace(ask.prompt, tools=tools))
        # Code runs to the end of the answer, so stop words must not cut it.
        plan = super().plan(ask)
        return replace(plan, enveloped=plan.enveloped or bool(self.builtins(ask)))

    def calls(self, allowed: Allowed) -> str:
        return " | ".join(filter(None, self.kinds(allowed)))

    def kinds(self, allowed: Allowed) -> tuple[str, str]:
        """Return GBNF of calls of other tools and of a builtin tool; each may be empty."""
        builtins = self.builtins(allowed.ask)
        names = [tool.name for tool in builtins]
        # After the tag the argument is any text, so its schema is not enforced.
        allowed.enforced -= {tool.name for tool in builtins if not builtin.exact(tool)}
        others = {name: rule for name, rule in allowed.arguments.items() if name not in names}
        functions = self.functions(allowed, others) if others else ""
        return functions, tagged(allowed.rules, names) if names else ""

    def shown(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        return tuple(map(published, self.others(ask)))

    def speaks(self, message: Message, ask: Ask) -> bool:
        return super().speaks(message, ask) or any(self.tagged(call, ask) for call in message.calls)

    def tagged(self, call: Call, ask: Ask) -> bool:
        """Return whether an earlier call belongs to a builtin tool."""
        everything = replace(ask, prompt=replace(ask.prompt, tool_choice=ToolChoice()))
        return any(tool.name == call.name for tool in self.builtins(everything))


def tagged(rules: Rules, names: Sequence[str]) -> str:
    """Add a rule for a call of one of these builtin tools, with its tag; returns its name."""
    begins = tuple(_begin(name) for name in names if name in SEARCHES)
    options = []
    if begins:
        plain = bracket(less(less(ANY, CONTROLS), of('"\\')))
        query = rules.add("query", f'({plain} | "\\\\" {bracket(of(chr(34) + chr(92)))})+')
        options += [f'{rules.quote(begin)} {query} "\\")"' for begin in begins]
    if any(name in CODE for name in names):
        options.append(_otherwise(rules, begins))
    return rules.add("tagged", f"{rules.quote(TAG)} ({' | '.join(options)})")


def _begin(name: str) -> str:
    return f'{name}.call(query="'


def _otherwise(rules: Rules, words: tuple[str, ...]) -> str:
    """Add a rule for code: any text that starts with none of the words; returns its name."""
    anything = rules.add("anything", f"{bracket(ANY)}*")
    if not words:
        return anything
    options = []
    for seen in sorted({word[:size] for word in words for size in range(len(word))}):
        after = {word[len(seen)] for word in words if word.startswith(seen)}
        options.append(f"{rules.quote(seen)} ({bracket(complement(of(''.join(after))))} {anything})?")
    return rules.add("code", " | ".join(options))


def read(reader: Reader, names: Sequence[str]) -> Reading[None]:
    """Parse a call after its tag; it runs to the end of the answer."""
    begins = {_begin(name): name for name in names if name in SEARCHES}
    begin = yield from reader.peek(*begins)
    if begin is None:
        name = next((name for name in names if name in CODE), CODE[0])
        yield from code(reader, name)
    else:
        yield from reader.literal(begin)
        yield from _query(reader, reader.begin(begins[begin]))
        yield from reader.literal(")")
        reader.end()


def code(reader: Reader, name: str, *ends: str) -> Reading[str | None]:
    """Parse code as the call's only argument up to one of `ends`, which is returned, or to the end (None)."""
    emit = reader.begin(name)
    emit('{"code": "')
    found = yield from reader.text(*ends, emit=lambda text: emit(_inside(text)))
    emit('"}')
    reader.end()
    return found


def _query(reader: Reader, emit: Emit) -> Reading[None]:
    """Parse the query up to the closing quote; a backslash escapes the next character."""
    emit('{"query": "')
    while True:
        emit(_inside((yield from reader.run(_MARK))))
        mark = yield from reader.next()
        if mark == '"':
            yield from reader.take(1)
            break
        if mark == "\\":
            emit(_inside((yield from reader.take(2))[1]))
    emit('"}')


def _inside(text: str) -> str:
    return as_json(text)[1:-1]


def spoken(call: Call, ask: Ask) -> str:
    """Return an earlier call of a builtin tool as the model writes it."""
    text = argument(call)
    if call.name in CODE:
        return TAG + ask.foreign(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return TAG + ask.foreign(f'{_begin(call.name)}{escaped}")')


def argument(call: Call) -> str:
    """Return the single argument of a builtin call, or its whole arguments JSON if that is missing."""
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return call.arguments
    value = arguments.get(builtin.argument(call.name)) if isinstance(arguments, dict) else None
    return value if isinstance(value, str) else call.arguments
