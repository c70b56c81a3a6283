"""Paths into data: `hosts[0].name`, `hosts.name` for the names of all, `hosts.length`, `labels["a.b"]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rightseat.documents.json import NotJson, loose
from rightseat.plugins.flows.stage import StepFailed

Keys = tuple[str | int, ...]
LENGTH = "length"
MAX_KEYS = 20
LONGEST = 60
_KEY = re.compile(r"""(?:^|\.)([^.\[\]]+)|\[(-?\d{1,9})\]|\["([^"]*)"\]|\['([^']*)'\]""")
_FENCE = re.compile(r"\s*```[\w-]*\n(.*?)\n?```\s*", re.DOTALL)


class Missing(StepFailed):
    """The path does not exist. The message describes the data that was there."""


class BadPath(StepFailed):
    """The text is not a valid path."""


@lru_cache(1024)
def keys(path: str) -> Keys:
    found: list[str | int] = []
    place = 0
    while place < len(path):
        key = _KEY.match(path, place)
        if key is None or key.end() == place:
            raise BadPath(f"{path!r} is no path. Write one like hosts[0].name.")
        name, number, *quoted = key.groups()
        found.append(int(number) if number is not None else name or quoted[0] or quoted[1] or "")
        place = key.end()
    return tuple(found)


def opened(value: Any) -> Any:
    """Decode text that holds a JSON object or array, fenced or not; return other values unchanged."""
    if not isinstance(value, str):
        return value
    fenced = _FENCE.fullmatch(value)
    text = (fenced[1] if fenced else value).strip()
    if not text.startswith(("{", "[")):
        return value
    try:
        return loose(text)
    except (NotJson, RecursionError):
        return value


def at(value: Any, path: Keys, before: str = "") -> Any:
    """Return the value at the path; raise PathNotFound otherwise. `prefix` is the path so far, for errors."""
    for place, key in enumerate(path):
        value = opened(value)
        if isinstance(value, list) and isinstance(key, str) and not key.isdecimal() and key != LENGTH:
            rest = path[place:]
            return [at(one, rest, f"{before}[{number}]") for number, one in enumerate(value)]
        value = _inside(value, key, before)
        before = joined(before, key)
    return value


def _inside(value: Any, key: str | int, before: str) -> Any:
    if isinstance(value, dict) and str(key) in value:
        return value[str(key)]
    if isinstance(value, list):
        if key == LENGTH:
            return len(value)
        number = int(key)
        if -len(value) <= number < len(value):
            return value[number]
    where = f" in {before}" if before else ""
    raise Missing(f"There is no {str(key)!r}{where}: there is {there(value)}.")


def joined(before: str, key: str | int) -> str:
    return f"{before}[{key}]" if isinstance(key, int) else f"{before}.{key}" if before else str(key)


def there(value: Any) -> str:
    """Describe a value in an error message."""
    match value:
        case dict() if value:
            more = f" and {len(value) - MAX_KEYS} more" if len(value) > MAX_KEYS else ""
            return f"an object with {listed(list(value)[:MAX_KEYS])}{more}"
        case dict():
            return "an empty object"
        case list():
            return f"a list of {len(value)}"
        case str():
            return f"the text {value if len(value) <= LONGEST else value[: LONGEST - 1] + '…'!r}"
        case None:
            return "nothing"
        case _:
            return str(value).lower()


def listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
