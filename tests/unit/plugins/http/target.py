"""`Target`: a FastAPI server that keeps exactly what arrives, and answers as it is told."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from msgspec import Struct

from tests.kit.house import serving

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class Got(Struct, frozen=True):
    """One request: `line` as it stood in its first line, `path` as a server understands it."""

    method: str
    line: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    names: list[str]
    """Of all headers, as often as they came."""
    cookies: dict[str, str]
    body: bytes


Reply = Callable[[Got], Response]


class Target:
    """`replies`, one for each request; when they are used up, `{"ok": true}`."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.replies: list[Response | Reply] = []
        self.parsed: list[Any] = []
        self.url = ""
        self.app = FastAPI()

    @property
    def last(self) -> Got:
        return self.got[-1]

    async def answer(self, request: Request) -> Response:
        scope = request.scope
        query = scope["query_string"].decode()
        got = Got(
            request.method,
            scope["raw_path"].decode() + (f"?{query}" if query else ""),
            scope["path"],
            list(request.query_params.multi_items()),
            dict(request.headers),
            [name.decode() for name, _ in scope["headers"]],
            dict(request.cookies),
            await request.body(),
        )
        self.got.append(got)
        if got.headers.get("content-type", "").startswith(("multipart/", "application/x-www-form")):
            # FastAPI's own reading of the form, files included.
            async with request.form() as form:
                self.parsed.append(
                    [
                        (key, value)
                        if isinstance(value, str)
                        else (key, value.filename, value.content_type, await value.read())
                        for key, value in form.multi_items()
                    ]
                )
        if not self.replies:
            return said({"ok": True})
        reply = self.replies.pop(0)
        return reply if isinstance(reply, Response) else reply(got)

    async def lost(self, request: Request, error: Exception) -> Response:
        return await self.answer(request)


def said(value: Any, status: int = 200, **headers: str) -> Response:
    from fastapi.responses import JSONResponse

    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return JSONResponse(value, status, names)


def sent(body: bytes | str = b"", media: str = "", status: int = 200, **headers: str) -> Response:
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    if media:
        names["content-type"] = media
    return Response(body, status, names)


@asynccontextmanager
async def target() -> AsyncIterator[Target]:
    made = Target()
    made.app.api_route("/{rest:path}", methods=METHODS)(made.answer)
    # A route's path has no line breaks; what arrives may.
    made.app.add_exception_handler(404, made.lost)
    async with serving(made.app) as url:
        made.url = url
        yield made
