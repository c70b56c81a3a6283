"""Guardrails: rules for input and output texts, and the checks that apply them."""

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
