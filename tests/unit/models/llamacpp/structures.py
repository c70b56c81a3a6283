"""Schemas of the corpus about structure: arrays, objects, combinations, references, hostile names."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
STRING, INTEGER, BOOLEAN, NULL = ({"type": kind} for kind in ("string", "integer", "boolean", "null"))
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
HOSTILE = [
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


def obj(properties: Schema, required: list[str] | None = None, **more: Any) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({} if required is None else {"required": required}) | more


def arrays() -> dict[str, Schema]:
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


AB: Schema = {"a": INTEGER, "b": STRING}
OBJECTS: dict[str, Schema] = {
    "free object": {"type": "object"},
    "map": {"type": "object", "additionalProperties": INTEGER},
    "map of maps": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": STRING}},
    "closed": obj(AB, additionalProperties=False),
    "open": obj(AB, ["a"], additionalProperties=True),
    "open, near names": obj({"a": INTEGER, "ab": INTEGER, "abc": INTEGER}, additionalProperties=STRING),
    "required but not named": {"type": "object", "required": ["x"]},
    "required by map": {"type": "object", "required": ["x"], "additionalProperties": INTEGER},
    "forbidden property": obj({"a": False, "b": INTEGER}),
    "any property": obj({"a": True, "b": {}}),
    "pattern properties": {"type": "object", "patternProperties": {"^x-": INTEGER}, "additionalProperties": False},
    "pattern beside names": obj(AB, ["b"], patternProperties={"^x-[a-z]+$": BOOLEAN}),
    "pattern over names": obj({"x-a": {"maximum": 5}}, patternProperties={"^x-": INTEGER}),
    "two patterns": {"type": "object", "patternProperties": {"^a": INTEGER, "z$": {"minimum": 3}}},
    "property names": {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,5}$"}, "additionalProperties": INTEGER},
    "property names, listed": {
        "type": "object",
        "propertyNames": {"enum": ["a", "b"]},
        "additionalProperties": INTEGER,
    },
    "property names bind": obj({"ab": INTEGER, "abcdef": INTEGER}, propertyNames={"maxLength": 3}),
    "at least one": obj(AB, minProperties=1),
    "at least two of three": obj({"a": INTEGER, "b": INTEGER, "c": INTEGER}, minProperties=2),
    "at most one": obj(AB, maxProperties=1),
    "exactly two of four": obj(dict.fromkeys("abcd", INTEGER), minProperties=2, maxProperties=2),
    "one and at most two": obj(dict.fromkeys("abcd", INTEGER), ["c"], maxProperties=2),
    "map, one to three": {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 3},
    "three of no named": obj({}, minProperties=1),
    "two required, three asked": obj(AB, ["a", "b"], minProperties=3),
    "map, at least two": {"type": "object", "additionalProperties": INTEGER, "minProperties": 2},
    "empty only": {"type": "object", "maxProperties": 0},
    "dependent": obj(AB, dependentRequired={"a": ["b"]}),
    "unevaluated": obj(AB, unevaluatedProperties=False),
    "untyped object": {"properties": AB, "required": ["a"]},
    "hostile names": obj(dict.fromkeys(HOSTILE, INTEGER)),
    "hostile names, required": obj(dict.fromkeys(HOSTILE, STRING), HOSTILE),
    "hostile names, open": obj(dict.fromkeys(HOSTILE, STRING), additionalProperties=BOOLEAN),
    "hostile values": {"enum": HOSTILE},
    "hostile defs": {
        "$defs": {n: INTEGER for n in HOSTILE if n},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a~1b"}, "b": {"$ref": "#/$defs/a%2520b"}},
    },
}


def objects() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for count in (0, 1, 2, 3, 12, 48, 200):
        properties = {f"property {n}": STRING if n % 2 else INTEGER for n in range(count)}
        names = list(properties)
        found[f"{count} optional"] = obj(properties)
        found[f"{count} required"] = obj(properties, names)
        found[f"{count} half required"] = obj(properties, names[1::2])
        found[f"{count} last required"] = obj(properties, names[-1:])
        found[f"{count} open"] = obj(properties, names[:1], additionalProperties=INTEGER)
    found |= OBJECTS
    found |= {f"hostile {at}": obj({name: {"const": name}}, [name]) for at, name in enumerate(HOSTILE)}
    return found


DOG = obj({"kind": {"const": "dog"}, "bark": BOOLEAN}, ["kind", "bark"])
CAT = obj({"kind": {"const": "cat"}, "lives": INTEGER}, ["kind"])
SMALL, LARGE = {"type": "integer", "maximum": 10}, {"type": "integer", "minimum": 5}
COMBINED: dict[str, Schema] = {
    "any of types": {"anyOf": [STRING, INTEGER, NULL]},
    "one of types": {"oneOf": [STRING, {"type": "number"}]},
    "one of, overlapping": {"oneOf": [SMALL, LARGE]},
    "one of, discriminated": {"oneOf": [DOG, CAT]},
    "one of, closed": {
        "oneOf": [
            obj({"a": INTEGER}, ["a"], additionalProperties=False),
            obj({"b": INTEGER}, ["b"], additionalProperties=False),
        ]
    },
    "any of objects": {"anyOf": [DOG, CAT], "description": "an animal"},
    "any of beside properties": obj(
        {"id": STRING}, ["id"], anyOf=[obj({"a": INTEGER}, ["a"]), obj({"b": STRING}, ["b"])]
    ),
    "required alternatives": obj({"a": INTEGER, "b": INTEGER}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
    "all of ranges": {"allOf": [SMALL, LARGE]},
    "all of number and integer": {"allOf": [{"type": "number", "minimum": 0.5}, {"type": "integer", "maximum": 3}]},
    "all of objects": {"allOf": [obj({"a": INTEGER}, ["a"]), obj({"b": STRING}, ["b"])]},
    "all of same property": {
        "allOf": [obj({"a": {"minimum": 3}}), obj({"a": {"type": "integer", "maximum": 7}}, ["a"])]
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
    "conditional": obj(
        {"a": BOOLEAN, "b": INTEGER},
        ["a"],
        **{"if": {"properties": {"a": {"const": True}}}, "then": {"required": ["b"]}},
    ),
    "type list": {"type": ["string", "null"], "maxLength": 3},
    "all types": {"type": TYPES},
    "const beside type": {"type": "integer", "const": 5},
    "const null": {"const": None},
    "base and more": {
        "$defs": {"base": obj({"id": INTEGER}, ["id"])},
        "$ref": "#/$defs/base",
        "properties": {"name": STRING},
        "required": ["name"],
        "unevaluatedProperties": False,
    },
}


def recursive() -> dict[str, Schema]:
    tree = obj(
        {"value": INTEGER, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 3}}, ["value"]
    )
    a, b = obj({"b": {"$ref": "#/$defs/b"}}), obj({"a": {"$ref": "#/$defs/a"}, "n": INTEGER}, ["n"])
    deep: Schema = {"type": "integer"}
    for level in range(12):
        deep = obj({f"level {level}": deep}, [f"level {level}"])
    text: Schema = {"anyOf": [STRING, {"type": "array", "items": {"$ref": "#/$defs/e"}, "maxItems": 2}]}
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(60)}
    return {
        "linked list": obj({"value": INTEGER, "next": {"$ref": "#"}}, ["value"]),
        "tree": {"$defs": {"node": tree}, "$ref": "#/$defs/node"},
        "mutual": {"$defs": {"a": a, "b": b}, "$ref": "#/$defs/a"},
        "definitions": {"definitions": {"x": INTEGER}, "type": "array", "items": {"$ref": "#/definitions/x"}},
        "anchor": {"$defs": {"x": {"$anchor": "here", "type": "integer"}}, "$ref": "#here"},
        "own id": {"$id": "https://example.com/s", "$defs": {"x": INTEGER}, "$ref": "#/$defs/x"},
        "reference into properties": obj({"a": INTEGER, "b": {"$ref": "#/properties/a"}}, ["a", "b"]),
        "expression": {"$defs": {"e": text}, "$ref": "#/$defs/e"},
        "deep": deep,
        "long chain of references": {"$defs": chain | {"d60": INTEGER}, "$ref": "#/$defs/d0"},
        "any of itself": {"$defs": {"x": {"anyOf": [{"$ref": "#/$defs/x"}, INTEGER]}}, "$ref": "#/$defs/x"},
        "endless option": obj(
            {"n": INTEGER, "again": {"$ref": "#/$defs/e"}},
            ["n"],
            **{"$defs": {"e": obj({"e": {"$ref": "#/$defs/e"}}, ["e"])}},
        ),
        "nullable recursion": obj(
            {"left": {"anyOf": [{"$ref": "#"}, NULL]}, "right": {"anyOf": [{"$ref": "#"}, NULL]}}, ["left", "right"]
        ),
    }


TYPED: dict[str, Schema] = {f"type {kind}": {"type": kind} for kind in TYPES}
STRUCTURES: dict[str, Schema] = (
    TYPED
    | {"anything": {}, "described": {"description": "x", "default": 3}, "of true": {"allOf": [True]}}
    | arrays()
    | objects()
    | COMBINED
    | recursive()
)
