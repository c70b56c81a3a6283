"""The ASGI application: every door's routes behind one guard, one authenticator and one pump."""

from __future__ import annotations

import difflib
import re
import secrets
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from rightseat.auth import LOCAL, Authenticator
from rightseat.door import REQUEST, Door, Request, Route
from rightseat.errors import MethodNotAllowed, NotFound, RightseatError
from rightseat.guard import Guard, Policy
from rightseat.openapi import described
from rightseat.operations import operations
from rightseat.pump import Head, Headers, Pace, Receive, Reply, Send, pump
from rightseat.runtime import Runtime

Scope = dict[str, Any]
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class App:
    def __init__(
        self,
        runtime: Runtime,
        settings: Policy,
        doors: Sequence[Door],
        *,
        authenticate: Authenticator | None = None,
        pace: Pace = Pace(),
    ) -> None:
        self.runtime = runtime
        self.guard = Guard(settings)
        self.authenticate = authenticate or Authenticator()
        self.pace = pace
        every = [operations(lambda: self.ready, doors), *doors]
        self.table = Table([*every, described(every)])

    @property
    def ready(self) -> bool:
        return not self.runtime.draining

    def swap(self, runtime: Runtime) -> None:
        """New requests get this runtime; running ones keep theirs."""
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
        door = self.table.door(path_of(scope))
        try:
            self.guard.check_host([v.decode("latin-1") for n, v in scope["headers"] if n == b"host"])
            if scope["method"] == "OPTIONS":
                extra += self.guard.preflight(headers)
                reply = nothing()
            else:
                body = has_body(scope["method"], headers)
                extra += self.guard.check_origin(headers, has_body=body)
                found = await self.request(scope, headers, request_id, receive)
                if found is None:
                    return
                route, request = found
                reply = route.answer(request, self.runtime)
        except RightseatError as error:
            reply = door.refuse(error)
        await pump(reply, receive, send, pace=self.pace, headers=extra)

    async def request(
        self, scope: Scope, headers: dict[str, str], request_id: str, receive: Receive
    ) -> tuple[Route, Request] | None:
        """The route and the request, read only after the caller is known; None when the client has left."""
        route, params = self.table.find(scope["method"], path_of(scope))
        client = scope.get("client")
        owner = LOCAL if route.open else await self.authenticate(headers, client[0] if client else None)
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
            id=request_id,
            owner=owner,
        )


class Table:
    """All routes by path, so that a path is one door's and a wrong method is told apart from no route."""

    def __init__(self, doors: Sequence[Door]) -> None:
        self.doors = doors
        self.routes = [(door, route, compiled(route.path)) for door in doors for route in door.routes]

    def door(self, path: str) -> Door:
        """The door that a path belongs to, for the shape of its errors; a stranger's path is the first's."""
        return next((door for door, _, pattern in self.routes if pattern.fullmatch(path)), self.doors[0])

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        here = [(route, found) for _, route, pattern in self.routes if (found := pattern.fullmatch(path))]
        for route, found in here:
            if route.method == method or (route.method == "GET" and method == "HEAD"):
                return route, found.groupdict()
        if here:
            allowed = ", ".join(sorted({route.method for route, _ in here}))
            raise MethodNotAllowed(f"{path[:100]} takes {allowed}.")
        known = [route.path for _, route, _ in self.routes]
        near = difflib.get_close_matches(path, known, 1, 0.6)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise NotFound(f"There is nothing at {path[:100]!r}.{hint}")


def compiled(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def path_of(scope: Scope) -> str:
    """The path below whatever prefix this app is mounted at."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root) else path


def joined(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name. A repeated one is joined, so that no check sees one value and its user another."""
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
    from rightseat.registry import every

    given = {"hosts": ("*",) if authenticate else (), **options}
    settings = msgspec.convert(given, ServerSettings)
    pace = Pace(settings.keep_alive, settings.send_timeout)
    ours = App(runtime, settings, every("doors"), authenticate=authenticate, pace=pace)
    app.mount(prefix, ours)
    return ours
