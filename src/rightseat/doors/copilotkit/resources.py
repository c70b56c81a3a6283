"""Resource requests by the single endpoint, and routes of CopilotKit's cloud, which are refused. /info tells
clients that these are not available."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec.structs import replace

from rightseat.doors.copilotkit import agui_threads
from rightseat.doors.copilotkit.failures import told
from rightseat.errors import MethodNotAllowed, NotConfigured, NotFound
from rightseat.http.endpoint import Host, Request, Route, whole
from rightseat.http.reply import Head, Reply

encode = msgspec.json.Encoder().encode
PATH = "/copilotkit"
NO_CLOUD = NotConfigured("This belongs to CopilotKit's cloud, which this server does not use.")


def cloud(request: Request, host: Host) -> Reply:
    return whole(422, encode(told(NO_CLOUD, "Not available")))


async def metadata(request: Request, host: Host) -> Reply:
    """Answer CopilotKit's inspector with 204: there is no metadata."""
    yield Head(204, ((b"cache-control", b"no-store, private"),))


ROUTES = (
    Route("POST", f"{PATH}/threads/subscribe", cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route("POST", f"{PATH}/annotate", cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route("GET", f"{PATH}/inspector-metadata", metadata, summary="Nothing is told here", empty=True),
)


def resource(method: str, target: str, body: bytes, request: Request, host: Host) -> Reply:
    """Dispatch a resource request that came in the body of the single endpoint."""
    path, _, query = target.partition("?")
    # Paths without parameters match first.
    every = sorted((*agui_threads.ROUTES, *ROUTES), key=lambda route: "{" in route.path)
    here = [(route, found) for route in every if (found := fits(route.path, PATH + path)) is not None]
    for route, found in here:
        if route.method == method.upper():
            inner = replace(
                request,
                method=route.method,
                path=PATH + path,
                params=found,
                query=dict(parse_qsl(query)),
                body=body,
            )
            return route.answer(inner, host)
    if here:
        allowed = ", ".join(sorted({route.method for route, _ in here}))
        raise MethodNotAllowed(f"{path[:100]} takes {allowed}.", allow=allowed)
    raise NotFound(f"There is nothing at {path[:100]!r}.", param="params.path")


def fits(route: str, path: str) -> dict[str, str] | None:
    """Return the path parameters if the route matches, else None."""
    wanted, given = route.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    params = {name[1:-1]: unquote(part) for name, part in zip(wanted, given, strict=True) if name[:1] == "{"}
    fixed = all(name == part for name, part in zip(wanted, given, strict=True) if name[:1] != "{")
    return params if fixed and all(params.values()) else None
