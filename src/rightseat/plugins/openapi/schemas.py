"""Conversion of a spec's schemas to JSON Schema 2020-12, with `$ref` targets under `$defs`.

Targets of `$ref` are queued, not followed recursively, so cycles and long chains are harmless. `simplify`
decides afterwards which references are inlined.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from rightseat.plugins.openapi import patterns
from rightseat.plugins.openapi.keywords import (
    JSON_TYPES,
    coerce_value,
    collect_examples,
    convert_plain_keywords,
    schema_for_type_word,
)
from rightseat.plugins.openapi.node import Node, ProblemList, RefResolver, is_truthy
from rightseat.plugins.openapi.overlap import DEFS_PREFIX, OverlapFinder
from rightseat.plugins.plugin import KeyPath
from rightseat.plugins.value_patterns import VALUE_PATTERN, is_simple_pattern, matches_text, strip_anchors

Schema = dict[str, Any]
MAP_KEYWORDS = frozenset(("properties", "patternProperties", "dependentSchemas"))
LIST_KEYWORDS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
SINGLE_KEYWORDS = frozenset(("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"))
_OBJECT_KEYWORDS = ("properties", "additionalProperties", "minProperties", "maxProperties", "patternProperties")


def find_circular(defs: Mapping[str, Schema]) -> set[str]:
    """Return the definitions whose references lead back to them for the same value."""
    edges = {name: {target for target in same_value_refs(schema) if target in defs} for name, schema in defs.items()}
    ahead = strip_leaves(edges)
    back: dict[str, set[str]] = {name: set() for name in ahead}
    for name in ahead:
        for target in edges[name] & ahead:
            back[target].add(name)
    return strip_leaves(back)


def strip_leaves(edges: dict[str, set[str]]) -> set[str]:
    """Remove nodes without outgoing edges repeatedly; returns the names that are left."""
    sorter = TopologicalSorter(edges)
    # After a CycleError the sorter still gives the nodes that do not depend on a cycle.
    with contextlib.suppress(CycleError):
        sorter.prepare()
    left = set(edges)
    while leaves := sorter.get_ready():
        left.difference_update(leaves)
        sorter.done(*leaves)
    return left


def same_value_refs(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the definitions that the schema references for the same value."""
    pending = [schema]
    while pending:
        current = pending.pop()
        if "$ref" in current:
            yield str(current["$ref"]).removeprefix(DEFS_PREFIX)
        for key in ("allOf", "anyOf", "oneOf"):
            pending += current.get(key, ())
        pending += (current[key] for key in ("not", "if", "then", "else") if isinstance(current.get(key), dict))


class SchemaConverter:
    """Converts schemas. `hidden_flag` drops properties: readOnly in requests, writeOnly in responses."""

    def __init__(self, refs: RefResolver, problems: ProblemList, hidden_flag: str) -> None:
        self.refs, self.problems, self.hidden_flag = refs, problems, hidden_flag
        self.defs: dict[str, Schema] = {}
        self.def_names: dict[tuple[str, KeyPath], str] = {}
        self.pending: list[tuple[str, Node]] = []
        self.unions: list[tuple[list[Schema], Node]] = []

    def convert_with_defs(self, node: Node) -> Schema:
        """Convert a schema and every definition it references; the definitions are in `defs` afterwards."""
        schema = self.convert(node)
        fresh: dict[str, Node] = {}
        while self.pending:
            name, target = self.pending.pop()
            fresh[name] = target
            self.defs[name] = self.convert(target)
        for name in sorted(find_circular({name: self.defs[name] for name in fresh})):
            fix = "Say what it is; it may hold itself in a property or an item."
            self.problems.add(fresh[name], "It is made of itself; any value is taken.", fix, "error")
            self.defs[name] = {}
        self.relax_unions([schema, *(self.defs[name] for name in fresh)])
        return schema

    def relax_unions(self, schemas: list[Schema]) -> None:
        """Turn each oneOf of the schemas into anyOf where a value may fit two branches: such a value is meant to be
        sent, and oneOf would refuse it."""
        finder = OverlapFinder(self.defs)
        relaxed: dict[int, list[Schema]] = {}
        for branches, node in self.unions:
            if finder.has_overlap(branches):
                relaxed[id(branches)] = branches
                fix = "Write anyOf, or give each branch a required property with an `enum` of its own."
                self.problems.add(node, "A value may fit more than one of its branches; it is read as anyOf.", fix)
        self.unions.clear()
        pending: list[Any] = [*schemas] if relaxed else []
        while pending:
            current = pending.pop()
            pending += current.values() if isinstance(current, dict) else current if isinstance(current, list) else ()
            if isinstance(current, dict) and id(current.get("oneOf")) in relaxed:
                branches = current.pop("oneOf")
                if "anyOf" in current:
                    current["allOf"] = [*current.get("allOf", ()), {"anyOf": branches}]
                else:
                    current["anyOf"] = branches

    def convert(self, node: Node) -> Schema:
        node = self.as_mapping(node)
        if "$ref" in node.value:
            return self.convert_ref(node)
        schema = convert_plain_keywords(node, self.problems)
        self.add_type(schema, node)
        self.add_subschemas(schema, node)
        self.add_required(schema, node)
        self.coerce_values(schema, node)
        self.add_pattern(schema, node)
        return make_nullable(schema) if node.is_true("nullable", "x-nullable") else schema

    def as_mapping(self, node: Node) -> Node:
        """Return the schema as a mapping: lists (as in the original guide) and booleans are converted."""
        if isinstance(node.value, list):
            self.problems.add(node, "A schema is no list.", "Take away the dash before its first key.")
            node = node.child(0) if len(node.value) == 1 else node.with_value({"anyOf": node.value})
        if isinstance(node.value, dict):
            return node
        if node.value is False:
            return node.with_value({"not": {}})
        if node.value not in (None, True, ""):
            self.problems.add(node, "A schema is a mapping; this is passed over.", "Write `type:` and the rest below.")
        return node.with_value({})

    def convert_ref(self, node: Node) -> Schema:
        target = self.refs.resolve_once(node)
        if target is None:
            return {}
        key = (target.spec.name, target.path)
        name = self.def_names.get(key)
        if name is None:
            name = self.def_names[key] = self.name_definition(target)
            self.pending.append((name, target))
        schema: Schema = {"$ref": DEFS_PREFIX + name}
        beside = convert_plain_keywords(node, self.problems)
        schema |= {word: beside[word] for word in ("description", "default") if word in beside}
        if examples := collect_examples(node):
            schema["examples"] = examples
        return make_nullable(schema) if node.is_true("nullable", "x-nullable") else schema

    def name_definition(self, target: Node) -> str:
        last = str(target.path[-1]) if target.path else target.spec.name
        word = re.sub(r"[^A-Za-z0-9_]+", "_", last).strip("_")[:40]
        if not word or not last.isascii():
            word = f"{word}_{hashlib.sha256(last.encode()).hexdigest()[:8]}".lstrip("_")
        names = set(self.def_names.values())
        name, number = word, 1
        while name in names:
            number += 1
            name = f"{word}_{number}"
        return name

    def add_type(self, schema: Schema, node: Node) -> None:
        declared = node.value.get("type")
        words = declared if isinstance(declared, list) else [declared]
        types: list[str] = []
        for word in words:
            meaning = self.type_schema(node, word)
            kinds = meaning.pop("type", None)
            types += [kinds] if isinstance(kinds, str) else kinds or []
            for key, value in meaning.items():
                schema.setdefault(key, value)
        if not types and declared is None:
            types = infer_types(node.value)
        if types:
            schema["type"] = types[0] if len(set(types)) == 1 else list(dict.fromkeys(types))

    def type_schema(self, node: Node, word: Any) -> Schema:
        if word is None:
            return {}
        schema = schema_for_type_word(word) if isinstance(word, str) else None
        if schema is None:
            fix = f"Write one of {', '.join(JSON_TYPES)}."
            self.problems.add(node.child("type"), f"There is no type {str(word)[:40]!r}; any value is taken.", fix)
            return {}
        if word not in JSON_TYPES:
            fix = f"Write one of {', '.join(JSON_TYPES)}, and perhaps a format."
            kinds = schema.get("type", "any value")
            types = " or ".join(kinds) if isinstance(kinds, list) else kinds
            what = f"{word!r} is no type of JSON Schema; it is read as {types}."
            self.problems.add(node.child("type"), what, fix, "style")
        return dict(schema)

    def add_subschemas(self, schema: Schema, node: Node) -> None:
        """Convert the keywords that hold subschemas."""
        for key, value in node.value.items():
            if key in MAP_KEYWORDS:
                self.add_named_subschemas(schema, node.child(key))
            elif key in LIST_KEYWORDS and isinstance(value, list) and value:
                schema[key] = [self.convert(inner) for inner in node.child(key).children()]
                if key == "oneOf" and self.hidden_flag == "readOnly":
                    self.unions.append((schema[key], node.child(key)))
            elif key in SINGLE_KEYWORDS and isinstance(value, bool) and key != "items":
                schema[key] = value
            elif key in SINGLE_KEYWORDS and value is not None:
                schema[key] = self.convert(node.child(key))

    def add_named_subschemas(self, schema: Schema, node: Node) -> None:
        key = str(node.path[-1])
        if isinstance(node.value, dict):
            schema[key] = {
                name: self.convert(inner)
                for name, inner in node.items()
                if not (key == "properties" and inner.is_true(self.hidden_flag))
            }
        elif node.value is not None:
            self.problems.add(node, "It is no mapping, and is passed over.", "Write `NAME:` for each.")

    def add_required(self, schema: Schema, node: Node) -> None:
        """Set `required`, also from `required: true` inside properties."""
        declared = node.value.get("required")
        listed = [declared] if isinstance(declared, str) and not is_truthy(declared) else declared
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        properties = node.value.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if isinstance(inner, dict) and inner.get("required") is True:
                place = node.child("properties").child(name).child("required")
                fix = f"Write `required: [{name}]` beside `properties`."
                self.problems.add(place, "stands in the wrong place.", fix)
                names.append(name)
            if isinstance(inner, dict) and is_truthy(inner.get(self.hidden_flag)):
                names = [required for required in names if required != name]
        if names:
            schema["required"] = list(dict.fromkeys(names))

    def coerce_values(self, schema: Schema, node: Node) -> None:
        """Convert examples, default and enum values to the schema's type."""
        kinds = schema_types(schema)
        if "default" in schema:
            schema["default"] = coerce_value(schema["default"], kinds)
        if "enum" in schema:
            coerced = [coerce_value(value, kinds) for value in schema["enum"]]
            if coerced != schema["enum"]:
                what = f"has values that are no {' or '.join(kinds)}; they are read as such."
                self.problems.add(node.child("enum"), what, "Mend their quotes.", "style")
            schema["enum"] = coerced
        if examples := collect_examples(node):
            schema["examples"] = [coerce_value(example, kinds) for example in examples]

    def add_pattern(self, schema: Schema, node: Node) -> None:
        pattern = node.value.get("pattern")
        if pattern is None or pattern == "":
            return
        place, text = node.child("pattern"), str(pattern)
        if not patterns.is_valid_pattern(text):
            self.problems.add(place, "It is no regular expression, and is passed over.", "Check its brackets.")
        else:
            self.apply_pattern(schema, text, place)

    def apply_pattern(self, schema: Schema, text: str, place: Node) -> None:
        """Bind the values of the schema's type to the pattern: a list's items, unless the pattern is of its JSON."""
        kinds = schema_types(schema)
        if not kinds or "string" in kinds:
            schema["pattern"] = patterns.anchor_pattern(text, (*schema.get("examples", ()), *schema.get("enum", ())))
        elif "integer" in kinds or "number" in kinds:
            self.add_number_pattern(schema, text, place)
        elif "array" in kinds and not patterns.is_json_pattern(text):
            items = dict(schema.get("items") or {})
            if items.keys() & {"$ref", "pattern", "anyOf", "oneOf", "allOf"}:
                schema["items"] = {"allOf": [items, {"pattern": patterns.anchor_pattern(text, ())}]}
            else:
                self.apply_pattern(items, text, place)
                schema["items"] = items
        elif "array" in kinds or "object" in kinds:
            schema[VALUE_PATTERN] = text
        elif "boolean" in kinds:
            self.add_boolean_pattern(schema, text, place)
        else:
            self.problems.add(place, f"says nothing of {' or '.join(kinds)}.", "Delete it.")

    def add_boolean_pattern(self, schema: Schema, text: str, place: Node) -> None:
        values = [value for value, word in ((True, "true"), (False, "false")) if matches_text(text, word)]
        if not values:
            fix = "Write true, false or true|false."
            self.problems.add(place, "It matches neither true nor false, and is passed over.", fix)
        elif len(values) == 1:
            null = [None] if "null" in schema_types(schema) else []
            schema.setdefault("enum", [*values, *null])

    def add_number_pattern(self, schema: Schema, text: str, place: Node) -> None:
        limits = patterns.number_keywords(text, schema["type"] == "number")
        if VALUE_PATTERN in limits and not is_simple_pattern(strip_anchors(text)):
            fix = "Use minimum, maximum or enum."
            self.problems.add(place, "It is more than digits, on a number; it is passed over.", fix)
            return
        kind = limits.pop("type", None)
        if kind and not isinstance(schema["type"], list):
            schema["type"] = kind
        for key, value in limits.items():
            schema.setdefault(key, value)


def infer_types(value: Schema) -> list[str]:
    """Infer the type of a schema without `type` from its other keywords."""
    if any(key in value for key in ("anyOf", "oneOf", "allOf", "enum", "const", "not")):
        return []
    if any(key in value for key in _OBJECT_KEYWORDS):
        return ["object"]
    return ["array"] if "items" in value or "prefixItems" in value else []


def schema_types(schema: Schema) -> tuple[str, ...]:
    value = schema.get("type")
    return (value,) if isinstance(value, str) else tuple(value or ())


def make_nullable(schema: Schema) -> Schema:
    if "enum" in schema and None not in schema["enum"]:
        schema = {**schema, "enum": [*schema["enum"], None]}
    if kinds := schema_types(schema):
        return schema if "null" in kinds else {**schema, "type": [*kinds, "null"]}
    if "enum" in schema or not schema.keys() & {"$ref", "anyOf", "oneOf", "allOf"}:
        return schema
    annotations: Schema = {key: schema[key] for key in ("description", "default", "examples") if key in schema}
    body = {key: value for key, value in schema.items() if key not in annotations}
    return {"anyOf": [body, {"type": "null"}], **annotations}
