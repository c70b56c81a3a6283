"""`Target`: a FastAPI server that keeps exactly what arrives, and answers as it is told."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from msgspec import Struct

from tests.kit.app_server import serve_app

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


class RecordedRequest(Struct, frozen=True):
    """One request: `line` as it stood in its first line, `path` as a server understands it."""

    method: str
    raw_target: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    header_names: list[str]
    """Of all headers, as often as they came."""
    cookies: dict[str, str]
    body: bytes


MakeResponse = Callable[[RecordedRequest], Response]


class RecordingApi:
    """`replies`, one for each request; when they are used up, `{"ok": true}`."""

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.replies: list[Response | MakeResponse] = []
        self.parsed_forms: list[Any] = []
        self.url = ""
        self.app = FastAPI()

    @property
    def last_request(self) -> RecordedRequest:
        return self.requests[-1]

    async def handle_request(self, request: Request) -> Response:
        scope = request.scope
        query = scope["query_string"].decode()
        received = RecordedRequest(
            request.method,
            scope["raw_path"].decode() + (f"?{query}" if query else ""),
            scope["path"],
            list(request.query_params.multi_items()),
            dict(request.headers),
            [name.decode() for name, _ in scope["headers"]],
            dict(request.cookies),
            await request.body(),
        )
        self.requests.append(received)
        if received.headers.get("content-type", "").startswith(("multipart/", "application/x-www-form")):
            # FastAPI's own reading of the form, files included.
            async with request.form() as form:
                self.parsed_forms.append(
                    [
                        (key, value)
                        if isinstance(value, str)
                        else (key, value.filename, value.content_type, await value.read())
                        for key, value in form.multi_items()
                    ]
                )
        if not self.replies:
            return make_json_response({"ok": True})
        reply = self.replies.pop(0)
        return reply if isinstance(reply, Response) else reply(received)

    async def handle_not_found(self, request: Request, error: Exception) -> Response:
        return await self.handle_request(request)


def make_json_response(value: Any, status: int = 200, **headers: str) -> Response:
    from fastapi.responses import JSONResponse

    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return JSONResponse(value, status, names)


def make_raw_response(body: bytes | str = b"", media: str = "", status: int = 200, **headers: str) -> Response:
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    if media:
        names["content-type"] = media
    return Response(body, status, names)


@asynccontextmanager
async def serve_recording_api() -> AsyncIterator[RecordingApi]:
    made = RecordingApi()
    made.app.api_route("/{rest:path}", methods=METHODS)(made.handle_request)
    # A route's path has no line breaks; what arrives may.
    made.app.add_exception_handler(404, made.handle_not_found)
    async with serve_app(made.app) as url:
        made.url = url
        yield made
