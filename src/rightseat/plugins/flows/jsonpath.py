"""JSONPath (RFC 9535). Where a key is missing, the error describes the data that was there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rightseat.plugins.flows.path import InvalidPath, PathNotFound, describe_value

if TYPE_CHECKING:
    from jsonpath import JSONPath

JSONPATH_ROOT = "$"


def is_jsonpath(path: str) -> bool:
    return path.startswith(JSONPATH_ROOT)


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
