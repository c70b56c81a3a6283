"""Arguments of an operation: its parameters (location, style, schema), and parameters and body as one object with
unique keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightseat.plugins.openapi.bodies import ParsedBody
from rightseat.plugins.openapi.keywords import collect_examples
from rightseat.plugins.openapi.node import Node, is_truthy
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.spec import STYLES_BY_LOCATION, SpecContext, credential_location
from rightseat.plugins.plugin import Parameter, ParameterLocation, ParameterStyle, RequestBody

LOCATIONS: dict[str, ParameterLocation] = {place: place for place in get_args(ParameterLocation)}
BODY_LOCATIONS = ("body", "formData")
# Set from the body and the responses, not by arguments.
IGNORED_HEADERS = ("accept", "content-type")
_COLLECTION_FORMATS: dict[str, tuple[ParameterStyle, bool]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("form", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
BODY_KEY = "body"
_INVALID_CHARS = re.compile(r"[^\w.-]+")
ArgumentLocation = tuple[str, str]
"""Location and name of a parameter or body field."""


class ParsedArguments(Struct, frozen=True, kw_only=True):
    schema: Schema
    parameters: tuple[Parameter, ...]
    body: RequestBody | None
    secured: tuple[str, ...]


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


def build_arguments(context: SpecContext, parsed: Sequence[Parameter], content: ParsedBody | None) -> ParsedArguments:
    fields = list(content.schema["properties"]) if content is not None and content.is_flat else []
    body_locations = [(BODY_KEY, name) for name in fields or ([BODY_KEY] if content is not None else [])]
    keys = assign_keys([*((parameter.place, parameter.name) for parameter in parsed), *body_locations])
    properties: dict[str, Any] = {}
    required: list[str] = []
    parameters: list[Parameter] = []
    secured: list[str] = []
    for parameter in parsed:
        key = keys[parameter.place, parameter.name]
        with_defs = context.request_schemas.with_defs(parameter.schema)
        parameters.append(replace(parameter, argument=key, schema=with_defs))
        if credential_location(parameter.place, parameter.name) in context.credential_locations:
            secured.append(key)
        else:
            properties[key] = parameter.schema
            required += [key] if parameter.required else []
    body = None
    if content is not None:
        body, body_properties, body_required = build_body_arguments(context, content, keys)
        properties |= body_properties
        required += body_required
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return ParsedArguments(
        schema=context.request_schemas.with_defs(schema),
        parameters=tuple(parameters),
        body=body,
        secured=tuple(secured),
    )


def build_body_arguments(
    context: SpecContext, content: ParsedBody, keys: dict[ArgumentLocation, str]
) -> tuple[RequestBody, dict[str, Any], list[str]]:
    """Return the body, and the properties and required keys that it adds to the arguments."""
    schema, fields, argument = content.schema, {}, BODY_KEY
    if content.is_flat:
        fields = {name: keys[BODY_KEY, name] for name in schema["properties"]}
        properties = {fields[name]: inner for name, inner in schema["properties"].items()}
        required = [fields[name] for name in schema.get("required", ()) if name in fields]
    else:
        argument = keys[BODY_KEY, BODY_KEY]
        needs_description = content.description and "description" not in schema
        properties = {argument: {**schema, "description": content.description} if needs_description else schema}
        required = [argument]
    body = RequestBody(
        media=content.media,
        schema=context.request_schemas.with_defs(schema),
        required=content.required,
        fields=fields,
        argument=argument,
        encodings=content.encodings,
    )
    return body, properties, required if content.required else []


def assign_keys(locations: Sequence[ArgumentLocation]) -> dict[ArgumentLocation, str]:
    """Assign a unique key to each: its name, prefixed by its location if names collide."""
    words = {location: _INVALID_CHARS.sub("_", location[1]).strip("_") or "value" for location in locations}
    occurrences = Counter(words.values())
    keys: dict[ArgumentLocation, str] = {}
    for location, word in words.items():
        key = word if occurrences[word] == 1 else f"{location[0]}_{word}"
        number = 1
        while key in keys.values():
            number += 1
            key = f"{location[0]}_{word}_{number}"
        keys[location] = key
    return keys
