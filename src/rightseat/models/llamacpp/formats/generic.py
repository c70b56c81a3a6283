"""GenericFormat, for models without tool support: the whole answer is JSON, enforced from the first token on.

`tools/text_calls/generic.py` defines that JSON. A model that was not trained on a format never starts it by
itself, so even a text answer is wrapped, as `result`.
"""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.allowed import Allowed
from rightseat.models.llamacpp.formats.format import Ask, Format, Plan
from rightseat.models.llamacpp.grammar import Rules
from rightseat.tools.text_calls import generic
from rightseat.tools.text_calls.generic import CALLS, NEXT, RESULT, THOUGHT, Envelope
from rightseat.types.messages import Message

# Small models repeat themselves in long thoughts.
_THOUGHT = {"type": "string", "maxLength": 300}
_COMMA = '", "'
_WORDS = '"\\"" char+ "\\""'


class Generic(Format):
    name = "generic"
    own_prompt = True

    def plan(self, ask: Ask) -> Plan:
        if not ask.tools:
            return self.plain(ask)
        envelope = replace(Envelope.of(ask.prompt, ask.thought), thinks=not _settled(ask))
        bound = Allowed.bound(self, ask)
        return Plan(
            messages=self.told_first([envelope.instructions(ask.publish, ask.foreign)], ask),
            grammar=bound.grammar,
            preserved=ask.thinking.marks,
            enveloped=True,
            enforced=bound.enforced,
            read=ask.thinking.before(envelope.read),
        )

    def calls(self, allowed: Allowed) -> str:
        return f'"[" {allowed.repeated(allowed.json_call(), _COMMA)} "]"'

    def root(self, allowed: Allowed) -> str:
        steps = f"{_object(CALLS)} {self.calls(allowed)}"
        if not allowed.must:
            # Text is bounded only by the model itself and by max_tokens.
            steps += f" | {_object(RESULT)} {allowed.output or _WORDS}"
        return f'"{{" {self.thought(allowed)} {_key(NEXT)} ({steps}) "}}}}"'

    def thought(self, allowed: Allowed) -> str:
        """Return GBNF of the thought; with a single choice it may only be empty, as in rendered history."""
        if _settled(allowed):
            return f'({_key(THOUGHT)} "\\"\\"" {_COMMA})?'
        return f"{_key(THOUGHT)} {allowed.rules.add_schema(_THOUGHT, 'thought')} {_COMMA}"

    def spoken(self, message: Message, ask: Ask) -> str:
        return ask.foreign(generic.spoken(message))


def _settled(what: Ask | Allowed) -> bool:
    """Return whether exactly one tool must be called: a small model's thought would then only mislead it."""
    return what.must and len(what.tools) == 1


def _object(name: str) -> str:
    """Return GBNF of an object's start, up to its first value."""
    return f'"{{" {_key(name)}'


def _key(name: str) -> str:
    return Rules.quote(f'"{name}": ')
