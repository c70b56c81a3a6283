"""Guardrails: rules for input and output texts.

`rules` holds the policies and the filter of a streamed text; `matchers` (words, patterns) and `personal_data`
find violations in whole or streamed texts. `input_checks` and `output_filter` are the two directions,
`checks` calls validators, services and a judge model, `layer` applies all to a Responder and fences untrusted
tool results.
"""

from rightseat.middleware.guardrails.layer import Guards, guardrails
from rightseat.middleware.guardrails.patterns import Patterns
from rightseat.middleware.guardrails.rules import Guard, Lists, Untrusted
from rightseat.middleware.guardrails.verdict import Check, Direction, Refuse, Replace
from rightseat.middleware.guardrails.words import Words

__all__ = [
    "Check",
    "Direction",
    "Guard",
    "Guards",
    "Lists",
    "Patterns",
    "Refuse",
    "Replace",
    "Untrusted",
    "Words",
    "guardrails",
]
