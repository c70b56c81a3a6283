"""Check oneOf branches for overlap: oneOf is compiled as anyOf, which is exact only for disjoint branches."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.grammar.document import SchemaConjunction, SchemaDocument, join_pointer
from rightseat.models.llamacpp.grammar.kinds import list_allowed_types
from rightseat.models.llamacpp.grammar.literals import canonical_key, list_enumerated_values

MAX_COMPARED_BRANCHES = 64


def note_overlaps(document: SchemaDocument) -> None:
    """Note every oneOf of the document whose branches may overlap."""
    scratch = SchemaDocument(document.root, document.limits)
    for pointer in list(document.one_of_pointers):
        if not _is_disjoint_one_of(scratch, pointer):
            document.note_unenforced(pointer, "oneOf")


def _is_disjoint_one_of(document: SchemaDocument, pointer: str) -> bool:
    count = len(document.get_schema(pointer)["oneOf"])
    if count == 1:
        return True
    if count > MAX_COMPARED_BRANCHES:
        return False
    branches = [
        document.expand_conjunctions(frozenset({join_pointer(pointer, "oneOf", at)})) for at in range(count)
    ]
    return all(
        _are_disjoint(left, right, document)
        for at, ways in enumerate(branches)
        for others in branches[at + 1 :]
        for left in ways
        for right in others
    )


def _are_disjoint(
    left: SchemaConjunction, right: SchemaConjunction, document: SchemaDocument, level: int = 0
) -> bool:
    ours, theirs = list_enumerated_values(left), list_enumerated_values(right)
    if ours is not None and theirs is not None:
        return not set(map(canonical_key, ours)) & set(map(canonical_key, theirs))
    mine, other = _possible_types(left, ours, document), _possible_types(right, theirs, document)
    shared = mine & other
    if not shared:
        return True
    if shared != {"object"} or level > 2:
        return False
    return (
        _forbids_required(left, right)
        or _forbids_required(right, left)
        or _have_discriminator(left, right, document, level)
    )


def _possible_types(
    conjunction: SchemaConjunction, values: list[Any] | None, document: SchemaDocument
) -> set[str]:
    """Return all types a value may have; without `type` a schema allows every type."""
    if values is not None:
        return {_json_type(value) for value in values}
    if not conjunction.collect_values("type"):
        return {"object", "array", "string", "number", "boolean", "null"}
    return {"number" if kind == "integer" else kind for kind in list_allowed_types(conjunction, document)}


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def _forbids_required(left: SchemaConjunction, right: SchemaConjunction) -> bool:
    """Return whether `left` requires a property that `right` forbids."""
    required = {name for given in left.collect_values("required") for name in given}
    for part in right.parts:
        schema = part.schema
        closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
        if closed and required - set(schema.get("properties", ())):
            return True
    return False


def _have_discriminator(
    left: SchemaConjunction, right: SchemaConjunction, document: SchemaDocument, level: int
) -> bool:
    """Return whether a property required by both has disjoint values."""
    both = {n for given in left.collect_values("required") for n in given} & {
        n for given in right.collect_values("required") for n in given
    }
    for name in sorted(both):
        ours, theirs = _property_pointers_of(left, name), _property_pointers_of(right, name)
        if ours and theirs:
            pairs = (
                (a, b)
                for a in document.expand_conjunctions(ours)
                for b in document.expand_conjunctions(theirs)
            )
            if all(_are_disjoint(a, b, document, level + 1) for a, b in pairs):
                return True
    return False


def _property_pointers_of(conjunction: SchemaConjunction, name: str) -> frozenset[str]:
    return frozenset(
        join_pointer(part.pointer, "properties", name)
        for part in conjunction.parts
        if name in part.schema.get("properties", ())
    )
