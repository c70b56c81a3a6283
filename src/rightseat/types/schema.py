"""JSON Schema validation. Remote `$ref`s are never fetched: the schema is untrusted input."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.errors import CallerError

MAX_BYTES = 256_000
MAX_DEPTH = 64
MAX_CACHED = 512
MAX_PROBLEMS = 3

_REGEX = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=1_000_000)


class Checker:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.validator = jsonschema_rs.Draft202012Validator(
            schema, validate_formats=False, pattern_options=_REGEX, offline=True
        )

    def problem(self, value: Any) -> str | None:
        """Describe what is wrong with the value, for a model or a person; None if it is valid."""
        if self.validator.is_valid(value):
            return None
        words = []
        for error in self.validator.iter_errors(value):
            where = "".join(
                f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path
            )
            words.append(f"{where.lstrip('.') or 'value'}: {str(error.message)[:200]}")
            if len(words) == MAX_PROBLEMS:
                break
        return "; ".join(words)

    def missing(self, value: Any) -> list[tuple[str, ...]] | None:
        """Return the key paths of missing required values; None if there are other errors too."""
        found: list[tuple[str, ...]] = []
        for error in self.validator.iter_errors(value):
            path = tuple(step for step in error.instance_path if isinstance(step, str))
            if not isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
                return None
            if len(path) < len(error.instance_path):
                return None
            found.append((*path, error.kind.property))
        return found


_cache: OrderedDict[bytes, Checker] = OrderedDict()


def checker(schema: dict[str, Any]) -> Checker:
    """Return a validator for the schema from a bounded cache; raise CallerError if the schema is invalid."""
    try:
        key = msgspec.json.encode(schema)
    except RecursionError:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_DEPTH} levels.") from None
    except UnicodeEncodeError:
        raise CallerError("The JSON Schema contains half a character (a lone surrogate).") from None
    found = _cache.get(key)
    if found is None:
        found = _compile(schema, len(key))
        _cache[key] = found
        if len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    else:
        _cache.move_to_end(key)
    return found


def _compile(schema: dict[str, Any], size: int) -> Checker:
    if size > MAX_BYTES:
        raise CallerError(f"The JSON Schema has {size} bytes; at most {MAX_BYTES} are taken.")
    if depth(schema) > MAX_DEPTH:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_DEPTH} levels.")
    try:
        return Checker(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        # ValidationError is a ValueError: the schema breaks the meta-schema.
        raise CallerError(f"Not a valid JSON Schema: {str(error).splitlines()[0][:200]}") from None


def depth(value: Any) -> int:
    """Return the nesting depth, without recursion: the value is untrusted."""
    level, row = 0, [value]
    while row:
        level += 1
        if level > MAX_DEPTH:
            break
        row = [child for item in row for child in _children(item)]
    return level


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
