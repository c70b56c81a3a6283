"""Templates with placeholders: `{question}`, `{data}`, `{start.hosts[0].name}`.

Only known names are filled in, once: other braces are text, and so are braces within values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rightseat.documents.shape import encode_json

VariableLookup = Callable[[str], Any]
"""Returns the value of a name, or raises UnknownVariable."""
# Later versions of the original format use doubled braces.
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}\n]{1,200}?)\s*\}\}|\{([^{}\n]{1,200})\}")


class UnknownVariable(LookupError):
    """No variable has this name: the braces are text."""


def iter_placeholders(text: str) -> Iterator[str]:
    """Yield the content of all braces, known or not."""
    for hole in _PLACEHOLDER.finditer(text):
        yield hole[1] or hole[2]


def split_template(text: str, find: VariableLookup) -> list[str | tuple[str, Any]]:
    """Split the template into literal text and (name, value) pairs."""
    parts: list[str | tuple[str, Any]] = []
    place = 0
    for hole in _PLACEHOLDER.finditer(text):
        name = hole[1] or hole[2]
        try:
            value = find(name)
        except UnknownVariable:
            continue
        parts += [text[place : hole.start()], (name, value)]
        place = hole.end()
    return [*parts, text[place:]]


def fill_template(text: str, find: VariableLookup) -> str:
    return "".join(
        piece if isinstance(piece, str) else as_text(piece[1]) for piece in split_template(text, find)
    )


def fill_value(template: Any, find: VariableLookup) -> Any:
    """Fill all strings within a value. A string that is one placeholder becomes the value itself: a number
    stays a number."""
    match template:
        case str():
            placeholder = _PLACEHOLDER.fullmatch(template)
            if placeholder is None:
                return fill_template(template, find)
            try:
                return find(placeholder[1] or placeholder[2])
            except UnknownVariable:
                return template
        case dict():
            return {name: fill_value(inner, find) for name, inner in template.items()}
        case list():
            return [fill_value(inner, find) for inner in template]
        case _:
            return template


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else encode_json(value)
