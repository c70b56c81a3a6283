"""Our own OpenAPI 3.1 document: every route of every door."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from rightseat.errors import CallerError, RightseatError, Unauthorized
from rightseat.http.endpoint import Door, Request, Route, collect_body, make_full_response
from rightseat.http.reply import Reply

OPENAPI_PATH = "/openapi.json"
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
}
# `{}`: a server without [auth] needs no key.
SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"key": []}, {}]
# Of an error: a code that is not ours has no page.
OPTIONAL_FIELDS = ("doc_url",)


def make_openapi_door(doors: Sequence[Door]) -> Door:
    """Make the door that serves the document, with the first door's error format."""

    async def answer(request: Request, host: object) -> Reply:
        document = await build_document((*doors, openapi_door))
        body = msgspec.json.encode({**document, "servers": [{"url": request.base or "/"}]})
        yield make_full_response(200, body)

    route = Route("GET", OPENAPI_PATH, answer, public=True, summary="This document")
    openapi_door = Door("openapi", (route,), doors[0].format_error, lambda base: f"{base}{OPENAPI_PATH}")
    return openapi_door


async def build_document(doors: Sequence[Door]) -> dict[str, Any]:
    bodies = list(dict.fromkeys(route.body_type for door in doors for route in door.routes if route.body_type))
    refs, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    schema_refs = dict(zip(bodies, refs, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for door in doors:
        errors = {kind.status: await make_error_example(door, kind) for kind in (Unauthorized, CallerError)}
        for route in door.routes:
            schema = schema_refs.get(route.body_type) if route.body_type else None
            entry = build_operation(door, route, schema, errors)
            paths.setdefault(format_path_template(route), {})[route.method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "rightseat", "version": version("rightseat"), "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": convert_patterns(schemas), "securitySchemes": SCHEMES},
    }


def build_operation(door: Door, route: Route, schema: dict[str, Any] | None, errors: dict[int, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "operationId": "_".join([door.name, route.method.lower(), *re.findall(r"\w+", format_path_template(route))]),
        "tags": [door.name],
        "responses": {
            **build_success_responses(route),
            "default": build_error_response("An error; `code` is stable", errors[CallerError.status]),
        },
    }
    if route.summary:
        result["summary"] = route.summary
    if names := re.findall(r"\{(\w+)\}", format_path_template(route)):
        about = {"in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        result["parameters"] = [{"name": name, **about} for name in names]
    if schema is not None:
        result["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if route.public:
        result["security"] = []
    else:
        result["security"] = SECURITY
        result["responses"]["401"] = build_error_response("No key, or a wrong one", errors[Unauthorized.status])
    return result


def build_success_responses(route: Route) -> dict[str, Any]:
    if route.returns_204:
        return {"204": {"description": "Done; there is nothing to say"}}
    accepted = {"202": {"description": "Taken; nothing was asked"}} if route.returns_202 else {}
    other_types = (
        ("text/html", "text/plain") if route.method == "GET" else ("text/event-stream", "application/x-ndjson")
    )
    content: dict[str, Any] = {media_type: {} for media_type in ("application/json", *other_types)}
    return {"200": {"description": "The answer", "content": content}, **accepted}


def build_error_response(description: str, body: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": infer_schema(body), "example": body}}
    return {"description": description, "content": content}


async def make_error_example(door: Door, kind: type[RightseatError]) -> Any:
    """Return an error body as this door writes it."""
    return msgspec.json.decode(await collect_body(door.format_error(kind("What happened, and what to do."))))


def infer_schema(value: Any) -> dict[str, Any]:
    match value:
        case dict():
            inside = {name: infer_schema(item) for name, item in value.items()}
            required = [name for name in inside if name not in OPTIONAL_FIELDS]
            return {"type": "object", "properties": inside, "required": required}
        case str():
            return {"type": "string"}
        case _:
            # Null, or sometimes null: an example does not tell the type.
            return {}


def convert_patterns(schema: Any) -> Any:
    r"""Convert Python patterns to JSON Schema's dialect, recursively: `\Z` becomes `$`."""
    match schema:
        case dict():
            converted = {name: convert_patterns(value) for name, value in schema.items()}
            if isinstance(pattern := converted.get("pattern"), str):
                converted["pattern"] = pattern.replace(r"\Z", "$")
            return converted
        case list():
            return [convert_patterns(item) for item in schema]
        case _:
            return schema


def format_path_template(route: Route) -> str:
    """Return the route's path as OpenAPI writes it: without `:path`, which OpenAPI does not have."""
    return route.path.replace(":path}", "}")
