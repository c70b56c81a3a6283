"""Faults of the connection itself: resets, cuts, stalls, silence, garbage."""

import asyncio

from tests.kit.answers import SSE, Reply, text
from tests.kit.chunks import dump, whole
from tests.kit.connection import Connection, Received
from tests.kit.faults import JSON, begin


async def _part(connection: Connection, request: Received, after: int, *, torn: bool = False) -> None:
    """The first tokens, or the first half of a whole answer; `torn` adds half a frame."""
    answer = text(after + 3)
    if request.stream:
        await begin(connection, answer, after)
        if torn:
            piece = answer.frames()[after + 1]
            await connection.chunk(piece[: len(piece) // 2])
        return
    body = dump(whole(answer.message))
    await connection.head(200, {**JSON, "Content-Length": str(len(body))})
    await connection.write(body[: len(body) // 2])


async def _for_ever() -> None:
    # Ends only when the connection is lost: the upstream then cancels the answer.
    await asyncio.Event().wait()


def reset(after: int = 3) -> Reply:
    """RST after the tokens have reached the peer."""

    async def reply(connection: Connection, request: Received) -> None:
        await _part(connection, request, after)
        await connection.reset()

    return reply


def reset_at_once() -> Reply:
    """RST instead of an answer: nothing was sent, so trying again is allowed."""

    async def reply(connection: Connection, _request: Received) -> None:
        await connection.reset()

    return reply


def cut(after: int = 3) -> Reply:
    """FIN in the middle of a frame, without the end of the body."""

    async def reply(connection: Connection, request: Received) -> None:
        await _part(connection, request, after, torn=True)
        await connection.fin()

    return reply


def cut_between(after: int = 3) -> Reply:
    """FIN between two frames, without the end of the body."""

    async def reply(connection: Connection, request: Received) -> None:
        await _part(connection, request, after)
        await connection.fin()

    return reply


def close_at_once() -> Reply:
    """FIN instead of an answer."""

    async def reply(connection: Connection, _request: Received) -> None:
        await connection.fin()

    return reply


def stall(after: int = 3) -> Reply:
    async def reply(connection: Connection, request: Received) -> None:
        await _part(connection, request, after)
        await _for_ever()

    return reply


def silent() -> Reply:
    """The head of an answer and nothing more."""

    async def reply(connection: Connection, request: Received) -> None:
        kind = SSE if request.stream else {**JSON, "Transfer-Encoding": "chunked"}
        await connection.head(200, kind)
        await _for_ever()

    return reply


def mute() -> Reply:
    """Not even a head."""

    async def reply(_connection: Connection, _request: Received) -> None:
        await _for_ever()

    return reply


def pings(rate: float = 50) -> Reply:
    """Alive, but never a token: comments only (a whole answer stays silent)."""

    async def reply(connection: Connection, request: Received) -> None:
        if not request.stream:
            await _for_ever()
        await connection.head(200, SSE)
        while True:
            await connection.chunk(b": ping\n\n")
            await asyncio.sleep(1 / rate)

    return reply


def garbage() -> Reply:
    """Bytes that are no HTTP."""

    async def reply(connection: Connection, _request: Received) -> None:
        await connection.write(b"\x16\x03\x01\x00\xff\xfe garbage, not HTTP \x00\r\n\r\n")
        await connection.fin()

    return reply


def bad_chunk_size() -> Reply:
    """Good tokens, then a transfer chunk whose size is no number."""

    async def reply(connection: Connection, request: Received) -> None:
        await begin(connection, text(), 3)
        await connection.write(b"zz\r\nnot a size\r\n")
        await connection.fin()

    return reply
