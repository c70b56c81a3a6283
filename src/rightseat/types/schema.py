"""JSON Schema validation. Remote `$ref`s are never fetched: the schema is untrusted input."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.errors import CallerError
from rightseat.types.schema_cost import SchemaCost, SchemaTooCostly

MAX_SCHEMA_BYTES = 256_000
MAX_SCHEMA_DEPTH = 64
MAX_CACHED_VALIDATORS = 512
MAX_PROBLEMS = 3
MAX_DESCRIBED = 10_000
"""The most evaluations for which the reasons are listed; listing them does not share work as validating does."""

MAX_UNION_LEVELS = 3
MAX_MESSAGE_CHARS = 200

_REGEX = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=1_000_000)


class SchemaValidator:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.cost = SchemaCost(schema)
        self.cost.check()
        self.validator = jsonschema_rs.Draft202012Validator(
            schema, validate_formats=False, pattern_options=_REGEX, offline=True
        )

    def find_problem(self, value: Any) -> str | None:
        """Describe what is wrong with the value, for a model or a person; None if it is valid."""
        if self.validator.is_valid(value):
            return None
        if self.cost.count_evaluations(value, MAX_DESCRIBED) == MAX_DESCRIBED:
            return "value: it does not fit the schema, and is too large or too deeply nested to say where"
        errors = itertools.islice(self.validator.iter_errors(value), MAX_PROBLEMS)
        return "; ".join(describe_error(error) for error in errors)

    def find_missing(self, value: Any) -> list[tuple[str, ...]] | None:
        """Return the key paths of missing required values; None if there are other errors too."""
        paths: list[tuple[str, ...]] = []
        if self.cost.count_evaluations(value, MAX_DESCRIBED) == MAX_DESCRIBED:
            return None
        for error in self.validator.iter_errors(value):
            kind, path = error.kind, tuple(step for step in error.instance_path if isinstance(step, str))
            in_list = len(path) < len(error.instance_path)
            if in_list or not isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
                return None
            paths.append((*path, kind.property))
        return paths


def describe_error(error: jsonschema_rs.ValidationError, level: int = 0) -> str:
    """Return the place and the reason; of anyOf and oneOf why each branch that may be meant does not fit."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    place = path.lstrip(".") or "value"
    kinds = jsonschema_rs.ValidationErrorKind
    if not isinstance(error.kind, kinds.AnyOf | kinds.OneOfNotValid) or level == MAX_UNION_LEVELS:
        return f"{place}: {str(error.message)[:MAX_MESSAGE_CHARS]}"
    branches = [branch for branch in error.kind.context if branch]
    depth = len(error.instance_path)
    of_type = [branch for branch in branches if not has_error(branch, depth, kinds.Type)]
    # A property with fixed values tells which branch is meant.
    meant = [branch for branch in of_type if not has_error(branch, depth + 1, kinds.Constant, kinds.Enum)] or of_type
    if len(meant) == 1:
        inner_errors = meant[0][:MAX_PROBLEMS]
        return "; ".join(describe_error(inner, level + 1) for inner in inner_errors)[: 3 * MAX_MESSAGE_CHARS]
    reasons = [describe_error(branch[0], level + 1) for branch in (meant or branches)[:MAX_PROBLEMS]]
    same_place = [reason.removeprefix(f"{place}: ") for reason in reasons]
    return f"{place}: {', and '.join(dict.fromkeys(same_place))}"[: 2 * MAX_MESSAGE_CHARS]


def has_error(errors: list[jsonschema_rs.ValidationError], depth: int, *kinds: type) -> bool:
    """Tell whether one of the errors is of such a kind and at that depth of the value."""
    return any(isinstance(error.kind, kinds) and len(error.instance_path) == depth for error in errors)


def get_validator(schema: dict[str, Any]) -> SchemaValidator:
    """Return a validator for the schema from a bounded cache; raise CallerError if the schema is invalid."""
    try:
        return _compile(msgspec.json.encode(schema))
    except RecursionError:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_SCHEMA_DEPTH} levels.") from None
    except UnicodeEncodeError:
        raise CallerError("The JSON Schema contains a lone surrogate. Send valid Unicode text.") from None


@functools.lru_cache(MAX_CACHED_VALIDATORS)
def _compile(encoded: bytes) -> SchemaValidator:
    if len(encoded) > MAX_SCHEMA_BYTES:
        raise CallerError(f"The JSON Schema has {len(encoded)} bytes; at most {MAX_SCHEMA_BYTES} are taken.")
    schema = msgspec.json.decode(encoded)
    if nesting_depth(schema) > MAX_SCHEMA_DEPTH:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_SCHEMA_DEPTH} levels.")
    try:
        return SchemaValidator(schema)
    except SchemaTooCostly as error:
        raise CallerError(f"The JSON Schema {error}. Remove the repeated references.") from None
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
        nodes = (item.values() if isinstance(item, dict) else item for item in values if isinstance(item, dict | list))
        values = [child for children in nodes for child in children]
    return level
