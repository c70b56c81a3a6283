"""JSONPath (RFC 9535). Where a key is missing, the error describes the data that was there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rightseat.plugins.flows.path import BadPath, Missing, there

if TYPE_CHECKING:
    from jsonpath import JSONPath

MARK = "$"


def is_one(path: str) -> bool:
    return path.startswith(MARK)


@lru_cache(256)
def compiled(path: str) -> JSONPath:
    import jsonpath

    try:
        made = jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise BadPath(f"{path!r} is no JSONPath: {str(error).splitlines()[0][:200]}") from None
    if not isinstance(made, jsonpath.JSONPath):
        raise BadPath(f"{path!r} joins several JSONPaths. Write them as keys of their own.")
    return made


def last_name(path: str) -> str:
    """Return the last key that the path names."""
    from jsonpath.selectors import NameSelector

    for segment in reversed(compiled(path).segments):
        if len(segment.selectors) == 1 and isinstance(segment.selectors[0], NameSelector):
            return segment.selectors[0].name
    return path


def taken(data: Any, path: str) -> Any:
    """Return the value, or a list where the query may match several."""
    import jsonpath

    made = compiled(path)
    try:
        found = made.findall(data)
    except (jsonpath.JSONPathError, RecursionError) as error:
        raise Missing(f"{path} cannot be followed here: {str(error)[:200]}") from None
    if found:
        return found[0] if made.singular_query() else found
    _explain(made, data, path)
    return []


def _explain(made: JSONPath, data: Any, path: str) -> None:
    """Raise PathNotFound for a missing key or index; an empty filter result is valid."""
    from jsonpath import JSONPath
    from jsonpath.segments import JSONPathChildSegment
    from jsonpath.selectors import IndexSelector, NameSelector

    before = [data]
    for number, segment in enumerate(made.segments):
        part = JSONPath(env=made.env, segments=made.segments[: number + 1])
        after = part.findall(data)
        if after:
            before = after
            continue
        exact = all(isinstance(one, NameSelector | IndexSelector) for one in segment.selectors)
        if isinstance(segment, JSONPathChildSegment) and exact:
            raise Missing(f"{path} finds nothing: {segment} is not in {there(before[0])}.")
        return
