"""The ASGI application: routes of all doors behind one guard and one authenticator."""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol
from urllib.parse import parse_qsl

import msgspec

from rightseat.config.graphql_limits import DocumentLimits
from rightseat.errors import MethodNotAllowed, NotFound, RightseatError
from rightseat.http.auth import LOCAL, Authenticator
from rightseat.http.endpoint import REQUEST, Door, Request, Route
from rightseat.http.forwarding import Forwarding
from rightseat.http.reply import DIRECT, Head, Headers, Pace, Receive, Reply, Send, pump
from rightseat.http.security import Guard, Policy
from rightseat.runtime.incidents import ARRIVED, UNDER, Arrival
from rightseat.server.access_log import Visit
from rightseat.server.openapi import described
from rightseat.server.operations import index, operations
from rightseat.server.playground import playground
from rightseat.types.nearest import nearest
from rightseat.wiring.library import Runtime

Scope = dict[str, Any]
Found = tuple[Door, Route, dict[str, str]]
NOWHERE = "(none)"
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Settings(Policy, Protocol):
    """The settings of the [server] table that the application reads."""

    @property
    def access_log(self) -> bool: ...
    @property
    def introspection(self) -> bool: ...
    @property
    def graphql(self) -> DocumentLimits: ...
    @property
    def forward_headers(self) -> tuple[str, ...]: ...
    @property
    def metrics(self) -> str: ...
    @property
    def keep_alive(self) -> float: ...
    @property
    def send_timeout(self) -> float: ...


class App:
    def __init__(
        self,
        runtime: Runtime,
        settings: Settings,
        doors: Sequence[Door],
        *,
        authenticate: Authenticator | None = None,
    ) -> None:
        self.runtime = runtime
        self.doors = doors
        self.configure(settings, authenticate or Authenticator())

    def configure(self, settings: Settings, authenticate: Authenticator) -> None:
        """Apply `settings` and `authenticate` to every later request, at start and at each reload.

        Settings are read only here, so that a reload cannot forget one. Raises ConfigError for an invalid
        address, before anything is changed.
        """
        self.guard = Guard(settings)
        self.authenticate = authenticate
        self.access_log = settings.access_log
        self.introspection = settings.introspection
        self.graphql = settings.graphql
        self.forwarding = Forwarding(settings.forward_headers)
        self.pace = Pace(settings.keep_alive, settings.send_timeout)
        doors = self.doors
        every = [
            operations(lambda: self.runtime, doors, metrics=settings.metrics),
            *doors,
            playground(lambda: self.runtime, doors, lambda request, host: index(doors, request)),
        ]
        self.table = Table([*every, described(every)])

    @property
    def ready(self) -> bool:
        return self.runtime.ready

    def swap(self, runtime: Runtime) -> None:
        """Use this runtime for new requests; running ones keep theirs."""
        self.runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
        elif scope["type"] == "http":
            await self.http(scope, receive, send)

    async def http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = joined(scope["headers"])
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        REQUEST.set(request_id)
        extra: Headers = ((b"x-request-id", request_id.encode()),)
        door, path = self.table.place(path_of(scope))
        visit = Visit(scope["method"], path)
        arrival = Arrival(scope["method"], path_of(scope), path)
        ARRIVED.set(arrival)
        UNDER.set(None)
        try:
            try:
                base = arrival.base = self.base(scope, headers, visit)
                if scope["method"] == "OPTIONS":
                    extra += self.guard.preflight(headers, door.origins)
                    reply = nothing()
                else:
                    body = has_body(scope["method"], headers)
                    extra += self.guard.check_origin(headers, has_body=body, also=door.origins)
                    found = await self.request(scope, headers, receive, visit)
                    if found is None:
                        return
                    route, request = found
                    request = msgspec.structs.replace(
                        request,
                        id=request_id,
                        base=base,
                        introspection=self.introspection,
                        graphql=self.graphql,
                        forward=self.forward,
                        count=visit.count,
                    )
                    reply = route.answer(request, self.runtime)
            except RightseatError as error:
                visit.refuse(error)
                reply = door.refuse_as(error, headers) if door.refuse_as else door.refuse(error)
                if isinstance(error, MethodNotAllowed):
                    extra += ((b"allow", error.allow.encode()),)
            direct = scope.get("extensions", {}).get(DIRECT, {}).get("write")
            await pump(reply, receive, send, pace=self.pace, headers=extra, begin=visit.begin, direct=direct)
        finally:
            visit.end(self.runtime.meters, logged=self.access_log)

    def forward(self, headers: Mapping[str, str]) -> dict[str, str]:
        return self.forwarding.passed(headers, self.authenticate.own(headers))

    def base(self, scope: Scope, headers: dict[str, str], visit: Visit) -> str:
        """Check the Host (of a trusted proxy, if any) and return this server's URL as the client sees it."""
        seen = self.guard.proxies.see(peer(scope) or "", scope.get("scheme", "http"), headers)
        visit.client = seen.client or "-"
        if seen.host is None:
            self.guard.check_host([v.decode("latin-1") for n, v in scope["headers"] if n == b"host"])
        else:
            self.guard.check_host([seen.host])
            headers["host"] = seen.host
        return self.guard.public_url or f"{seen.scheme}://{headers['host']}{scope.get('root_path', '')}"

    async def request(
        self, scope: Scope, headers: dict[str, str], receive: Receive, visit: Visit
    ) -> tuple[Route, Request] | None:
        """Authenticate, then read the body; return route and request, or None when the client has left."""
        browser = "text/html" in headers.get("accept", "") and not scope.get("query_string")
        route, params = self.table.find(scope["method"], path_of(scope), browser=browser)
        # The connected peer, whatever it forwards: only a trusted proxy itself may name a user.
        owner = LOCAL if route.open else await self.authenticate(headers, peer(scope))
        visit.owner = "open" if route.open else owner.name.partition(":")[0]
        body = await self.guard.body(headers, receive)
        if body is None:
            return None
        return route, Request(
            method=scope["method"],
            path=path_of(scope),
            params=params,
            query=dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"))),
            headers=headers,
            body=body,
            id="",
            owner=owner,
        )


class Table:
    """All routes by path. A known path with a wrong method is told apart from an unknown path."""

    def __init__(self, doors: Sequence[Door]) -> None:
        self.doors = doors
        self.routes = [(door, route, compiled(route.path)) for door in doors for route in door.routes]
        # Paths without parameters are looked up; only the others are matched by pattern.
        self.fixed: dict[str, list[Found]] = {}
        for door, route, _ in self.routes:
            if "{" not in route.path:
                self.fixed.setdefault(route.path, []).append((door, route, {}))
        # By first segment, so that a request is not matched against every door's patterns.
        self.open: defaultdict[str, list[tuple[Door, Route, re.Pattern[str]]]] = defaultdict(list)
        for entry in self.routes:
            if "{" in entry[1].path:
                first = entry[1].path.split("/")[1]
                self.open["" if "{" in first else first].append(entry)

    def at(self, path: str) -> list[Found]:
        """Return the routes of a path, of any method, with the path's parameters."""
        alike = chain.from_iterable(
            self.open.get(first, ()) for first in dict.fromkeys((*path.split("/")[1:2], ""))
        )
        searched = ((door, route, pattern.fullmatch(path)) for door, route, pattern in alike)
        here = [(door, route, found.groupdict()) for door, route, found in searched if found]
        return self.fixed.get(path, []) + here

    def place(self, path: str) -> tuple[Door, str]:
        """Return the door and the route template of a path. An unknown path belongs to the door with the same
        first segment, so that the client can read the error."""
        for door, route, _ in self.at(path):
            return door, route.path
        first = path.split("/")[1:2]
        alike = ((door, NOWHERE) for door, route, _ in self.routes if route.path.split("/")[1:2] == first)
        return next(alike, (self.doors[0], NOWHERE))

    def find(self, method: str, path: str, *, browser: bool = False) -> tuple[Route, dict[str, str]]:
        here = [found for found in self.at(path) if browser or not found[1].page]
        for _, route, params in here:
            if route.method == method or (route.method == "GET" and method == "HEAD"):
                return route, params
        if here:
            allowed = ", ".join(sorted({route.method for _, route, _ in here}))
            raise MethodNotAllowed(f"{path[:100]} takes {allowed}.", allow=allowed)
        known = [route.path for _, route, _ in self.routes]
        near = nearest(path, known)
        hint = f" Did you mean {near}?" if near else ""
        raise NotFound(f"There is nothing at {path[:100]!r}.{hint}")


def compiled(path: str) -> re.Pattern[str]:
    """Compile a route's path: `{name}` matches one segment, `{name:path}` the rest."""
    whole = re.sub(r"\\\{(\w+):path\\\}", r"(?P<\1>.+)", re.escape(path))
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", whole))


def path_of(scope: Scope) -> str:
    """Return the path below the prefix that this app is mounted at."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root) else path


def peer(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


def joined(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name, repeated ones joined: a check and its user must see the same value."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def has_body(method: str, headers: dict[str, str]) -> bool:
    return method not in ("GET", "HEAD") and (
        headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    )


async def nothing() -> Reply:
    yield Head(204)


async def lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def mount(
    app: Any, runtime: Runtime, prefix: str = "", *, authenticate: Authenticator | None = None, **options: Any
) -> App:
    """Put every door into an ASGI app that has `mount`, such as FastAPI's or Starlette's.

    `options` are keys of [server], such as `cors`. Without `authenticate` whoever reaches the app is let in,
    and so only loopback is answered unless `hosts` names more: a stranger's page could call from a browser.
    """
    from rightseat.config import ServerSettings
    from rightseat.wiring import every

    given = {"hosts": ("*",) if authenticate else (), **options}
    settings = msgspec.convert(given, ServerSettings)
    ours = App(runtime, settings, every("doors"), authenticate=authenticate)
    app.mount(prefix, ours)
    return ours
