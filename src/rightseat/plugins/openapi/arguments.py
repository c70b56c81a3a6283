"""Arguments of an operation: parameters and body as one object with unique keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from rightseat.plugins.openapi.bodies import Content
from rightseat.plugins.openapi.parameters import Given
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.security import Carrier, carrier
from rightseat.plugins.operation import Body, Parameter

BODY = "body"
_ODD = re.compile(r"[^\w.-]+")
Slot = tuple[str, str]
"""Location and name of a parameter or body field."""


class Arguments(Struct, frozen=True, kw_only=True):
    schema: Schema
    parameters: tuple[Parameter, ...]
    body: Body | None
    secured: tuple[str, ...]


def arguments(
    reading: Reading, given: Sequence[Given], content: Content | None, secret: frozenset[Carrier]
) -> Arguments:
    fields = list(content.schema["properties"]) if content is not None and content.plain else []
    inside = [(BODY, name) for name in fields] or ([(BODY, BODY)] if content is not None else [])
    keys = keyed([*((one.place, one.name) for one in given), *inside])
    parameters = tuple(placed(reading, one, keys[(one.place, one.name)]) for one in given)
    secured = tuple(one.argument for one in parameters if carrier(one.place, one.name) in secret)
    properties: dict[str, Any] = {}
    needed: list[str] = []
    for shown, one in zip(given, parameters, strict=True):
        if one.argument not in secured:
            properties[one.argument] = shown.schema
            needed += [one.argument] if one.required else []
    body = None
    if content is not None:
        body = sent(reading, content, keys)
        properties |= of_body(content, keys)
        needed += required(content, keys)
    schema: Schema = {"type": "object", "properties": properties}
    if needed:
        schema["required"] = needed
    schema["additionalProperties"] = False
    return Arguments(schema=reading.sent.closed(schema), parameters=parameters, body=body, secured=secured)


def keyed(slots: Sequence[Slot]) -> dict[Slot, str]:
    """Assign a unique key to each: its name, prefixed by its location if names collide."""
    words = {slot: _ODD.sub("_", slot[1]).strip("_") or "value" for slot in slots}
    often = Counter(words.values())
    keys: dict[Slot, str] = {}
    for slot, word in words.items():
        key = word if often[word] == 1 else f"{slot[0]}_{word}"
        number = 1
        while key in keys.values():
            number += 1
            key = f"{slot[0]}_{word}_{number}"
        keys[slot] = key
    return keys


def placed(reading: Reading, given: Given, argument: str) -> Parameter:
    return Parameter(**{**asdict(given), "schema": reading.sent.closed(given.schema)}, argument=argument)


def sent(reading: Reading, content: Content, keys: dict[Slot, str]) -> Body:
    fields = {name: keys[(BODY, name)] for name in content.schema["properties"]} if content.plain else {}
    return Body(
        media=content.media,
        schema=reading.sent.closed(content.schema),
        required=content.required,
        fields=fields,
        argument=BODY if fields else keys[(BODY, BODY)],
        encodings=content.encodings,
    )


def of_body(content: Content, keys: dict[Slot, str]) -> dict[str, Any]:
    if content.plain:
        return {keys[(BODY, name)]: inner for name, inner in content.schema["properties"].items()}
    schema = content.schema
    if content.description and "description" not in schema:
        schema = {**schema, "description": content.description}
    return {keys[(BODY, BODY)]: schema}


def required(content: Content, keys: dict[Slot, str]) -> list[str]:
    if not content.required:
        return []
    if not content.plain:
        return [keys[(BODY, BODY)]]
    names = content.schema.get("required", ())
    return [keys[(BODY, name)] for name in names if (BODY, name) in keys]
