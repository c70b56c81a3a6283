"""Arguments of an operation: parameters and body as one object with unique keys.

Parameters that carry credentials; they are hidden from the model, which would invent values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from rightseat.plugins.openapi.bodies import ParsedBody
from rightseat.plugins.openapi.context import DocumentContext
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.parameters import ParsedParameter
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.plugin import Parameter, RequestBody

CredentialLocation = tuple[str, str]
"""Location and name; header names in lower case."""


STANDARD_LOCATIONS: frozenset[CredentialLocation] = frozenset({("header", "authorization"), ("header", "cookie")})

_LOCATION_BY_AUTH = {"header": "header", "param": "query", "cookie": "cookie"}


def credential_location(place: str, name: str) -> CredentialLocation:
    return (place, name.lower() if place == "header" else name)


def credential_locations(context: DocumentContext) -> frozenset[CredentialLocation]:
    """Collect credential locations from plugin.json's auth and the document's security schemes."""
    locations = set(STANDARD_LOCATIONS)
    for auth in context.auth:
        place = _LOCATION_BY_AUTH.get(auth.kind)
        locations |= {credential_location(place, name) for name in auth.args} if place else set()
        if auth.kind == "oidc":
            names = (auth.options.get("header") or "access-token", *auth.args)
            locations |= {credential_location("header", str(name)) for name in names}
    for _, node in security_schemes(context):
        if node.text("type").lower() == "apikey" and node.text("name"):
            locations.add(credential_location(node.text("in").lower(), node.text("name")))
    return frozenset(locations)


def security_schemes(context: DocumentContext) -> list[tuple[str, Node]]:
    homes = (context.root.child("components").child("securitySchemes"), context.root.child("securityDefinitions"))
    resolved = [(name, context.refs.resolve(node)) for home in homes for name, node in home.items()]
    return [(name, node) for name, node in resolved if isinstance(node.value, dict)]


def check_auth_configured(context: DocumentContext) -> None:
    """Report a document that requires credentials while plugin.json has no auth."""
    if context.auth or not context.root.value.get("security"):
        return
    names = ", ".join(name for name, _ in security_schemes(context)) or "one"
    context.problems.add(
        context.root.child("security"),
        f"The API asks for a credential ({names[:100]}), and plugin.json has no auth.",
        'Add "auth" to plugin.json, with its value as "env:NAME".',
    )


BODY_KEY = "body"
_INVALID_CHARS = re.compile(r"[^\w.-]+")
ArgumentLocation = tuple[str, str]
"""Location and name of a parameter or body field."""


class ArgumentSpec(Struct, frozen=True, kw_only=True):
    schema: Schema
    parameters: tuple[Parameter, ...]
    body: RequestBody | None
    secured: tuple[str, ...]


def build_arguments(
    context: DocumentContext,
    parsed: Sequence[ParsedParameter],
    content: ParsedBody | None,
    credentials: frozenset[CredentialLocation],
) -> ArgumentSpec:
    fields = list(content.schema["properties"]) if content is not None and content.is_flat else []
    inside = [(BODY_KEY, name) for name in fields] or ([(BODY_KEY, BODY_KEY)] if content is not None else [])
    keys = assign_keys([*((one.place, one.name) for one in parsed), *inside])
    parameters = tuple(make_parameter(context, one, keys[(one.place, one.name)]) for one in parsed)
    secured = tuple(one.argument for one in parameters if credential_location(one.place, one.name) in credentials)
    properties: dict[str, Any] = {}
    needed: list[str] = []
    for shown, one in zip(parsed, parameters, strict=True):
        if one.argument not in secured:
            properties[one.argument] = shown.schema
            needed += [one.argument] if one.required else []
    body = None
    if content is not None:
        body = make_body(context, content, keys)
        properties |= body_properties(content, keys)
        needed += required_body_keys(content, keys)
    schema: Schema = {"type": "object", "properties": properties}
    if needed:
        schema["required"] = needed
    schema["additionalProperties"] = False
    return ArgumentSpec(
        schema=context.request_schemas.with_defs(schema), parameters=parameters, body=body, secured=secured
    )


def assign_keys(locations: Sequence[ArgumentLocation]) -> dict[ArgumentLocation, str]:
    """Assign a unique key to each: its name, prefixed by its location if names collide."""
    words = {slot: _INVALID_CHARS.sub("_", slot[1]).strip("_") or "value" for slot in locations}
    occurrences = Counter(words.values())
    keys: dict[ArgumentLocation, str] = {}
    for slot, word in words.items():
        key = word if occurrences[word] == 1 else f"{slot[0]}_{word}"
        number = 1
        while key in keys.values():
            number += 1
            key = f"{slot[0]}_{word}_{number}"
        keys[slot] = key
    return keys


def make_parameter(context: DocumentContext, parsed: ParsedParameter, argument: str) -> Parameter:
    return Parameter(
        **{**asdict(parsed), "schema": context.request_schemas.with_defs(parsed.schema)}, argument=argument
    )


def make_body(context: DocumentContext, content: ParsedBody, keys: dict[ArgumentLocation, str]) -> RequestBody:
    fields = {name: keys[(BODY_KEY, name)] for name in content.schema["properties"]} if content.is_flat else {}
    return RequestBody(
        media=content.media,
        schema=context.request_schemas.with_defs(content.schema),
        required=content.required,
        fields=fields,
        argument=BODY_KEY if fields else keys[(BODY_KEY, BODY_KEY)],
        encodings=content.encodings,
    )


def body_properties(content: ParsedBody, keys: dict[ArgumentLocation, str]) -> dict[str, Any]:
    if content.is_flat:
        return {keys[(BODY_KEY, name)]: inner for name, inner in content.schema["properties"].items()}
    schema = content.schema
    if content.description and "description" not in schema:
        schema = {**schema, "description": content.description}
    return {keys[(BODY_KEY, BODY_KEY)]: schema}


def required_body_keys(content: ParsedBody, keys: dict[ArgumentLocation, str]) -> list[str]:
    if not content.required:
        return []
    if not content.is_flat:
        return [keys[(BODY_KEY, BODY_KEY)]]
    names = content.schema.get("required", ())
    return [keys[(BODY_KEY, name)] for name in names if (BODY_KEY, name) in keys]
