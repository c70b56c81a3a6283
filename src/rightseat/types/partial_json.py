"""The beginning of a JSON text, and the operation of a JSON Patch that shows it in a state.

Imported only where such texts are read: this loads pydantic.
"""

from __future__ import annotations

import re
from typing import Any

import pydantic

_any_value = pydantic.TypeAdapter[Any](Any)
# Possessive: a peer's text with many escaped quotes is read once, not once for each of them.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
_NUMBER_START = re.compile(r"-?\d")


def parse_partial_json(text: str) -> Any:
    """Parse `text`, the beginning of a JSON text; None if it has no value yet."""
    try:
        return _any_value.validate_json(_drop_last_number(text), experimental_allow_partial="trailing-strings")
    except ValueError:
        return None


def _drop_last_number(text: str) -> str:
    """Return the text without a number at its end, which may still grow; digits in a string stay."""
    before = text.rstrip("0123456789.eE+-")
    number = _NUMBER_START.search(text, len(before))
    if number is None:
        return text
    ends = [string[1] for string in _STRING.finditer(text)]
    return text if ends and not ends[-1] else text[: number.start()]


def make_add_operation(key: str, value: Any) -> dict[str, Any]:
    """Return the JSON Patch operation that sets a key of the state."""
    path = key.replace("~", "~0").replace("/", "~1")
    return {"op": "add", "path": f"/{path}", "value": value}
