"""Patterns of JSON Schema formats. Each matches a subset of its format, so every match is valid."""

from __future__ import annotations

from functools import cache

from rightseat.models.llamacpp.grammar.expr import Expr
from rightseat.models.llamacpp.grammar.regex import parse_pattern

_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)
_TIME = (
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_UUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9]{0,30}|[A-Za-z0-9]{1,15}-[A-Za-z0-9]{1,15})"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,5}}"
_LOCAL = "[A-Za-z0-9_+-]"
_EMAIL = rf"{_LOCAL}{{1,30}}(?:\.{_LOCAL}{{1,15}}){{0,2}}@{_LABEL}(?:\.{_LABEL}){{0,2}}\.[A-Za-z]{{2,12}}"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]|[0-9])"
_GROUP = "[0-9A-Fa-f]{1,4}"
_IPV6 = "|".join(
    [
        f"(?:{_GROUP}:){{7}}{_GROUP}",
        f"(?:{_GROUP}:){{1,7}}:",
        *(f"(?:{_GROUP}:){{1,{7 - after}}}(?::{_GROUP}){{1,{after}}}" for after in range(1, 7)),
        f":(?:(?::{_GROUP}){{1,7}}|:)",
    ]
)
_PATH = "[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}"
_URI = (
    rf"(?:https?|ftp|wss?)://{_HOST}(?::[1-9][0-9]{{0,3}})?(?:/(?:{_PATH}|/){{0,500}})?"
    rf"(?:\?(?:{_PATH}|[/?]){{0,500}})?(?:#(?:{_PATH}|[/?]){{0,200}})?|(?:mailto|urn|tel):(?:{_PATH}){{1,200}}"
)
_NUMBER = "[0-9]{1,9}"
_DURATION = (
    f"P(?:{_NUMBER}W|{_NUMBER}Y(?:{_NUMBER}M(?:{_NUMBER}D)?)?(?:T_)?|{_NUMBER}M(?:{_NUMBER}D)?(?:T_)?|{_NUMBER}D(?:T_)?|T_)"
).replace("T_", f"T(?:{_NUMBER}H(?:{_NUMBER}M(?:{_NUMBER}S)?)?|{_NUMBER}M(?:{_NUMBER}S)?|{_NUMBER}S)")

PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": _UUID,
    "email": _EMAIL,
    "idn-email": _EMAIL,
    "hostname": _HOST,
    "idn-hostname": _HOST,
    "ipv4": rf"{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE}",
    "ipv6": _IPV6,
    "uri": _URI,
    "iri": _URI,
    "duration": _DURATION,
}


@cache
def build_format_content(name: str) -> Expr | None:
    """Return the string content of a format; None for an unknown format."""
    pattern = PATTERNS.get(name)
    return None if pattern is None else parse_pattern(pattern, 1000, 0, anchored=True)
