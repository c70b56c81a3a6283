"""Schemas of the corpus about structure: arrays, objects, combinations, references, hostile names."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
STRING, INTEGER, BOOLEAN, NULL = ({"type": kind} for kind in ("string", "integer", "boolean", "null"))
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
HOSTILE_NAMES = [
    'quo"te',
    "back\\slash",
    "new\nline",
    "tab\t",
    "nul\x00",
    "bell\x07",
    "del\x7f",
    "",
    " ",
    "中文",
    "日本語 名前",
    "émoji 😀",
    "root",
    "char",
    "comma",
    "string",
    "value",
    "::=",
    '" | root',
    "]",
    "[^",
    "a{2,3}",
    "(x)",
    "#comment",
    "a#b",
    "$ref",
    "#/properties",
    "~0~1",
    "a/b",
    "a%20b",
    "__proto__",
    "constructor",
    "\u2028",
    "\ufeff",
    "x" * 300,
    "\\u0041",
    "-",
    "--",
    "A",
    "a",
    "{{jinja}}",
    "<|im_start|>",
    "</s>",
    "'",
    "`",
    "\x1b[0m",
    "a.b.c",
    "0",
    "-1",
    "true",
    "null",
    "\ud7ff",
    "\ue000",
]


def make_object(properties: Schema, required: list[str] | None = None, **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({} if required is None else {"required": required}) | more


def make_array_schemas() -> dict[str, Schema]:
    items: Schema = {"type": "array", "items": INTEGER}
    found: dict[str, Schema] = {"array": {"type": "array"}, "array of integers": items}
    for low, high in ((0, 0), (0, 1), (1, 1), (1, None), (2, 4), (3, 3), (0, 100), (5, None), (70, None)):
        found[f"array {low}..{high}"] = items | {"minItems": low} | ({} if high is None else {"maxItems": high})
    two = [STRING, INTEGER]
    found |= {
        "pair": {"type": "array", "prefixItems": two},
        "pair, closed": {"type": "array", "prefixItems": two, "items": False, "minItems": 2},
        "pair, open": {"type": "array", "prefixItems": two, "items": BOOLEAN, "minItems": 1, "maxItems": 4},
        "pair, then three": {"type": "array", "prefixItems": two, "items": BOOLEAN, "minItems": 3},
        "pair, then any": {"type": "array", "prefixItems": two, "minItems": 3},
        "pair, at most one": {"type": "array", "prefixItems": two, "maxItems": 1},
        "matrix": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        },
        "only empty": {"type": "array", "items": False},
        "unique single": {"type": "array", "items": INTEGER, "uniqueItems": True, "maxItems": 1},
        "unique": {"type": "array", "items": INTEGER, "uniqueItems": True},
        "contains": {"type": "array", "items": INTEGER, "contains": {"minimum": 5}},
        "untyped items": {"items": STRING},
        "array of any": {"type": "array", "items": True, "maxItems": 3},
        "long tuple": {"type": "array", "prefixItems": [{"const": n} for n in range(60)]},
    }
    return found


TWO_PROPERTIES: Schema = {"a": INTEGER, "b": STRING}
OBJECTS: dict[str, Schema] = {
    "free object": {"type": "object"},
    "map": {"type": "object", "additionalProperties": INTEGER},
    "map of maps": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": STRING}},
    "closed": make_object(TWO_PROPERTIES, additionalProperties=False),
    "open": make_object(TWO_PROPERTIES, ["a"], additionalProperties=True),
    "open, near names": make_object({"a": INTEGER, "ab": INTEGER, "abc": INTEGER}, additionalProperties=STRING),
    "required but not named": {"type": "object", "required": ["x"]},
    "required by map": {"type": "object", "required": ["x"], "additionalProperties": INTEGER},
    "forbidden property": make_object({"a": False, "b": INTEGER}),
    "any property": make_object({"a": True, "b": {}}),
    "pattern properties": {"type": "object", "patternProperties": {"^x-": INTEGER}, "additionalProperties": False},
    "pattern beside names": make_object(TWO_PROPERTIES, ["b"], patternProperties={"^x-[a-z]+$": BOOLEAN}),
    "pattern over names": make_object({"x-a": {"maximum": 5}}, patternProperties={"^x-": INTEGER}),
    "two patterns": {"type": "object", "patternProperties": {"^a": INTEGER, "z$": {"minimum": 3}}},
    "property names": {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,5}$"}, "additionalProperties": INTEGER},
    "property names, listed": {
        "type": "object",
        "propertyNames": {"enum": ["a", "b"]},
        "additionalProperties": INTEGER,
    },
    "property names bind": make_object({"ab": INTEGER, "abcdef": INTEGER}, propertyNames={"maxLength": 3}),
    "at least one": make_object(TWO_PROPERTIES, minProperties=1),
    "at least two of three": make_object({"a": INTEGER, "b": INTEGER, "c": INTEGER}, minProperties=2),
    "at most one": make_object(TWO_PROPERTIES, maxProperties=1),
    "exactly two of four": make_object(dict.fromkeys("abcd", INTEGER), minProperties=2, maxProperties=2),
    "one and at most two": make_object(dict.fromkeys("abcd", INTEGER), ["c"], maxProperties=2),
    "map, one to three": {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 3},
    "three of no named": make_object({}, minProperties=1),
    "two required, three asked": make_object(TWO_PROPERTIES, ["a", "b"], minProperties=3),
    "map, at least two": {"type": "object", "additionalProperties": INTEGER, "minProperties": 2},
    "empty only": {"type": "object", "maxProperties": 0},
    "dependent": make_object(TWO_PROPERTIES, dependentRequired={"a": ["b"]}),
    "unevaluated": make_object(TWO_PROPERTIES, unevaluatedProperties=False),
    "untyped object": {"properties": TWO_PROPERTIES, "required": ["a"]},
    "hostile names": make_object(dict.fromkeys(HOSTILE_NAMES, INTEGER)),
    "hostile names, required": make_object(dict.fromkeys(HOSTILE_NAMES, STRING), HOSTILE_NAMES),
    "hostile names, open": make_object(dict.fromkeys(HOSTILE_NAMES, STRING), additionalProperties=BOOLEAN),
    "hostile values": {"enum": HOSTILE_NAMES},
    "hostile defs": {
        "$defs": {n: INTEGER for n in HOSTILE_NAMES if n},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/a%2520b"}},
    },
}


def make_object_schemas() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for count in (0, 1, 2, 3, 12, 48, 200):
        properties = {f"property {n}": STRING if n % 2 else INTEGER for n in range(count)}
        names = list(properties)
        found[f"{count} optional"] = make_object(properties)
        found[f"{count} required"] = make_object(properties, names)
        found[f"{count} half required"] = make_object(properties, names[1::2])
        found[f"{count} last required"] = make_object(properties, names[-1:])
        found[f"{count} open"] = make_object(properties, names[:1], additionalProperties=INTEGER)
    found |= OBJECTS
    found |= {f"hostile {at}": make_object({name: {"const": name}}, [name]) for at, name in enumerate(HOSTILE_NAMES)}
    return found


DOG = make_object({"kind": {"const": "dog"}, "bark": BOOLEAN}, ["kind", "bark"])
CAT = make_object({"kind": {"const": "cat"}, "lives": INTEGER}, ["kind"])
SMALL, LARGE = {"type": "integer", "maximum": 10}, {"type": "integer", "minimum": 5}
COMBINED: dict[str, Schema] = {
    "any of types": {"anyOf": [STRING, INTEGER, NULL]},
    "one of types": {"oneOf": [STRING, {"type": "number"}]},
    "one of, overlapping": {"oneOf": [SMALL, LARGE]},
    "one of, discriminated": {"oneOf": [DOG, CAT]},
    "one of, closed": {
        "oneOf": [
            make_object({"a": INTEGER}, ["a"], additionalProperties=False),
            make_object({"b": INTEGER}, ["b"], additionalProperties=False),
        ]
    },
    "any of objects": {"anyOf": [DOG, CAT], "description": "an animal"},
    "any of beside properties": make_object(
        {"id": STRING}, ["id"], anyOf=[make_object({"a": INTEGER}, ["a"]), make_object({"b": STRING}, ["b"])]
    ),
    "required alternatives": make_object(
        {"a": INTEGER, "b": INTEGER}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]
    ),
    "all of ranges": {"allOf": [SMALL, LARGE]},
    "all of number and integer": {"allOf": [{"type": "number", "minimum": 0.5}, {"type": "integer", "maximum": 3}]},
    "all of objects": {"allOf": [make_object({"a": INTEGER}, ["a"]), make_object({"b": STRING}, ["b"])]},
    "all of same property": {
        "allOf": [make_object({"a": {"minimum": 3}}), make_object({"a": {"type": "integer", "maximum": 7}}, ["a"])]
    },
    "all of enums": {"allOf": [{"enum": [1, 2, 3, "x"]}, {"enum": [2, 3, 4]}, {"type": "integer", "minimum": 3}]},
    "all of lengths": {"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 4}]},
    "all of any of": {"allOf": [{"anyOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, NULL]}]},
    "all of patterns": {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]},
    "nested any of": {"anyOf": [{"anyOf": [{"anyOf": [NULL]}, BOOLEAN]}, STRING]},
    "dead branch": {"anyOf": [{"type": "string", "enum": [1]}, INTEGER]},
    "enum with type": {"type": "string", "enum": ["a", 1, "bb"], "minLength": 2},
    "enum with not": {"enum": ["a", "b", "c"], "not": {"const": "b"}},
    "not a type": {"type": ["string", "integer"], "not": {"type": "string"}},
    "not": {"type": "integer", "not": {"multipleOf": 2}},
    "conditional": make_object(
        {"a": BOOLEAN, "b": INTEGER},
        ["a"],
        **{"if": {"properties": {"a": {"const": True}}}, "then": {"required": ["b"]}},
    ),
    "type list": {"type": ["string", "null"], "maxLength": 3},
    "all types": {"type": TYPES},
    "const beside type": {"type": "integer", "const": 5},
    "const null": {"const": None},
    "base and more": {
        "$defs": {"base": make_object({"id": INTEGER}, ["id"])},
        "$ref": "#/$defs/base",
        "properties": {"name": STRING},
        "required": ["name"],
        "unevaluatedProperties": False,
    },
}


def make_recursive_schemas() -> dict[str, Schema]:
    tree = make_object(
        {"value": INTEGER, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 3}}, ["value"]
    )
    a, b = make_object({"b": {"$ref": "#/$defs/b"}}), make_object({"a": {"$ref": "#/$defs/a"}, "n": INTEGER}, ["n"])
    deep: Schema = {"type": "integer"}
    for level in range(12):
        deep = make_object({f"level {level}": deep}, [f"level {level}"])
    text: Schema = {"anyOf": [STRING, {"type": "array", "items": {"$ref": "#/$defs/e"}, "maxItems": 2}]}
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(60)}
    return {
        "linked list": make_object({"value": INTEGER, "next": {"$ref": "#"}}, ["value"]),
        "tree": {"$defs": {"node": tree}, "$ref": "#/$defs/node"},
        "mutual": {"$defs": {"a": a, "b": b}, "$ref": "#/$defs/a"},
        "definitions": {"definitions": {"x": INTEGER}, "type": "array", "items": {"$ref": "#/definitions/x"}},
        "anchor": {"$defs": {"x": {"$anchor": "here", "type": "integer"}}, "$ref": "#here"},
        "own id": {"$id": "https://example.com/s", "$defs": {"x": INTEGER}, "$ref": "#/$defs/x"},
        "reference into properties": make_object({"a": INTEGER, "b": {"$ref": "#/properties/a"}}, ["a", "b"]),
        "expression": {"$defs": {"e": text}, "$ref": "#/$defs/e"},
        "deep": deep,
        "long chain of references": {"$defs": chain | {"d60": INTEGER}, "$ref": "#/$defs/d0"},
        "any of itself": {"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}, INTEGER]}}, "$ref": "#/$defs/x"},
        "endless option": make_object(
            {"n": INTEGER, "again": {"$ref": "#/$defs/e"}},
            ["n"],
            **{"$defs": {"e": make_object({"e": {"$ref": "#/$defs/e"}}, ["e"])}},
        ),
        "nullable recursion": make_object(
            {"left": {"anyOf": [{"$ref": "#"}, NULL]}, "right": {"anyOf": [{"$ref": "#"}, NULL]}}, ["left", "right"]
        ),
    }


TYPED: dict[str, Schema] = {f"type {kind}": {"type": kind} for kind in TYPES}
STRUCTURES: dict[str, Schema] = (
    TYPED
    | {"anything": {}, "described": {"description": "x", "default": 3}, "of true": {"allOf": [True]}}
    | make_array_schemas()
    | make_object_schemas()
    | COMBINED
    | make_recursive_schemas()
)
