"""Templates with placeholders: `{question}`, `{data}`, `{start.hosts[0].name}`.

Only known names are filled in, once: other braces are text, and so are braces within values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rightseat.documents.shape import written

Find = Callable[[str], Any]
"""Returns the value of a name, or raises UnknownVariable."""
# Later versions of the original format use doubled braces.
_HOLE = re.compile(r"\{\{\s*([^{}\n]{1,200}?)\s*\}\}|\{([^{}\n]{1,200})\}")


class Unknown(LookupError):
    """No variable has this name: the braces are text."""


def holes(text: str) -> Iterator[str]:
    """Yield the content of all braces, known or not."""
    for hole in _HOLE.finditer(text):
        yield hole[1] or hole[2]


def pieces(text: str, find: Find) -> list[str | tuple[str, Any]]:
    """Split the template into literal text and (name, value) pairs."""
    made: list[str | tuple[str, Any]] = []
    place = 0
    for hole in _HOLE.finditer(text):
        name = hole[1] or hole[2]
        try:
            value = find(name)
        except Unknown:
            continue
        made += [text[place : hole.start()], (name, value)]
        place = hole.end()
    return [*made, text[place:]]


def filled(text: str, find: Find) -> str:
    return "".join(piece if isinstance(piece, str) else as_text(piece[1]) for piece in pieces(text, find))


def value_of(template: Any, find: Find) -> Any:
    """Fill all strings within a value. A string that is one placeholder becomes the value itself: a number
    stays a number."""
    match template:
        case str():
            whole = _HOLE.fullmatch(template)
            if whole is None:
                return filled(template, find)
            try:
                return find(whole[1] or whole[2])
            except Unknown:
                return template
        case dict():
            return {name: value_of(inner, find) for name, inner in template.items()}
        case list():
            return [value_of(inner, find) for inner in template]
        case _:
            return template


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else written(value)
