"""Guardrails: rules for input and output texts.

`rules` holds the policies and the filter of a streamed text; `matchers` (words, patterns) and `personal_data`
find violations in whole or streamed texts. `input_checks` and `output_filter` are the two directions,
`checks` calls validators, services and a judge model, `layer` applies all to a Responder and fences untrusted
tool results.
"""

from rightseat.middleware.guardrails.layer import GuardrailPolicies, guardrails
from rightseat.middleware.guardrails.matchers import PatternList, WordList
from rightseat.middleware.guardrails.rules import (
    Check,
    Direction,
    GuardrailPolicy,
    Refuse,
    Replace,
    TextRules,
    UntrustedResultRules,
)

__all__ = [
    "Check",
    "Direction",
    "GuardrailPolicies",
    "GuardrailPolicy",
    "PatternList",
    "Refuse",
    "Replace",
    "TextRules",
    "UntrustedResultRules",
    "WordList",
    "guardrails",
]
