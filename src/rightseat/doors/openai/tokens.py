"""`/tokenize` and `/detokenize` for local models, in llama-server's shapes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Any

from msgspec import Meta, Struct

from rightseat.doors.openai.chunks import encode
from rightseat.doors.openai.write import refuse
from rightseat.errors import RightseatError
from rightseat.http.endpoint import Host, Request, decode_body, make_reply
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
    body = decode_body(request.body, TokenizeRequest)
    tokens = host.tokenize(
        host.resolve_responder(body.model),
        body.content,
        add=body.add_special,
        special=body.parse_special,
        pieces=body.with_pieces,
    )
    return reply_field(tokens, "tokens")


def detokenize(request: Request, host: Host) -> Reply:
    body = decode_body(request.body, DetokenizeRequest)
    return reply_field(host.detokenize(host.resolve_responder(body.model), body.tokens), "content")


async def reply_field(result: Awaitable[Any], name: str) -> Reply:
    try:
        reply = make_reply(200, encode({name: await result}))
    except RightseatError as error:
        reply = refuse(error)
    async for part in reply:
        yield part
