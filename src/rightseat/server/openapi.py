"""Our own OpenAPI 3.1 document: every route of every door."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from rightseat.errors import CallerError, RightseatError, Unauthorized
from rightseat.http.endpoint import Door, Request, Route, body_of, whole
from rightseat.http.reply import Reply

PATH = "/openapi.json"
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
}
# `{}`: a server without [auth] needs no key.
SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"key": []}, {}]


def described(doors: Sequence[Door]) -> Door:
    """Make the door that serves the document, with the first door's error format."""

    def answer(request: Request, host: object) -> Reply:
        return page((*doors, ours), request.base)

    route = Route("GET", PATH, answer, open=True, summary="This document")
    ours = Door("openapi", (route,), doors[0].refuse, lambda base: f"{base}{PATH}")
    return ours


async def page(doors: Sequence[Door], base: str) -> Reply:
    body = msgspec.json.encode({**await document(doors), "servers": [{"url": base or "/"}]})
    async for part in whole(200, body):
        yield part


async def document(doors: Sequence[Door]) -> dict[str, Any]:
    bodies = list(dict.fromkeys(route.body for door in doors for route in door.routes if route.body))
    refs, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    shapes = dict(zip(bodies, refs, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for door in doors:
        errors = {kind.status: await example(door, kind) for kind in (Unauthorized, CallerError)}
        for route in door.routes:
            schema = shapes.get(route.body) if route.body else None
            found = operation(door, route, schema, errors)
            paths.setdefault(template(route), {})[route.method.lower()] = found
    return {
        "openapi": "3.1.0",
        "info": {"title": "rightseat", "version": version("rightseat"), "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": portable(schemas), "securitySchemes": SCHEMES},
    }


def operation(
    door: Door, route: Route, schema: dict[str, Any] | None, errors: dict[int, Any]
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": "_".join([door.name, route.method.lower(), *re.findall(r"\w+", template(route))]),
        "tags": [door.name],
        "responses": {
            **good(route),
            "default": refusal("An error; `code` is stable", errors[CallerError.status]),
        },
    }
    if route.summary:
        made["summary"] = route.summary
    if names := re.findall(r"\{(\w+)\}", template(route)):
        made["parameters"] = [parameter(name) for name in names]
    if schema is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if route.open:
        made["security"] = []
    else:
        made["security"] = SECURITY
        made["responses"]["401"] = refusal("No key, or a wrong one", errors[Unauthorized.status])
    return made


def parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def good(route: Route) -> dict[str, Any]:
    if route.empty:
        return {"204": {"description": "Done; there is nothing to say"}}
    taken = {"202": {"description": "Taken; nothing was asked"}} if route.quiet else {}
    return {"200": {"description": "The answer", "content": answers(route)}, **taken}


def answers(route: Route) -> dict[str, Any]:
    if route.method == "GET":
        return {"application/json": {}, "text/html": {}, "text/plain": {}}
    return {"application/json": {}, "text/event-stream": {}}


def refusal(description: str, body: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": shape(body), "example": body}}
    return {"description": description, "content": content}


async def example(door: Door, kind: type[RightseatError]) -> Any:
    """Return an error body as this door writes it."""
    return msgspec.json.decode(await body_of(door.refuse(kind("What happened, and what to do."))))


def shape(value: Any) -> dict[str, Any]:
    match value:
        case dict():
            inside = {name: shape(item) for name, item in value.items()}
            return {"type": "object", "properties": inside, "required": list(inside)}
        case str():
            return {"type": "string"}
        case _:
            # Null, or sometimes null: an example does not tell the type.
            return {}


def portable(schema: Any) -> Any:
    r"""Convert Python patterns to JSON Schema's dialect, recursively: `\Z` becomes `$`."""
    match schema:
        case dict():
            made = {name: portable(value) for name, value in schema.items()}
            if isinstance(pattern := made.get("pattern"), str):
                made["pattern"] = pattern.replace(r"\Z", "$")
            return made
        case list():
            return [portable(item) for item in schema]
        case _:
            return schema


def template(route: Route) -> str:
    """Return the route's path as OpenAPI writes it: without `:path`, which OpenAPI does not have."""
    return route.path.replace(":path}", "}")
