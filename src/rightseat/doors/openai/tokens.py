"""`/tokenize` and `/detokenize` for local models, in llama-server's shapes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Any

from msgspec import Meta, Struct

from rightseat.doors.openai.chunks import encode
from rightseat.doors.openai.write import refuse
from rightseat.errors import RightseatError
from rightseat.http.endpoint import Host, Request, decode, whole
from rightseat.http.reply import Reply


class TokenizeRequest(Struct, kw_only=True):
    content: str
    model: str | None = None
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeRequest(Struct, kw_only=True):
    tokens: list[Annotated[int, Meta(ge=0, lt=2**31)]]
    model: str | None = None


def tokenize(request: Request, host: Host) -> Reply:
    asked = decode(request.body, TokenizeRequest)
    tokens = host.tokenize(
        host.resolve(asked.model),
        asked.content,
        add=asked.add_special,
        special=asked.parse_special,
        pieces=asked.with_pieces,
    )
    return settled(tokens, "tokens")


def detokenize(request: Request, host: Host) -> Reply:
    asked = decode(request.body, DetokenizeRequest)
    return settled(host.detokenize(host.resolve(asked.model), asked.tokens), "content")


async def settled(work: Awaitable[Any], name: str) -> Reply:
    try:
        reply = whole(200, encode({name: await work}))
    except RightseatError as error:
        reply = refuse(error)
    async for part in reply:
        yield part
