"""Resource requests by the single endpoint, and routes of CopilotKit's cloud, which are refused. /info tells
clients that these are not available."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec.structs import replace

from rightseat.doors.copilotkit import agui_threads
from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.errors import MethodNotAllowed, NotConfigured, NotFound
from rightseat.http.endpoint import Host, Request, Route, make_reply
from rightseat.http.reply import Reply, ResponseStart

encode = msgspec.json.Encoder().encode
BASE_PATH = "/copilotkit"
NO_CLOUD = NotConfigured("This belongs to CopilotKit's cloud, which this server does not use.")


def refuse_cloud(request: Request, host: Host) -> Reply:
    return make_reply(422, encode(make_error_body(NO_CLOUD, "Not available")))


async def get_inspector_metadata(request: Request, host: Host) -> Reply:
    """Answer CopilotKit's inspector with 204: there is no metadata."""
    yield ResponseStart(204, ((b"cache-control", b"no-store, private"),))


CLOUD_ROUTES = (
    Route(
        "POST", f"{BASE_PATH}/threads/subscribe", refuse_cloud, summary="Of CopilotKit's cloud: answers 422"
    ),
    Route("POST", f"{BASE_PATH}/annotate", refuse_cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route(
        "GET",
        f"{BASE_PATH}/inspector-metadata",
        get_inspector_metadata,
        summary="Nothing is told here",
        returns_204=True,
    ),
)


def dispatch_resource(method: str, target: str, body: bytes, request: Request, host: Host) -> Reply:
    """Dispatch a resource request that came in the body of the single endpoint."""
    path, _, query = target.partition("?")
    # Paths without parameters match first.
    routes = sorted((*agui_threads.THREAD_ROUTES, *CLOUD_ROUTES), key=lambda route: "{" in route.path)
    matches = [
        (route, params)
        for route in routes
        if (params := match_path(route.path, BASE_PATH + path)) is not None
    ]
    for route, params in matches:
        if route.method == method.upper():
            inner = replace(
                request,
                method=route.method,
                path=BASE_PATH + path,
                params=params,
                query=dict(parse_qsl(query)),
                body=body,
            )
            return route.handler(inner, host)
    if matches:
        allowed = ", ".join(sorted({route.method for route, _ in matches}))
        raise MethodNotAllowed(f"{path[:100]} takes {allowed}.", allow=allowed)
    raise NotFound(f"There is nothing at {path[:100]!r}.", param="params.path")


def match_path(route: str, path: str) -> dict[str, str] | None:
    """Return the path parameters if the route matches, else None."""
    route_parts, path_parts = route.split("/"), path.split("/")
    if len(route_parts) != len(path_parts):
        return None
    params = {
        name[1:-1]: unquote(part)
        for name, part in zip(route_parts, path_parts, strict=True)
        if name[:1] == "{"
    }
    fixed = all(name == part for name, part in zip(route_parts, path_parts, strict=True) if name[:1] != "{")
    return params if fixed and all(params.values()) else None
