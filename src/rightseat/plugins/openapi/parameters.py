"""Parameters of an operation: location, style and schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from rightseat.plugins.openapi.keywords import collect_examples
from rightseat.plugins.openapi.node import Node, is_truthy
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.spec import SpecContext
from rightseat.plugins.plugin import Parameter, ParameterLocation, ParameterStyle

LOCATIONS: dict[str, ParameterLocation] = {place: place for place in get_args(ParameterLocation)}
BODY_LOCATIONS = ("body", "formData")
STYLES_BY_LOCATION: dict[str, tuple[ParameterStyle, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
# Set from the body and the responses, not by arguments.
IGNORED_HEADERS = ("accept", "content-type")
_COLLECTION_FORMATS: dict[str, tuple[ParameterStyle, bool]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("form", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}


def iter_parameter_nodes(context: SpecContext, item: Node, operation: Node) -> Iterator[Node]:
    """Yield parameter nodes of the path item and the operation; the operation's override the path's."""
    by_location: dict[tuple[str, str], Node] = {}
    for owner in (item, operation):
        parameters = owner.child("parameters")
        if parameters.value is not None and not isinstance(parameters.value, list):
            fix = "Write a dash before each `name:`."
            context.problems.add(parameters, "It is no list, and is passed over.", fix, "error")
        for listed in parameters.children():
            node = context.refs.resolve(listed)
            if isinstance(node.value, dict):
                by_location[(node.text("name"), node.text("in"))] = node
            elif node.value is not None:
                context.problems.add(listed, "A parameter is a mapping.", "Write `name:`, `in:`, `schema:`.", "error")
    yield from by_location.values()


def parse_parameter(context: SpecContext, node: Node) -> Parameter | None:
    """Parse a parameter, without its key among the arguments; None if it is ignored, or invalid (with a problem)."""
    name, place = node.text("name"), node.text("in").lower()
    if not name or place not in LOCATIONS:
        what = "It has no name." if not name else f"There is no place {place!r} for a parameter."
        fix = f"Write `name:` and `in:` one of {', '.join(LOCATIONS)}."
        context.problems.add(node, what, fix, "error")
        return None
    if place == "header" and name.lower() in IGNORED_HEADERS:
        return None
    media, schema = parse_parameter_schema(context, node)
    style, explode = parse_style(context, node, place)
    return Parameter(
        name=name,
        argument=name,
        place=LOCATIONS[place],
        schema=schema,
        required=place == "path" or node.is_true("required"),
        style=style,
        explode=explode,
        reserved=node.is_true("allowReserved"),
        media=media,
    )


def parse_parameter_schema(context: SpecContext, node: Node) -> tuple[str, Schema]:
    content = node.child("content")
    media, place = next(content.items(), ("", node))
    inner = place.child("schema")
    if inner.value is None and not content.value:
        # Swagger 2.0, and many 3.0 documents, put the schema keywords beside `name`.
        keys = {"name", "in", "required", "description", "example", "examples", "style", "explode"}
        inner = node.with_value({key: value for key, value in node.value.items() if key not in keys})
    schema = dict(context.request_schemas.read(inner))
    if description := node.text("description"):
        schema["description"] = description
    if (examples := collect_examples(node)) and not schema.get("examples"):
        schema["examples"] = examples
    return media, schema


def parse_style(context: SpecContext, node: Node, place: str) -> tuple[ParameterStyle, bool]:
    default_style = STYLES_BY_LOCATION[place][0]
    collection = node.value.get("collectionFormat") or ("csv" if context.is_swagger else None)
    if collection is not None:
        style, explode = _COLLECTION_FORMATS.get(str(collection), ("form", False))
        return (style, explode) if place == "query" else (default_style, False)
    style_name: Any = node.text("style") or default_style
    if style_name not in STYLES_BY_LOCATION[place]:
        what = f"There is no {style_name[:40]} in {place}; it is {default_style}."
        context.problems.add(node.child("style"), what, f"Write one of {', '.join(STYLES_BY_LOCATION[place])}.")
        style_name = default_style
    explode = node.value.get("explode")
    return style_name, style_name == "form" if explode is None else is_truthy(explode)
