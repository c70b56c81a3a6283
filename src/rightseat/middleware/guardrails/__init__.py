"""Guardrails: what questions, answers and tool calls may contain.

- layer: the Layer, and fences around untrusted tool results.
- rules: the policies. input_checks, output_filter: how a question and a streamed answer are held to them.
- matchers, personal_data: words, expressions, personal data and secrets in whole and streamed texts.
- checks: a function of the operator, an HTTP service or a model as a further check.
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
