"""The operators' door: health, readiness, metrics, files of answers, error pages."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Callable, Sequence
from typing import Protocol
from urllib.parse import quote

import msgspec

from rightseat.engine.artifacts import fetched
from rightseat.errors import NotFound, RightseatError
from rightseat.http.endpoint import Door, Request, Route, retry_header, whole
from rightseat.http.reply import Reply
from rightseat.runtime.metrics import CONTENT_TYPE, Meters
from rightseat.server import explained
from rightseat.types.stores import Store


class Running(Protocol):
    """The part of the Runtime that operators query."""

    @property
    def ready(self) -> bool: ...
    @property
    def meters(self) -> Meters: ...
    @property
    def store(self) -> Store: ...


def operations(runtime: Callable[[], Running], doors: Sequence[Door], *, metrics: str = "key") -> Door:
    """Make the operators' door. `/health` and `/ready` need no key; `/metrics` needs one unless `metrics` is
    "open"."""

    def health(request: Request, host: object) -> Reply:
        return whole(200, b'{"status":"ok"}')

    def readiness(request: Request, host: object) -> Reply:
        return whole(200, b'{"ready":true}') if runtime().ready else whole(503, b'{"ready":false}')

    async def numbers(request: Request, host: object) -> Reply:
        # Importing it takes a while: not on the event loop.
        await asyncio.to_thread(importlib.import_module, "prometheus_client")
        async for part in whole(200, runtime().meters.text(), kind=CONTENT_TYPE):
            yield part

    async def file(request: Request, host: object) -> Reply:
        found = await fetched(runtime().store, request.params["ticket"])
        if found is None:
            reply = refuse(NotFound("There is no such file, or it is no longer kept. Ask for it again."))
        else:
            reply = whole(200, found.data, *download(found.name), kind=media(found.media_type))
        async for part in reply:
            yield part

    pages = {"/health": health, "/ready": readiness}
    routes = [Route("GET", path, page, open=True) for path, page in pages.items()]
    # Public: the link is the credential; a browser that follows it sends no key.
    routes.append(Route("GET", "/files/{ticket}/{name}", file, open=True, summary="A file of an answer"))
    routes.append(explained.ROUTE)
    if metrics != "off":
        routes.append(Route("GET", "/metrics", numbers, open=metrics == "open"))
    return Door("operations", tuple(routes), refuse, lambda base: f"curl {base}/health")


def index(doors: Sequence[Door], request: Request) -> Reply:
    """Return the list of doors as text, for clients that are no browser."""
    lines = "".join(f"  {door.name:<12}{door.hint(request.base)}\n" for door in doors)
    text = f"rightseat is running. Its doors, and how a client finds them:\n\n{lines}"
    return whole(200, text.encode(), kind=b"text/plain; charset=utf-8")


def media(given: str) -> bytes:
    """Return the media type as a header value; a malformed one becomes application/octet-stream."""
    return (
        given.encode() if re.fullmatch(r"[\w.+-]+/[\w.+-]+", given, re.ASCII) else b"application/octet-stream"
    )


def download(name: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return headers by which browsers save a file and never render it on our origin."""
    return (
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(name, safe='')}".encode()),
        (b"content-security-policy", b"sandbox; default-src 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"private, no-store"),
    )


def refuse(error: RightseatError) -> Reply:
    body = msgspec.json.encode({"error": {"message": error.message, "code": error.code}})
    return whole(error.status, body, *retry_header(error))
