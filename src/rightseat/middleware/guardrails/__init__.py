"""Guardrails: what may be asked and what may be answered.

`rules` says what is allowed; `words`, `patterns` and `redact` find it in a text, whole or as it comes;
`screen` holds back of a stream what they still look at. `asking` and `speaking` are the two directions,
`layer` puts them around a Responder. `checks` and `judge` ask somebody else; `marking` shows a model which
results come from outside.
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
