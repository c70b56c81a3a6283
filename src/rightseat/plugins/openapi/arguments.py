"""Arguments of an operation: parameters and body as one object with unique keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.plugins.openapi.bodies import ParsedBody
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.spec import SpecContext, credential_location
from rightseat.plugins.plugin import Parameter, RequestBody

BODY_KEY = "body"
_INVALID_CHARS = re.compile(r"[^\w.-]+")
ArgumentLocation = tuple[str, str]
"""Location and name of a parameter or body field."""


class ParsedArguments(Struct, frozen=True, kw_only=True):
    schema: Schema
    parameters: tuple[Parameter, ...]
    body: RequestBody | None
    secured: tuple[str, ...]


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
