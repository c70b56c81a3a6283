"""A value for a schema, as plain as it may be: what a careful model would send."""

from functools import cache
from typing import Any

from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from rightseat.plugins.http.arguments import resolve_ref
from rightseat.types.schema import get_validator

MAX_DEPTH = 6


def make_sample(schema: Any, root: dict[str, Any], level: int = 0) -> Any:
    schema = resolve_ref(schema, root)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("examples", "enum"):
        if fitting := [one for one in schema.get(word) or () if is_valid(schema, root, one)]:
            return fitting[0]
    for word in ("oneOf", "anyOf"):
        if schema.get(word):
            return make_sample(schema[word][0], root, level)
    if schema.get("allOf"):
        parts = [make_sample(part, root, level) for part in schema["allOf"]]
        made = [part for part in parts if isinstance(part, dict)]
        return {key: value for part in made for key, value in part.items()} if made else parts[0]
    return make_sample_of_type(schema, root, level)


def is_valid(schema: dict[str, Any], root: dict[str, Any], value: Any) -> bool:
    return get_validator({**schema, "$defs": root.get("$defs") or {}}).find_problem(value) is None


def make_sample_of_type(schema: dict[str, Any], root: dict[str, Any], level: int) -> Any:
    kinds = schema.get("type") or ("object" if "properties" in schema else "string")
    kind = next((one for one in kinds if one != "null"), "null") if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            required = schema.get("required") or ()
            known = schema.get("properties") or {}
            wanted = known if level < MAX_DEPTH else {name: known[name] for name in required if name in known}
            return {name: make_sample(inner, root, level + 1) for name, inner in wanted.items()}
        case "array":
            count = max(schema.get("minItems", 0), 1 if level < MAX_DEPTH else 0)
            return [make_sample(schema.get("items") or {}, root, level + 1) for _ in range(count)]
        case "integer" | "number":
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        case "boolean":
            return True
        case "null":
            return None
    return make_text(schema)


@cache
def make_matching_text(pattern: str) -> str:
    once = settings(phases=[Phase.generate], database=None, derandomize=True)
    made: str = find(st.from_regex(pattern), lambda made: made != "" and made.isprintable(), settings=once)
    return made


def make_text(schema: dict[str, Any]) -> str:
    if pattern := schema.get("pattern"):
        return make_matching_text(pattern)
    return "word".ljust(schema.get("minLength", 1), "x")[: schema.get("maxLength", 1000)]
