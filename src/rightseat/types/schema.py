"""JSON Schema validation. Remote `$ref`s are never fetched: the schema is untrusted input."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.errors import CallerError

MAX_SCHEMA_BYTES = 256_000
MAX_SCHEMA_DEPTH = 64
MAX_CACHED_VALIDATORS = 512
MAX_PROBLEMS = 3

_REGEX = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=1_000_000)


class SchemaValidator:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.validator = jsonschema_rs.Draft202012Validator(
            schema, validate_formats=False, pattern_options=_REGEX, offline=True
        )

    def find_problem(self, value: Any) -> str | None:
        """Describe what is wrong with the value, for a model or a person; None if it is valid."""
        if self.validator.is_valid(value):
            return None
        problems = []
        for error in itertools.islice(self.validator.iter_errors(value), MAX_PROBLEMS):
            path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
            problems.append(f"{path.lstrip('.') or 'value'}: {str(error.message)[:200]}")
        return "; ".join(problems)

    def find_missing(self, value: Any) -> list[tuple[str, ...]] | None:
        """Return the key paths of missing required values; None if there are other errors too."""
        paths: list[tuple[str, ...]] = []
        for error in self.validator.iter_errors(value):
            path = tuple(step for step in error.instance_path if isinstance(step, str))
            is_missing = isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required)
            if not is_missing or len(path) < len(error.instance_path):
                return None
            paths.append((*path, error.kind.property))
        return paths


_cache: OrderedDict[bytes, SchemaValidator] = OrderedDict()


def get_validator(schema: dict[str, Any]) -> SchemaValidator:
    """Return a validator for the schema from a bounded cache; raise CallerError if the schema is invalid."""
    try:
        key = msgspec.json.encode(schema)
    except RecursionError:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_SCHEMA_DEPTH} levels.") from None
    except UnicodeEncodeError:
        raise CallerError("The JSON Schema contains a lone surrogate. Send valid Unicode text.") from None
    validator = _cache.get(key)
    if validator is None:
        validator = _cache[key] = _compile(schema, len(key))
        if len(_cache) > MAX_CACHED_VALIDATORS:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return validator


def _compile(schema: dict[str, Any], size: int) -> SchemaValidator:
    if size > MAX_SCHEMA_BYTES:
        raise CallerError(f"The JSON Schema has {size} bytes; at most {MAX_SCHEMA_BYTES} are taken.")
    if nesting_depth(schema) > MAX_SCHEMA_DEPTH:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_SCHEMA_DEPTH} levels.")
    try:
        return SchemaValidator(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        # ValidationError is a ValueError: the schema breaks the meta-schema.
        raise CallerError(f"Not a valid JSON Schema: {str(error).splitlines()[0][:200]}") from None


def nesting_depth(value: Any) -> int:
    """Return the nesting depth, without recursion: the value is untrusted."""
    level, values = 0, [value]
    while values:
        level += 1
        if level > MAX_SCHEMA_DEPTH:
            break
        parents = (
            item.values() if isinstance(item, dict) else item for item in values if isinstance(item, dict | list)
        )
        values = [child for children in parents for child in children]
    return level
