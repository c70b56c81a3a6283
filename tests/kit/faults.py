"""Faults inside HTTP: statuses, errors in the stream, ends too early, bodies that lie or never end."""

import asyncio
import gzip
from dataclasses import replace

from tests.kit.answers import SSE, Answer, Reply, say, text, write_json
from tests.kit.chunks import dump, error, frame, whole
from tests.kit.connection import Connection, Received

CANARY = "upstream-text-canary"
"""Stands in every text that an upstream says about itself: a browser must never see it."""
JSON = {"Content-Type": "application/json"}


async def begin(connection: Connection, answer: Answer, after: int) -> None:
    """The head and the first `after` tokens of a stream."""
    await connection.head(200, SSE)
    for piece in answer.frames()[: after + 1]:
        await connection.chunk(piece)


def status(code: int, retry_after: float | None = None) -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        await write_json(connection, code, error(f"{CANARY} {code}", f"code_{code}"), **headers)

    return reply


def body(data: bytes, kind: str = "application/json") -> Reply:
    """An answer of any kind in one piece."""

    async def reply(connection: Connection, _request: Received) -> None:
        await connection.head(200, {"Content-Type": kind, "Content-Length": str(len(data))})
        await connection.write(data)

    return reply


def error_midway(after: int = 3) -> Reply:
    """An error object in the stream, or with status 200 in place of a whole answer."""

    async def reply(connection: Connection, request: Received) -> None:
        fault = error(f"{CANARY} overloaded", "overloaded")
        if not request.stream:
            await write_json(connection, 200, fault)
            return
        await begin(connection, text(after), after)
        await connection.chunk(frame(fault))
        await connection.chunk(b"")

    return reply


def eof(after: int = 3) -> Answer:
    """A clean end that says no finish_reason."""
    return replace(text(after), finish=None, done=False)


def bad_json(after: int = 3) -> Reply:
    async def reply(connection: Connection, request: Received) -> None:
        broken = b'{"choices": [{"delta": ' + CANARY.encode()
        if not request.stream:
            await connection.head(200, {**JSON, "Content-Length": str(len(broken))})
            await connection.write(broken)
            return
        await begin(connection, text(after), after)
        await connection.chunk(b"data: " + broken + b"\n\n")
        for piece in text(after).frames()[after + 1 :]:
            await connection.chunk(piece)
        await connection.chunk(b"")

    return reply


def wrong_shape() -> Reply:
    """JSON, but not an answer: a list in the stream, and as the whole body."""

    async def reply(connection: Connection, request: Received) -> None:
        if not request.stream:
            await write_json(connection, 200, [CANARY])
            return
        await connection.head(200, SSE)
        await connection.chunk(frame([CANARY]) + frame({"choices": {"delta": 7}}))
        await connection.chunk(b"")

    return reply


def html() -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        body = f"<!doctype html><title>{CANARY}</title><p>Sign in to continue".encode()
        await connection.head(200, {"Content-Type": "text/html", "Content-Length": str(len(body))})
        await connection.write(body)

    return reply


def huge(size: int = 8 * 1024 * 1024) -> Answer:
    """One token of that many characters."""
    return say(["x" * size])


def endless(rate: float = 0) -> Reply:
    """Tokens, or spaces before a whole answer, until the peer leaves."""

    async def reply(connection: Connection, request: Received) -> None:
        # Many at once where no rate is asked for: the peer is to be flooded, not this loop.
        word = text(1).chunks[1]
        if not rate:
            # Each with a probability, so that none is told together with another: what comes out is as much.
            word["choices"][0]["logprobs"] = {"content": []}
        piece = (frame(word) if request.stream else b" " * 64) * (1 if rate else 64)
        await connection.head(200, SSE if request.stream else {**JSON, "Transfer-Encoding": "chunked"})
        while True:
            await connection.chunk(piece)
            await asyncio.sleep(1 / rate if rate else 0)

    return reply


def gzip_bomb(size: int = 256 * 1024 * 1024) -> Reply:
    """A body of `size` spaces, a thousandth of that on the wire."""

    async def reply(connection: Connection, request: Received) -> None:
        block = b" " * (1024 * 1024)
        squeezed = gzip.compress(block, mtime=0) * (size // len(block))
        kind = {"Content-Type": SSE["Content-Type"]} if request.stream else JSON
        await connection.head(200, {**kind, "Content-Encoding": "gzip", "Content-Length": str(len(squeezed))})
        await connection.write(squeezed)

    return reply


def redirect(to: str = "http://127.0.0.1:9/v1/chat/completions", code: int = 307) -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        await connection.head(code, {"Location": to, "Content-Length": "0"})

    return reply


def _body(request: Received) -> tuple[dict[str, str], bytes]:
    answer = text()
    if request.stream:
        return {"Content-Type": SSE["Content-Type"]}, b"".join(answer.frames(request))
    return JSON, dump(whole(answer.message))


def length_too_long(extra: int = 50) -> Reply:
    """Promises more bytes than it sends, then closes."""

    async def reply(connection: Connection, request: Received) -> None:
        kind, body = _body(request)
        await connection.head(200, {**kind, "Content-Length": str(len(body) + extra)})
        await connection.write(body)
        await connection.fin()

    return reply


def length_too_short(missing: int = 50) -> Reply:
    """Sends more bytes than it promised; the rest would be read as the next answer."""

    async def reply(connection: Connection, request: Received) -> None:
        kind, body = _body(request)
        await connection.head(200, {**kind, "Content-Length": str(len(body) - missing)})
        await connection.write(body)
        await connection.fin()

    return reply
