"""Handlers of the playground that answer with uncached JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.http.endpoint import Host, Request, decode, piece
from rightseat.http.reply import Head, Reply
from rightseat.server.operations import refuse
from rightseat.types.tools import plainly

S = TypeVar("S", bound=Struct)
Asked = Callable[[Request], Awaitable[Any]]
encode = msgspec.json.Encoder(enc_hook=plainly).encode
FRESH = (b"cache-control", b"no-store")


def answering(answer: Asked) -> Callable[[Request, Host], Reply]:
    return lambda request, host: replied(answer(request))


def posted(kind: type[S], answer: Callable[[S, Request], Awaitable[Any]]) -> Callable[[Request, Host], Reply]:
    return lambda request, host: replied(answer(decode(request.body, kind), request))


async def replied(answer: Awaitable[Any]) -> AsyncIterator[Head | bytes]:
    try:
        found = await answer
    except RightseatError as error:
        async for part in refuse(error):
            yield part
    else:
        yield piece(200, encode(found), FRESH)
