"""Handlers of the playground that answer with uncached JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.http.endpoint import Host, Request, decode_body, make_full_response
from rightseat.http.reply import Reply, ResponseStart
from rightseat.server.operations import make_error_reply
from rightseat.types.tools import encode_fallback

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
