"""Values that satisfy a schema, for Hypothesis: simple and partial, so every value is checked before use."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from rightseat.models.llamacpp.grammar.rules import GrammarLimits

Schema = dict[str, Any]
LIMITS = GrammarLimits()
# Keywords that need more than one look at the schema.
UNSUPPORTED_KEYWORDS = {
    "allOf",
    "if",
    "not",
    "patternProperties",
    "propertyNames",
    "contains",
    "dependentRequired",
    "$id",
    "$anchor",
}
FORMAT_EXAMPLES = {
    "date": ["2024-02-29", "2000-02-29", "1999-12-31", "2023-04-30"],
    "time": ["12:30:45Z", "23:59:59.123+05:30"],
    "date-time": ["2024-02-29T12:30:45Z", "1985-04-12T23:20:50.52-08:00"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"],
    "email": ["a@example.com", "first.last+tag@mail.example.co.uk"],
    "ipv4": ["0.0.0.0", "127.0.0.1", "255.255.255.255", "192.168.1.20"],
    "ipv6": ["::", "::1", "fe80::1", "2001:db8:0:0:0:0:2:1", "2001:db8::2:1"],
    "uri": [
        "https://example.com",
        "http://example.com:8080/a/b.html?q=1&r=%20#top",
        "mailto:a@example.com",
        "urn:isbn:1",
    ],
    "hostname": ["localhost", "www.example-site.com"],
    "duration": ["P1Y2M3DT4H5M6S", "PT1H", "P2W", "P1D"],
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(10**6), 10**6) | st.decimals(-1000, 1000, places=3).map(float)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=4
).filter(lambda value: get_depth(value) <= LIMITS.depth)


def get_depth(value: Any) -> int:
    if isinstance(value, dict | list):
        children = value.values() if isinstance(value, dict) else value
        return 1 + max(map(get_depth, children), default=0)
    return 0


def normalise_numbers(value: Any) -> Any:
    """Whole numbers without a point: that is how they are spelled."""
    if isinstance(value, dict):
        return {name: normalise_numbers(child) for name, child in value.items()}
    if isinstance(value, list):
        return [normalise_numbers(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_simple(schema: Any) -> bool:
    """Whether the strategies below know all of it."""
    if isinstance(schema, dict):
        return not UNSUPPORTED_KEYWORDS & schema.keys() and all(map(is_simple, schema.values()))
    return all(map(is_simple, schema)) if isinstance(schema, list) else True


def generate_instances(schema: Any, root: Schema, depth: int = 5) -> st.SearchStrategy[Any]:
    if schema is True or schema == {}:
        return ANYTHING
    if schema is False or depth < 0:
        return st.nothing()
    if "$ref" in schema:
        return st.deferred(lambda: generate_instances(resolve_reference(schema["$ref"], root), root, depth - 1))
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            rest = {name: value for name, value in schema.items() if name != key}
            ways = [branch if "properties" in branch else {**rest, **branch} for branch in schema[key]]
            return st.one_of([generate_instances(way, root, depth) for way in ways])
    kinds = schema.get("type", guess_types(schema))
    return st.one_of(
        [generate_by_type(kind, schema, root, depth) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    )


def guess_types(schema: Schema) -> list[str]:
    if {"properties", "required"} & schema.keys():
        return ["object"]
    return ["array"] if "items" in schema else ["null", "boolean", "integer", "string"]


def resolve_reference(reference: str, root: Schema) -> Any:
    value: Any = root
    for step in reference.split("/")[1:]:
        value = value[step.replace("%25", "%").replace("~1", "/").replace("~0", "~")]
    return value


def generate_by_type(kind: str, schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            low, high = schema.get("minimum", -(10**6)), schema.get("maximum", 10**6)
            return st.integers(int(min(low, high)), int(max(low, high)))
        case "number":
            return generate_numbers(schema)
        case "string":
            return generate_strings(schema)
        case "array":
            return generate_arrays(schema, root, depth)
        case _:
            return generate_objects(schema, root, depth)


def generate_numbers(schema: Schema) -> st.SearchStrategy[Any]:
    low: Any = schema.get("minimum", schema.get("exclusiveMinimum", -1000))
    high: Any = schema.get("maximum", schema.get("exclusiveMaximum", low + 1000))
    low = min(low, high) if "minimum" in schema or "exclusiveMinimum" in schema else high - 1000
    wide = st.integers(int(low), int(high) + 1)
    return wide | st.decimals(str(low), str(high), places=3).map(float) if high - low >= 0.01 else wide


def generate_strings(schema: Schema) -> st.SearchStrategy[Any]:
    if "pattern" in schema:
        return st.from_regex(re.compile(schema["pattern"].replace("?<", "?P<"), re.ASCII)).filter(
            lambda text: len(text) < 30
        )
    if schema.get("format") in FORMAT_EXAMPLES:
        return st.sampled_from(FORMAT_EXAMPLES[schema["format"]])
    low = schema.get("minLength", 0)
    high = min(schema.get("maxLength", low + 12), low + 12)
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=low, max_size=high)


def generate_arrays(schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    prefix = schema.get("prefixItems", [])
    low = schema.get("minItems", 0)
    items = schema.get("items", not prefix)
    free = items is True
    further = SCALARS if free else generate_instances(items, root, depth - 1)
    most = min(schema.get("maxItems", max(low, LIMITS.items)), low + 3)

    def build(size: int) -> st.SearchStrategy[Any]:
        known = [generate_instances(item, root, depth - 1) for item in prefix[:size]]
        rest = max(0, size - len(prefix))
        if further.is_empty and rest:
            return st.nothing()
        more = st.lists(further, min_size=rest, max_size=rest) if rest else st.just([])
        return st.tuples(st.tuples(*known), more).map(lambda pair: [*pair[0], *pair[1]])

    return st.integers(min(low, most), max(low, most)).flatmap(build)


def generate_objects(schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    properties = {
        name: generate_instances(value, root, depth - 1) for name, value in schema.get("properties", {}).items()
    }
    required = schema.get("required", [])
    extra = schema.get("additionalProperties", "properties" not in schema and not required)
    others = SCALARS if extra is True else generate_instances(extra, root, depth - 1)
    for name in required:
        properties.setdefault(name, SCALARS if extra in (True, False) else others)

    @st.composite
    def build(draw: st.DrawFn) -> dict[str, Any]:
        picked = {
            name: draw(value)
            for name, value in properties.items()
            if name in required or (not value.is_empty and draw(st.integers(0, len(properties))) < 8)
        }
        if extra is not False:
            more = draw(st.dictionaries(KEYS, others, max_size=2))
            picked |= {name: value for name, value in more.items() if name not in properties}
        return picked

    return build()
