"""Every model whose template knows no tools: it answers in JSON, bound from the first token on.

calling/generic.py says what that JSON is. A model that was not taught a format never begins it by itself, so
there is nothing to wait for: also where it may answer in words, it does so as `result`.
"""

from __future__ import annotations

from rightseat.calling import generic
from rightseat.calling.generic import CALLS, NEXT, RESULT, THOUGHT, Envelope
from rightseat.messages import Message
from rightseat.models.llamacpp.formats.allowed import Allowed
from rightseat.models.llamacpp.formats.format import Ask, Format, Plan
from rightseat.models.llamacpp.grammar import Rules

# Small models think in circles.
_THOUGHT = {"type": "string", "maxLength": 300}
_COMMA = '", "'
_WORDS = '"\\"" char+ "\\""'


class Generic(Format):
    name = "generic"
    own_prompt = True

    def plan(self, ask: Ask) -> Plan:
        if not ask.tools:
            return self.plain(ask)
        envelope = Envelope.of(ask.prompt, ask.thought)
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
        rules = allowed.rules
        thought = rules.add_schema(_THOUGHT, "thought")
        steps = f"{_object(CALLS)} {self.calls(allowed)}"
        if not allowed.must:
            # Words have no end but their own and the caller's limit.
            steps += f" | {_object(RESULT)} {allowed.output or _WORDS}"
        return f'{_object(THOUGHT)} {thought} {_COMMA} {_key(NEXT)} ({steps}) "}}}}"'

    def spoken(self, message: Message, ask: Ask) -> str:
        return ask.foreign(generic.spoken(message))


def _object(name: str) -> str:
    """GBNF of an object's beginning, up to its first value."""
    return f'"{{" {_key(name)}'


def _key(name: str) -> str:
    return Rules.quote(f'"{name}": ')
