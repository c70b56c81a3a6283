"""Resolve JSON pointers in a schema, and expand sets of pointers to conjunctions without alternatives.

Upgrade schemas to JSON Schema 2020-12: OpenAPI 3.0's `nullable`, keywords of drafts 4 and 7.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.rules import GrammarLimits

MAX_EXPANSIONS = 50_000

# Keywords that do not constrain a value.
ANNOTATION_KEYWORDS = {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
          "$comment", "$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor"}  # fmt: skip

Pointers = frozenset[str]
"""JSON pointers of schemas that all constrain the same value; empty: any value."""


class SchemaPart(Struct, frozen=True, eq=False):
    """One schema of a conjunction; its references and alternatives are expanded elsewhere."""

    pointer: str
    schema: dict[str, Any]


class SchemaConjunction(Struct, frozen=True, eq=False):
    """A conjunction of schemas: a value must satisfy all parts."""

    parts: tuple[SchemaPart, ...]

    def collect_values(self, keyword: str) -> list[Any]:
        return [part.schema[keyword] for part in self.parts if keyword in part.schema]

    def collect_names(self, keyword: str) -> dict[str, None]:
        """Return the names that the values of this keyword list, in order."""
        return {name: None for names in self.collect_values(keyword) for name in names}

    def largest(self, keyword: str) -> int:
        """Return the largest value of a lower bound such as `minItems`, 0 without one."""
        return max(map(int, self.collect_values(keyword)), default=0)

    def list_pointers(self, keyword: str) -> list[str]:
        """Return the pointers of the schemas that are values of this keyword."""
        return [join_pointer(part.pointer, keyword) for part in self.parts if keyword in part.schema]


class _Expansion(Struct):
    pending: list[tuple[str, frozenset[str]]]
    """Pointers to expand, each with the references that led to it."""
    seen: set[str]
    parts: list[SchemaPart]

    def fork(self) -> _Expansion:
        return _Expansion(list(self.pending), set(self.seen), list(self.parts))


class SchemaDocument:
    def __init__(self, root: dict[str, Any], limits: GrammarLimits) -> None:
        self.root = root
        self.limits = limits
        self.unenforced: dict[str, None] = {}
        self.one_of_pointers: dict[str, None] = {}
        """Pointers of the schemas with oneOf that were expanded."""
        self._schemas: dict[str, Any] = {"#": root}
        self._anchors: dict[str, str] | None = None
        self._steps = 0

    def note_unenforced(self, pointer: str, keyword: str) -> None:
        self.unenforced[f"{pointer}: {keyword}"] = None

    def note_keywords(self, conjunction: SchemaConjunction, *keywords: str) -> None:
        """Note those of the keywords that the conjunction uses as unenforced."""
        for part in conjunction.parts:
            for keyword in keywords:
                if keyword in part.schema:
                    self.note_unenforced(part.pointer, keyword)

    def get_schema(self, pointer: str) -> Any:
        """Return the schema at a pointer; raises CallerError if there is none."""
        if pointer not in self._schemas:
            value: Any = self.root
            for step in pointer.split("/")[1:]:
                value = self._step(value, step.replace("~1", "/").replace("~0", "~"), pointer)
            if not isinstance(value, dict | bool):
                raise CallerError(f"The JSON Schema refers to {pointer[:100]}, which is no schema.")
            self._schemas[pointer] = value
        return self._schemas[pointer]

    def _step(self, value: Any, step: str, pointer: str) -> Any:
        if isinstance(value, dict) and step in value:
            return value[step]
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            return value[int(step)]
        raise CallerError(f"The JSON Schema refers to {pointer[:100]}, which does not exist in it.")

    def resolve_reference(self, reference: Any) -> str:
        base = self.root.get("$id")
        name = str(reference)
        if isinstance(base, str) and base and name.startswith(base.rstrip("#")):
            name = name[len(base.rstrip("#")) :] or "#"
        if name == "#" or name.startswith("#/"):
            return unquote(name)
        if name.startswith("#"):
            pointer = self.get_anchors().get(name[1:])
            if pointer:
                return pointer
        raise CallerError(f"The JSON Schema refers to {name[:100]}, outside itself; nothing is fetched.")

    def follow_references(self, pointer: str) -> str:
        """Follow schemas that are only a `$ref`; returns the final pointer."""
        for _ in range(64):
            schema = self.get_schema(pointer)
            if not isinstance(schema, dict) or schema.keys() - ANNOTATION_KEYWORDS != {"$ref"}:
                break
            pointer = self.resolve_reference(schema["$ref"])
        return pointer

    def get_anchors(self) -> dict[str, str]:
        if self._anchors is None:
            self._anchors = {}
            pending: list[tuple[str, Any]] = [("#", self.root)]
            while pending:
                pointer, value = pending.pop()
                if isinstance(value, dict):
                    for key in ("$anchor", "$dynamicAnchor"):
                        if isinstance(value.get(key), str):
                            self._anchors.setdefault(value[key], pointer)
                    pending += [(join_pointer(pointer, key), child) for key, child in value.items()]
                elif isinstance(value, list):
                    pending += [(join_pointer(pointer, str(at)), child) for at, child in enumerate(value)]
        return self._anchors

    def expand_conjunctions(self, pointers: Pointers) -> list[SchemaConjunction]:
        """Return the schemas as a disjunction of conjunctions; empty if they contradict each other."""
        conjunctions: list[SchemaConjunction] = []
        states = [_Expansion([(pointer, frozenset()) for pointer in sorted(pointers, reverse=True)], set(), [])]
        while states:
            state = states.pop()
            self._steps += 1
            if self._steps > MAX_EXPANSIONS:
                raise CallerError("The JSON Schema has too many alternatives within alternatives: make it smaller.")
            if not state.pending:
                conjunctions.append(SchemaConjunction(tuple(state.parts)))
                continue
            pointer, trail = state.pending.pop()
            states += reversed(self._expand(state, pointer, trail, len(states) + len(conjunctions)))
        return conjunctions

    def _expand(self, state: _Expansion, pointer: str, trail: frozenset[str], count: int) -> list[_Expansion]:
        if pointer in trail or len(trail) > 256:
            # A reference cycle without progress: no value satisfies it.
            return []
        if pointer in state.seen:
            return [state]
        state.seen.add(pointer)
        schema = self.get_schema(pointer)
        if isinstance(schema, bool):
            return [state] if schema else []
        state.parts.append(SchemaPart(pointer, schema))
        trail = trail | {pointer}
        for key in ("$ref", "$dynamicRef"):
            if key in schema:
                state.pending.append((self.resolve_reference(schema[key]), trail))
        state.pending += [
            (join_pointer(pointer, "allOf", at), trail) for at in reversed(range(len(schema.get("allOf", ()))))
        ]
        if "oneOf" in schema:
            self.one_of_pointers[pointer] = None
        states = [state]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                branches = [[join_pointer(pointer, key, at)] for at in range(len(schema[key]))]
                states = self._fork(states, branches, trail, count, (pointer, key))
        if "if" in schema and ("then" in schema or "else" in schema):
            states = self._fork(states, self._list_condition_branches(pointer, schema), trail, count, (pointer, "if"))
        return states

    def _list_condition_branches(self, pointer: str, schema: dict[str, Any]) -> list[list[str]]:
        # A grammar cannot express that a value does not satisfy `if`.
        self.note_unenforced(pointer, "if")
        met = [join_pointer(pointer, "if")] + [join_pointer(pointer, "then")] * ("then" in schema)
        return [met, [join_pointer(pointer, "else")] * ("else" in schema)]

    def _fork(
        self,
        states: list[_Expansion],
        branches: list[list[str]],
        trail: frozenset[str],
        count: int,
        origin: tuple[str, str],
    ) -> list[_Expansion]:
        if count + len(states) * len(branches) > self.limits.alternatives:
            self.note_unenforced(*origin)
            return states
        forked = []
        for state in states:
            for branch in branches:
                new = state.fork()
                new.pending += [(place, trail) for place in reversed(branch)]
                forked.append(new)
        return forked


def join_pointer(pointer: str, *steps: str | int) -> str:
    return "/".join([pointer, *(str(step).replace("~", "~0").replace("/", "~1") for step in steps)])


_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")

_SINGLE = ("additionalProperties", "propertyNames", "items", "not", "if", "then", "else", "contains",
           "unevaluatedProperties", "unevaluatedItems")  # fmt: skip


def upgrade_schema(schema: Any) -> Any:
    """Return the upgraded schema. The caller has checked its depth."""
    if not isinstance(schema, dict):
        return schema
    new = _upgrade_bounds(_upgrade_items(dict(schema)))
    for key in _MAPS:
        if isinstance(new.get(key), dict):
            new[key] = {name: upgrade_schema(value) for name, value in new[key].items()}
    for key in _LISTS:
        if isinstance(new.get(key), list):
            new[key] = [upgrade_schema(value) for value in new[key]]
    for key in _SINGLE:
        if key in new:
            new[key] = upgrade_schema(new[key])
    return _upgrade_nullable(new)


def _upgrade_items(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
    return schema


def _upgrade_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool) and schema.pop(flag) and bound in schema:
            schema[flag] = schema.pop(bound)
    return schema


def _upgrade_nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("nullable") is not True:
        return schema
    del schema["nullable"]
    if "$ref" in schema or any(key in schema for key in _LISTS[:3]):
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds, "null"]
    elif isinstance(kinds, list) and "null" not in kinds:
        schema["type"] = [*kinds, "null"]
    return schema
