"""Check oneOf branches for overlap: oneOf is compiled as anyOf, which is exact only for disjoint branches."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.grammar.document import Document, Way, below
from rightseat.models.llamacpp.grammar.kinds import kinds
from rightseat.models.llamacpp.grammar.literals import identity, named

MAX_COMPARED = 64


def note_overlaps(document: Document) -> None:
    """Note every oneOf of the document whose branches may overlap."""
    quiet = Document(document.root, document.limits)
    for place in list(document.choices):
        if not _apart(quiet, place):
            document.note(place, "oneOf")


def _apart(document: Document, place: str) -> bool:
    count = len(document.at(place)["oneOf"])
    if count == 1:
        return True
    if count > MAX_COMPARED:
        return False
    branches = [document.ways(frozenset({below(place, "oneOf", at)})) for at in range(count)]
    return all(
        _differ(left, right, document)
        for at, ways in enumerate(branches)
        for others in branches[at + 1 :]
        for left in ways
        for right in others
    )


def _differ(left: Way, right: Way, document: Document, level: int = 0) -> bool:
    ours, theirs = named(left), named(right)
    if ours is not None and theirs is not None:
        return not set(map(identity, ours)) & set(map(identity, theirs))
    mine, other = _types(left, ours, document), _types(right, theirs, document)
    shared = mine & other
    if not shared:
        return True
    if shared != {"object"} or level > 2:
        return False
    return _closed(left, right) or _closed(right, left) or _discriminated(left, right, document, level)


def _types(way: Way, values: list[Any] | None, document: Document) -> set[str]:
    """Return all types a value may have; without `type` a schema allows every type."""
    if values is not None:
        return {_type(value) for value in values}
    if not way.given("type"):
        return {"object", "array", "string", "number", "boolean", "null"}
    return {"number" if kind == "integer" else kind for kind in kinds(way, document)}


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def _closed(left: Way, right: Way) -> bool:
    """Return whether `left` requires a property that `right` forbids."""
    required = {name for given in left.given("required") for name in given}
    for part in right.parts:
        schema = part.schema
        closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
        if closed and required - set(schema.get("properties", ())):
            return True
    return False


def _discriminated(left: Way, right: Way, document: Document, level: int) -> bool:
    """Return whether a property required by both has disjoint values."""
    both = {n for given in left.given("required") for n in given} & {
        n for given in right.given("required") for n in given
    }
    for name in sorted(both):
        ours, theirs = _property(left, name), _property(right, name)
        if ours and theirs:
            pairs = ((a, b) for a in document.ways(ours) for b in document.ways(theirs))
            if all(_differ(a, b, document, level + 1) for a, b in pairs):
                return True
    return False


def _property(way: Way, name: str) -> frozenset[str]:
    return frozenset(
        below(part.place, "properties", name)
        for part in way.parts
        if name in part.schema.get("properties", ())
    )
