"""Every model whose template knows no tools: it answers in JSON, bound from the first token on.

calling/generic.py says what that JSON is. A model that was not taught a format never begins it by itself, so
there is nothing to wait for: also where it may answer in words, it does so as `result`.
"""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.allowed import Allowed
from rightseat.models.llamacpp.formats.format import Ask, Format, Plan
from rightseat.models.llamacpp.grammar import Rules
from rightseat.tools.text_calls import generic
from rightseat.tools.text_calls.generic import CALLS, NEXT, RESULT, THOUGHT, Envelope
from rightseat.types.messages import Message

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
            # Words have no end but their own and the caller's limit.
            steps += f" | {_object(RESULT)} {allowed.output or _WORDS}"
        return f'"{{" {self.thought(allowed)} {_key(NEXT)} ({steps}) "}}}}"'

    def thought(self, allowed: Allowed) -> str:
        """Also where there is none, it may be empty: so earlier calls are shown."""
        if _settled(allowed):
            return f'({_key(THOUGHT)} "\\"\\"" {_COMMA})?'
        return f"{_key(THOUGHT)} {allowed.rules.add_schema(_THOUGHT, 'thought')} {_COMMA}"

    def spoken(self, message: Message, ask: Ask) -> str:
        return ask.foreign(generic.spoken(message))


def _settled(what: Ask | Allowed) -> bool:
    """Only one tool is left: a small model's thought would mislead it about the arguments."""
    return what.must and len(what.tools) == 1


def _object(name: str) -> str:
    """GBNF of an object's beginning, up to its first value."""
    return f'"{{" {_key(name)}'


def _key(name: str) -> str:
    return Rules.quote(f'"{name}": ')
