"""Parameters of an operation: location, style and schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from msgspec import Struct

from rightseat.plugins.openapi.keywords import samples
from rightseat.plugins.openapi.node import Node, truth
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.operation import Place, Style

PLACES: dict[str, Place] = {place: place for place in get_args(Place)}
FORM = ("body", "formData")
STYLES: dict[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# Set from the body and the responses, not by arguments.
IGNORED = ("accept", "content-type")
_COLLECTIONS: dict[str, tuple[Style, bool]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("form", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}


class Given(Struct, frozen=True, kw_only=True):
    """Parsed parameter, before it gets its key among the arguments."""

    name: str
    place: Place
    schema: Schema
    required: bool
    style: Style
    explode: bool
    reserved: bool
    media: str


def nodes(reading: Reading, item: Node, operation: Node) -> Iterator[Node]:
    """Yield parameter nodes of the path item and the operation; the operation's override the path's."""
    found: dict[tuple[str, str], Node] = {}
    for owner in (item, operation):
        given = owner.at("parameters")
        if given.value is not None and not isinstance(given.value, list):
            fix = "Write a dash before each `name:`."
            reading.notes.add(given, "It is no list, and is passed over.", fix, "error")
        for one in given.each():
            node = reading.refs.follow(one)
            if isinstance(node.value, dict):
                found[(node.text("name"), node.text("in"))] = node
            elif node.value is not None:
                reading.notes.add(
                    one, "A parameter is a mapping.", "Write `name:`, `in:`, `schema:`.", "error"
                )
    yield from found.values()


def parameter(reading: Reading, node: Node) -> Given | None:
    """Parse a parameter; None if it is ignored, or invalid (with a problem)."""
    name, place = node.text("name"), node.text("in").lower()
    if not name or place not in PLACES:
        what = "It has no name." if not name else f"There is no place {place!r} for a parameter."
        fix = f"Write `name:` and `in:` one of {', '.join(PLACES)}."
        reading.notes.add(node, what, fix, "error")
        return None
    if place == "header" and name.lower() in IGNORED:
        return None
    media, schema = schema_of(reading, node)
    style, explode = written(reading, node, place)
    return Given(
        name=name,
        place=PLACES[place],
        schema=schema,
        required=place == "path" or node.says("required"),
        style=style,
        explode=explode,
        reserved=node.says("allowReserved"),
        media=media,
    )


def schema_of(reading: Reading, node: Node) -> tuple[str, Schema]:
    content = node.at("content")
    media, place = next(content.items(), ("", node))
    inner = place.at("schema")
    if inner.value is None and not content.value:
        # Swagger 2.0, and many 3.0 documents, put the schema keywords beside `name`.
        keys = {"name", "in", "required", "description", "example", "examples", "style", "explode"}
        inner = node.put({key: value for key, value in node.value.items() if key not in keys})
    schema = dict(reading.sent.open(inner))
    if said := node.text("description"):
        schema["description"] = said
    if (found := samples(node)) and not schema.get("examples"):
        schema["examples"] = found
    return media, schema


def written(reading: Reading, node: Node, place: str) -> tuple[Style, bool]:
    usual = STYLES[place][0]
    collection = node.value.get("collectionFormat") or ("csv" if reading.swagger else None)
    if collection is not None:
        style, explode = _COLLECTIONS.get(str(collection), ("form", False))
        return (style, explode) if place == "query" else (usual, False)
    named: Any = node.text("style") or usual
    if named not in STYLES[place]:
        fix = f"Write one of {', '.join(STYLES[place])}."
        reading.notes.add(node.at("style"), f"There is no {named[:40]} in {place}; it is {usual}.", fix)
        named = usual
    explode = node.value.get("explode")
    return named, named == "form" if explode is None else truth(explode)
