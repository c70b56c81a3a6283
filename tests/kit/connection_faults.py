"""Faults of the connection itself: resets, cuts, stalls, silence, garbage."""

import asyncio

from tests.kit.answers import SSE_HEADERS, UpstreamReply, answer_text
from tests.kit.chunks import encode_json, make_completion
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import JSON_HEADERS, begin_stream


async def _send_part(connection: Connection, request: ReceivedRequest, after: int, *, torn: bool = False) -> None:
    """The first tokens, or the first half of a whole answer; `torn` adds half a frame."""
    answer = answer_text(after + 3)
    if request.stream:
        await begin_stream(connection, answer, after)
        if torn:
            piece = answer.encode_frames()[after + 1]
            await connection.write_chunk(piece[: len(piece) // 2])
        return
    body = encode_json(make_completion(answer.message))
    await connection.write_head(200, {**JSON_HEADERS, "Content-Length": str(len(body))})
    await connection.write(body[: len(body) // 2])


async def _wait_forever() -> None:
    # Ends only when the connection is lost: the upstream then cancels the answer.
    await asyncio.Event().wait()


def reset_connection(after: int = 3) -> UpstreamReply:
    """RST after the tokens have reached the peer."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await _send_part(connection, request, after)
        await connection.reset()

    return reply


def reset_at_once() -> UpstreamReply:
    """RST instead of an answer: nothing was sent, so trying again is allowed."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.reset()

    return reply


def cut_inside_frame(after: int = 3) -> UpstreamReply:
    """FIN in the middle of a frame, without the end of the body."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await _send_part(connection, request, after, torn=True)
        await connection.fin()

    return reply


def cut_between_frames(after: int = 3) -> UpstreamReply:
    """FIN between two frames, without the end of the body."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await _send_part(connection, request, after)
        await connection.fin()

    return reply


def close_at_once() -> UpstreamReply:
    """FIN instead of an answer."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.fin()

    return reply


def stall_stream(after: int = 3) -> UpstreamReply:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await _send_part(connection, request, after)
        await _wait_forever()

    return reply


def send_head_only() -> UpstreamReply:
    """The head of an answer and nothing more."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        headers = SSE_HEADERS if request.stream else {**JSON_HEADERS, "Transfer-Encoding": "chunked"}
        await connection.write_head(200, headers)
        await _wait_forever()

    return reply


def send_nothing() -> UpstreamReply:
    """Not even a head."""

    async def reply(_connection: Connection, _request: ReceivedRequest) -> None:
        await _wait_forever()

    return reply


def send_pings(rate: float = 50) -> UpstreamReply:
    """Alive, but never a token: comments only (a whole answer stays silent)."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        if not request.stream:
            await _wait_forever()
        await connection.write_head(200, SSE_HEADERS)
        while True:
            await connection.write_chunk(b": ping\n\n")
            await asyncio.sleep(1 / rate)

    return reply


def send_garbage() -> UpstreamReply:
    """Bytes that are no HTTP."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write(b"\x16\x03\x01\x00\xff\xfe garbage, not HTTP \x00\r\n\r\n")
        await connection.fin()

    return reply


def send_bad_chunk_size() -> UpstreamReply:
    """Good tokens, then a transfer chunk whose size is no number."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await begin_stream(connection, answer_text(), 3)
        await connection.write(b"zz\r\nnot a size\r\n")
        await connection.fin()

    return reply
