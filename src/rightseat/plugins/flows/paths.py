"""Paths into data: `hosts[0].name`, `hosts.name` for the names of all, `hosts.length`, `labels["a.b"]`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rightseat.documents.json import InvalidJson, parse_loosely
from rightseat.plugins.flows.step_context import StepError

if TYPE_CHECKING:
    from jsonpath import JSONPath


PathKeys = tuple[str | int, ...]
LENGTH_KEY = "length"
MAX_KEYS_SHOWN = 20
MAX_TEXT_SHOWN = 60
_KEY = re.compile(r"""(?:^|\.)([^.\[\]]+)|\[(-?\d{1,9})\]|\["([^"]*)"\]|\['([^']*)'\]""")
_FENCE = re.compile(r"\s*```[\w-]*\n(.*?)\n?```\s*", re.DOTALL)


class PathNotFound(StepError):
    """The path does not exist. The message describes the data that was there."""


class InvalidPath(StepError):
    """The text is not a valid path."""


@lru_cache(1024)
def parse_path(path: str) -> PathKeys:
    parsed: list[str | int] = []
    place = 0
    while place < len(path):
        key = _KEY.match(path, place)
        if key is None or key.end() == place:
            raise InvalidPath(f"{path!r} is no path. Write one like hosts[0].name.")
        name, number, *quoted = key.groups()
        parsed.append(int(number) if number is not None else name or quoted[0] or quoted[1] or "")
        place = key.end()
    return tuple(parsed)


def decode_json_text(value: Any) -> Any:
    """Decode text that holds a JSON object or array, fenced or not; return other values unchanged."""
    if not isinstance(value, str):
        return value
    fenced = _FENCE.fullmatch(value)
    text = (fenced[1] if fenced else value).strip()
    if not text.startswith(("{", "[")):
        return value
    try:
        return parse_loosely(text)
    except (InvalidJson, RecursionError):
        return value


def resolve_path(value: Any, path: PathKeys, prefix: str = "") -> Any:
    """Return the value at the path; raise PathNotFound otherwise. `prefix` is the path so far, for errors."""
    for place, key in enumerate(path):
        value = decode_json_text(value)
        if isinstance(value, list) and isinstance(key, str) and not key.isdecimal() and key != LENGTH_KEY:
            rest = path[place:]
            return [resolve_path(one, rest, f"{prefix}[{number}]") for number, one in enumerate(value)]
        value = _get_key(value, key, prefix)
        prefix = join_path(prefix, key)
    return value


def _get_key(value: Any, key: str | int, prefix: str) -> Any:
    if isinstance(value, dict) and str(key) in value:
        return value[str(key)]
    if isinstance(value, list):
        if key == LENGTH_KEY:
            return len(value)
        number = int(key)
        if -len(value) <= number < len(value):
            return value[number]
    where = f" in {prefix}" if prefix else ""
    raise PathNotFound(f"There is no {str(key)!r}{where}: there is {describe_value(value)}.")


def join_path(prefix: str, key: str | int) -> str:
    return f"{prefix}[{key}]" if isinstance(key, int) else f"{prefix}.{key}" if prefix else str(key)


def describe_value(value: Any) -> str:
    """Describe a value in an error message."""
    match value:
        case dict() if value:
            more = f" and {len(value) - MAX_KEYS_SHOWN} more" if len(value) > MAX_KEYS_SHOWN else ""
            return f"an object with {', '.join(map(repr, list(value)[:MAX_KEYS_SHOWN]))}{more}"
        case dict():
            return "an empty object"
        case list():
            return f"a list of {len(value)}"
        case str():
            return f"the text {value if len(value) <= MAX_TEXT_SHOWN else value[: MAX_TEXT_SHOWN - 1] + '…'!r}"
        case None:
            return "nothing"
        case _:
            return str(value).lower()


def is_jsonpath(path: str) -> bool:
    return path.startswith("$")


@lru_cache(256)
def compile_jsonpath(path: str) -> JSONPath:
    import jsonpath

    try:
        query = jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise InvalidPath(f"{path!r} is no JSONPath: {str(error).splitlines()[0][:200]}") from None
    if not isinstance(query, jsonpath.JSONPath):
        raise InvalidPath(f"{path!r} joins several JSONPaths. Write them as keys of their own.")
    return query


def last_jsonpath_key(path: str) -> str:
    """Return the last key that the path names."""
    from jsonpath.selectors import NameSelector

    for segment in reversed(compile_jsonpath(path).segments):
        if len(segment.selectors) == 1 and isinstance(segment.selectors[0], NameSelector):
            return segment.selectors[0].name
    return path


def find_jsonpath(data: Any, path: str) -> Any:
    """Return the value, or a list where the query may match several."""
    import jsonpath

    query = compile_jsonpath(path)
    try:
        values = query.findall(data)
    except (jsonpath.JSONPathError, RecursionError) as error:
        raise PathNotFound(f"{path} cannot be followed here: {str(error)[:200]}") from None
    if values:
        return values[0] if query.singular_query() else values
    _raise_if_missing(query, data, path)
    return []


def _raise_if_missing(query: JSONPath, data: Any, path: str) -> None:
    """Raise PathNotFound for a missing key or index; an empty filter result is valid."""
    from jsonpath import JSONPath
    from jsonpath.segments import JSONPathChildSegment
    from jsonpath.selectors import IndexSelector, NameSelector

    before = [data]
    for number, segment in enumerate(query.segments):
        part = JSONPath(env=query.env, segments=query.segments[: number + 1])
        after = part.findall(data)
        if after:
            before = after
            continue
        exact = all(isinstance(one, NameSelector | IndexSelector) for one in segment.selectors)
        if isinstance(segment, JSONPathChildSegment) and exact:
            raise PathNotFound(f"{path} finds nothing: {segment} is not in {describe_value(before[0])}.")
        return
