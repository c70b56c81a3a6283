"""Static files of the playground: ours in `page`, fetched ones in `vendor`.

Handlers of the playground that answer with uncached JSON.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.http.endpoint import Host, Request, decode_body, make_full_response, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.static import CONTENT_TYPES, PAGE_HEADERS, StaticFiles, read_file
from rightseat.server.operations import make_error_reply
from rightseat.types.tools import encode_fallback

PLAYGROUND_DIR = Path(__file__).parent


class PlaygroundFiles:
    def __init__(self) -> None:
        self.files = StaticFiles({"": PLAYGROUND_DIR / "page", "vendor/": PLAYGROUND_DIR / "vendor"})

    def serve_index(self) -> Reply:
        data = read_file(self.files.paths["index.html"]).data
        return make_reply(
            200, data, (b"cache-control", b"no-cache"), *PAGE_HEADERS, content_type=CONTENT_TYPES[".html"]
        )

    def serve_file(self, request: Request, host: Host) -> Reply:
        return self.files.make_file_reply(request.params["name"], request)


S = TypeVar("S", bound=Struct)
JsonHandler = Callable[[Request], Awaitable[Any]]
encode_json = msgspec.json.Encoder(enc_hook=encode_fallback).encode
NO_STORE = (b"cache-control", b"no-store")


def make_get_handler(answer: JsonHandler) -> Callable[[Request, Host], Reply]:
    return lambda request, host: stream_json_reply(answer(request))


def make_post_handler(
    type_: type[S], answer: Callable[[S, Request], Awaitable[Any]]
) -> Callable[[Request, Host], Reply]:
    return lambda request, host: stream_json_reply(answer(decode_body(request.body, type_), request))


async def stream_json_reply(answer: Awaitable[Any]) -> AsyncIterator[ResponseStart | bytes]:
    try:
        result = await answer
    except RightseatError as error:
        async for part in make_error_reply(error):
            yield part
    else:
        yield make_full_response(200, encode_json(result), NO_STORE)
