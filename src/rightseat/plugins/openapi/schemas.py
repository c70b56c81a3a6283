"""Conversion of a document's schemas to JSON Schema 2020-12, with `$ref` targets under `$defs`.

Targets of `$ref` are queued, not followed recursively, so cycles and long chains are harmless. `simplify`
decides afterwards which references are inlined.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from rightseat.plugins.numerals import PATTERN, plain, simple
from rightseat.plugins.openapi import patterns
from rightseat.plugins.openapi.circles import POINTER, circular
from rightseat.plugins.openapi.keywords import plain_keywords, samples
from rightseat.plugins.openapi.node import Node, Notes, truth
from rightseat.plugins.openapi.refs import Refs
from rightseat.plugins.openapi.types import JSON_TYPES, fitted, schema_of
from rightseat.plugins.place import Path

Schema = dict[str, Any]
MAPS = frozenset(("properties", "patternProperties", "dependentSchemas"))
LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
SINGLES = frozenset(
    ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
)
_OBJECT = ("properties", "additionalProperties", "minProperties", "maxProperties", "patternProperties")


class Schemas:
    """Converts schemas. `hidden_flag` drops properties: readOnly in requests, writeOnly in responses."""

    def __init__(self, refs: Refs, notes: Notes, hidden: str) -> None:
        self.refs, self.notes, self.hidden = refs, notes, hidden
        self.defs: dict[str, Schema] = {}
        self.names: dict[tuple[str, Path], str] = {}
        self.waiting: list[tuple[str, Node]] = []

    def schema(self, node: Node) -> Schema:
        """Convert a schema and every definition it references; the definitions are in `defs` afterwards."""
        made = self.convert(node)
        fresh: dict[str, Node] = {}
        while self.waiting:
            name, target = self.waiting.pop()
            fresh[name] = target
            self.defs[name] = self.convert(target)
        for name in sorted(circular({name: self.defs[name] for name in fresh})):
            fix = "Say what it is; it may hold itself in a property or an item."
            self.notes.add(fresh[name], "It is made of itself; any value is taken.", fix, "error")
            self.defs[name] = {}
        return made

    def convert(self, node: Node) -> Schema:
        node = self.one(node)
        if "$ref" in node.value:
            return self.reference(node)
        made = plain_keywords(node, self.notes)
        self.typed(made, node)
        self.parts(made, node)
        self.required(made, node)
        self.fit(made, node)
        self.pattern(made, node)
        return nullable(made) if node.says("nullable", "x-nullable") else made

    def one(self, node: Node) -> Node:
        """Return the schema as a mapping: lists (as in the original guide) and booleans are converted."""
        if isinstance(node.value, list):
            self.notes.add(node, "A schema is no list.", "Take away the dash before its first key.")
            node = node.at(0) if len(node.value) == 1 else node.put({"anyOf": node.value})
        if isinstance(node.value, dict):
            return node
        if node.value is False:
            return node.put({"not": {}})
        if node.value not in (None, True, ""):
            self.notes.add(
                node, "A schema is a mapping; this is passed over.", "Write `type:` and the rest below."
            )
        return node.put({})

    def reference(self, node: Node) -> Schema:
        target = self.refs.target(node)
        if target is None:
            return {}
        key = (target.document.name, target.path)
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = self.named(target)
            self.waiting.append((name, target))
        made: Schema = {"$ref": POINTER + name}
        beside = plain_keywords(node, self.notes)
        made |= {word: beside[word] for word in ("description", "default") if word in beside}
        if found := samples(node):
            made["examples"] = found
        return nullable(made) if node.says("nullable", "x-nullable") else made

    def named(self, target: Node) -> str:
        last = str(target.path[-1]) if target.path else target.document.name
        word = re.sub(r"[^A-Za-z0-9_]+", "_", last).strip("_")[:40]
        if not word or not last.isascii():
            word = f"{word}_{hashlib.sha256(last.encode()).hexdigest()[:8]}".lstrip("_")
        taken = set(self.names.values())
        name, number = word, 1
        while name in taken:
            number += 1
            name = f"{word}_{number}"
        return name

    def typed(self, made: Schema, node: Node) -> None:
        given = node.value.get("type")
        words = given if isinstance(given, list) else [given]
        found: list[str] = []
        for word in words:
            meaning = self.meaning(node, word)
            kinds = meaning.pop("type", None)
            found += [kinds] if isinstance(kinds, str) else kinds or []
            for key, value in meaning.items():
                made.setdefault(key, value)
        if not found and given is None:
            found = implied(node.value)
        if found:
            made["type"] = found[0] if len(set(found)) == 1 else list(dict.fromkeys(found))

    def meaning(self, node: Node, word: Any) -> Schema:
        if word is None:
            return {}
        found = schema_of(word) if isinstance(word, str) else None
        if found is None:
            fix = f"Write one of {', '.join(JSON_TYPES)}."
            self.notes.add(node.at("type"), f"There is no type {str(word)[:40]!r}; any value is taken.", fix)
            return {}
        if word not in JSON_TYPES:
            fix = f"Write one of {', '.join(JSON_TYPES)}, and perhaps a format."
            kinds = found.get("type", "any value")
            taken = " or ".join(kinds) if isinstance(kinds, list) else kinds
            said = f"{word!r} is no type of JSON Schema; it is read as {taken}."
            self.notes.add(node.at("type"), said, fix, "style")
        return dict(found)

    def parts(self, made: Schema, node: Node) -> None:
        """Convert the keywords that hold subschemas."""
        for key, value in node.value.items():
            if key in MAPS:
                self.named_parts(made, node.at(key))
            elif key in LISTS and isinstance(value, list) and value:
                made[key] = [self.convert(inner) for inner in node.at(key).each()]
            elif key in SINGLES and isinstance(value, bool) and key != "items":
                made[key] = value
            elif key in SINGLES and value is not None:
                made[key] = self.convert(node.at(key))

    def named_parts(self, made: Schema, node: Node) -> None:
        key = str(node.path[-1])
        if isinstance(node.value, dict):
            made[key] = {
                name: self.convert(inner)
                for name, inner in node.items()
                if not (key == "properties" and inner.says(self.hidden))
            }
        elif node.value is not None:
            self.notes.add(node, "It is no mapping, and is passed over.", "Write `NAME:` for each.")

    def required(self, made: Schema, node: Node) -> None:
        """Set `required`, also from `required: true` inside properties."""
        given = node.value.get("required")
        listed = [given] if isinstance(given, str) and not truth(given) else given
        names = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        properties = node.value.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if isinstance(inner, dict) and inner.get("required") is True:
                fix = f"Write `required: [{name}]` beside `properties`."
                self.notes.add(
                    node.at("properties").at(name).at("required"), "stands in the wrong place.", fix
                )
                names.append(name)
            if isinstance(inner, dict) and truth(inner.get(self.hidden)):
                names = [one for one in names if one != name]
        if names:
            made["required"] = list(dict.fromkeys(names))

    def fit(self, made: Schema, node: Node) -> None:
        """Convert examples, default and enum values to the schema's type."""
        found = samples(node)
        kinds = types_of(made)
        if "default" in made:
            made["default"] = fitted(made["default"], kinds)
        if "enum" in made:
            fitting = [fitted(one, kinds) for one in made["enum"]]
            if fitting != made["enum"]:
                said = f"has values that are no {' or '.join(kinds)}; they are read as such."
                self.notes.add(node.at("enum"), said, "Mend their quotes.", "style")
            made["enum"] = fitting
        if found:
            made["examples"] = [fitted(one, kinds) for one in found]

    def pattern(self, made: Schema, node: Node) -> None:
        given = node.value.get("pattern")
        if given is None or given == "":
            return
        place, text, kinds = node.at("pattern"), str(given), types_of(made)
        if not patterns.valid(text):
            self.notes.add(place, "It is no regular expression, and is passed over.", "Check its brackets.")
        elif not kinds or "string" in kinds:
            made["pattern"] = patterns.whole(text, (*made.get("examples", ()), *made.get("enum", ())))
        elif "integer" in kinds or "number" in kinds:
            self.numeral(made, text, place)
        else:
            self.notes.add(place, f"says nothing of {' or '.join(kinds)}.", "Delete it.")

    def numeral(self, made: Schema, text: str, place: Node) -> None:
        limits = patterns.on_number(text, made["type"] == "number")
        if PATTERN in limits and not simple(plain(text)):
            fix = "Use minimum, maximum or enum."
            self.notes.add(place, "It is more than digits, on a number; it is passed over.", fix)
            return
        if isinstance(made["type"], list):
            limits.pop("type", None)
        for key, value in limits.items():
            if key == "type":
                made[key] = value
            else:
                made.setdefault(key, value)


def implied(value: Schema) -> list[str]:
    """Infer the type of a schema without `type` from its other keywords."""
    if any(key in value for key in ("anyOf", "oneOf", "allOf", "enum", "const", "not")):
        return []
    if any(key in value for key in _OBJECT):
        return ["object"]
    return ["array"] if "items" in value or "prefixItems" in value else []


def types_of(made: Schema) -> tuple[str, ...]:
    found = made.get("type")
    return (found,) if isinstance(found, str) else tuple(found or ())


def nullable(made: Schema) -> Schema:
    if "enum" in made and None not in made["enum"]:
        made = {**made, "enum": [*made["enum"], None]}
    if kinds := types_of(made):
        return made if "null" in kinds else {**made, "type": [*kinds, "null"]}
    if "enum" in made or not made.keys() & {"$ref", "anyOf", "oneOf", "allOf"}:
        return made
    said: Schema = {key: made[key] for key in ("description", "default", "examples") if key in made}
    rest = {key: value for key, value in made.items() if key not in said}
    return {"anyOf": [rest, {"type": "null"}], **said}
