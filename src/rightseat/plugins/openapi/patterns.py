"""`pattern` as plugin documents mean it: for the whole value of any type.

JSON Schema applies patterns to strings only. On an integer a pattern becomes an equivalent range or enum, on a
boolean an enum, on a list the pattern of its items; otherwise it stays in the schema as `x-pattern`, which
`plugins.value_patterns` checks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import jsonschema_rs

from rightseat.plugins.value_patterns import VALUE_PATTERN, is_simple_pattern, strip_anchors

MAX_ENUM = 64
MAX_INTEGER_SCANNED = 9_999
_REGEX = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=1_000_000)
_DIGIT_RUN = re.compile(
    r"(?P<lead>\[[0-9-]+\]|[0-9])?(?:(?:\\d|\[0-9\])(?:\{(?P<least>\d+)(?P<comma>,?)(?P<most>\d*)\}|(?P<sign>[+*?])?))?"
)

_ATOM = re.compile(r"(?:\\d|\[[^\]]*\]|[0-9])(?:\{(?:\d+,)?(\d+)\})?")


@lru_cache(1024)
def is_valid_pattern(pattern: str) -> bool:
    """Tell whether the argument validator accepts the pattern."""
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_REGEX)
    except ValueError:
        return False
    return True


def anchor_pattern(pattern: str, examples: tuple[Any, ...]) -> str:
    """Anchor the pattern to the whole value, unless it has anchors or an example matches only in part."""
    if pattern.startswith("^") or pattern.endswith("$") or "|^" in pattern or "(^" in pattern:
        return pattern
    anchored = f"^(?:{pattern})$"
    texts = [text for text in examples if isinstance(text, str)]
    return pattern if any(matches(pattern, text) and not matches(anchored, text) for text in texts) else anchored


def matches(pattern: str, text: str) -> bool:
    return bool(jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_REGEX).is_valid(text))


def is_json_pattern(pattern: str) -> bool:
    """Tell whether the pattern of a list begins with its bracket, so that it is of the list's JSON."""
    return pattern.removeprefix("^").lstrip("(?:").startswith((r"\[", "[[]", r"[\[]"))


def number_keywords(pattern: str, fractions: bool) -> dict[str, Any]:
    """Return the keywords that replace the pattern on a number."""
    bare = strip_anchors(pattern)
    if re.fullmatch(r"\((?:\?:)?[^()]*\)", bare):
        bare = bare[1:-1].removeprefix("?:")
    limits = integer_keywords(bare) if is_simple_pattern(bare) else None
    if limits is None:
        return {VALUE_PATTERN: pattern}
    return {"type": "integer", **limits} if fractions else limits


@lru_cache(1024)
def integer_keywords(bare: str) -> dict[str, Any] | None:
    """Return keywords for the integers that match the pattern; None if no keywords express them."""
    if (keywords := digit_run_keywords(bare)) is not None:
        return keywords
    if any(sign in bare for sign in "*+") or re.search(r"\{\d*,\}", bare):
        return {} if bare in (r"-?\d+", r"-?[0-9]+", r"[-]?\d+", r"[-]?[0-9]+") else None
    compiled = re.compile(bare)
    if any(map(compiled.fullmatch, ("99999", "-99999"))) or exceeds_scan(bare):
        return None
    numbers = [
        number for number in range(-MAX_INTEGER_SCANNED, MAX_INTEGER_SCANNED + 1) if compiled.fullmatch(str(number))
    ]
    if not numbers:
        return None
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return {"const": numbers[0]} if len(numbers) == 1 else {"minimum": numbers[0], "maximum": numbers[-1]}
    return {"enum": numbers} if len(numbers) <= MAX_ENUM else None


def exceeds_scan(bare: str) -> bool:
    """Tell whether the pattern may match numbers longer than those scanned."""
    # With groups, alternatives are added up: an overestimate.
    alternatives = bare.split("|") if "(" not in bare else [bare]
    digits = (sum(int(times or 1) for times in re.findall(_ATOM, text)) for text in alternatives)
    return max(digits) > len(str(MAX_INTEGER_SCANNED))


def digit_run_keywords(bare: str) -> dict[str, Any] | None:
    """Return the range for a digit and a run of digits, such as `[1-9]\\d{0,3}` or `2\\d{3}`, or None."""
    match = _DIGIT_RUN.fullmatch(bare)
    if not bare or match is None:
        return None
    least, most = repeat_bounds(match)
    lead = [digit for digit in range(10) if re.fullmatch(match["lead"] or "[0-9]", str(digit))] or [0]
    if not match["lead"]:
        lead, least, most = list(range(10)), max(least, 1) - 1, most if most is None else most - 1
    if lead != list(range(lead[0], lead[-1] + 1)) or (most is not None and (most > 17 or most < least)):
        return None
    if least != most and lead not in (list(range(10)), list(range(1, 10))):
        return None  # 2, 20 to 29, 200 to 299: not a single range
    first = max(lead[0], 1) if least else lead[0]
    limits: dict[str, Any] = {"minimum": first * 10**least}
    if most is not None:
        limits["maximum"] = (lead[-1] + 1) * 10**most - 1
    return {"const": limits["minimum"]} if limits["minimum"] == limits.get("maximum") else limits


def repeat_bounds(match: re.Match[str]) -> tuple[int, int | None]:
    """Return the least and most digits after the first; None is unbounded."""
    if match["least"]:
        least = int(match["least"])
        return least, least if not match["comma"] else int(match["most"]) if match["most"] else None
    if match["sign"]:
        return {"+": (1, None), "*": (0, None), "?": (0, 1)}[match["sign"]]
    tail = match[0][len(match["lead"] or "") :]
    return (1, 1) if tail else (0, 0)
