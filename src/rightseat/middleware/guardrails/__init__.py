"""Guardrails: rules for input and output texts.

`rules` holds the policies and the filter of a streamed text; `matchers` (words, patterns) and `personal_data`
find violations in whole or streamed texts. `input_checks` and `output_filter` are the two directions,
`checks` calls validators, services and a judge model, `layer` applies all to a Responder and fences untrusted
tool results.
"""

from rightseat.middleware.guardrails.layer import GuardrailPolicies, guardrails
from rightseat.middleware.guardrails.patterns import PatternList
from rightseat.middleware.guardrails.rules import GuardrailPolicy, TextRules, UntrustedResultRules
from rightseat.middleware.guardrails.verdict import Check, Direction, Refuse, Replace
from rightseat.middleware.guardrails.words import WordList

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
