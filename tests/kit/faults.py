"""Faults inside HTTP: statuses, errors in the stream, ends too early, bodies that lie or never end."""

import asyncio
import gzip
from dataclasses import replace

from tests.kit.answers import SSE_HEADERS, ChatReply, UpstreamReply, answer_text, answer_tokens, write_json
from tests.kit.chunks import encode_frame, encode_json, make_completion, make_error_body
from tests.kit.connection import Connection, ReceivedRequest

CANARY = "upstream-text-canary"
"""Stands in every text that an upstream says about itself: a browser must never see it."""
JSON_HEADERS = {"Content-Type": "application/json"}


async def begin_stream(connection: Connection, answer: ChatReply, after: int) -> None:
    """The head and the first `after` tokens of a stream."""
    await connection.write_head(200, SSE_HEADERS)
    for piece in answer.encode_frames()[: after + 1]:
        await connection.write_chunk(piece)


def fail_with_status(code: int, retry_after: float | None = None) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        await write_json(connection, code, make_error_body(f"{CANARY} {code}", f"code_{code}"), **headers)

    return reply


def answer_body(data: bytes, kind: str = "application/json") -> UpstreamReply:
    """An answer of any kind in one piece."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, {"Content-Type": kind, "Content-Length": str(len(data))})
        await connection.write(data)

    return reply


def fail_midway(after: int = 3) -> UpstreamReply:
    """An error object in the stream, or with status 200 in place of a whole answer."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        fault = make_error_body(f"{CANARY} overloaded", "overloaded")
        if not request.stream:
            await write_json(connection, 200, fault)
            return
        await begin_stream(connection, answer_text(after), after)
        await connection.write_chunk(encode_frame(fault))
        await connection.write_chunk(b"")

    return reply


def end_without_finish(after: int = 3) -> ChatReply:
    """A clean end that says no finish_reason."""
    return replace(answer_text(after), finish_reason=None, sends_done=False)


def send_bad_json(after: int = 3) -> UpstreamReply:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        broken = b'{"choices": [{"delta": ' + CANARY.encode()
        if not request.stream:
            await connection.write_head(200, {**JSON_HEADERS, "Content-Length": str(len(broken))})
            await connection.write(broken)
            return
        await begin_stream(connection, answer_text(after), after)
        await connection.write_chunk(b"data: " + broken + b"\n\n")
        for piece in answer_text(after).encode_frames()[after + 1 :]:
            await connection.write_chunk(piece)
        await connection.write_chunk(b"")

    return reply


def send_wrong_shape() -> UpstreamReply:
    """JSON, but not an answer: a list in the stream, and as the whole body."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        if not request.stream:
            await write_json(connection, 200, [CANARY])
            return
        await connection.write_head(200, SSE_HEADERS)
        await connection.write_chunk(encode_frame([CANARY]) + encode_frame({"choices": {"delta": 7}}))
        await connection.write_chunk(b"")

    return reply


def send_html() -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        body = f"<!doctype html><title>{CANARY}</title><p>Sign in to continue".encode()
        await connection.write_head(200, {"Content-Type": "text/html", "Content-Length": str(len(body))})
        await connection.write(body)

    return reply


def send_huge_token(size: int = 8 * 1024 * 1024) -> ChatReply:
    """One token of that many characters."""
    return answer_tokens(["x" * size])


def send_endlessly(rate: float = 0) -> UpstreamReply:
    """Tokens, or spaces before a whole answer, until the peer leaves."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        # Many at once where no rate is asked for: the peer is to be flooded, not this loop.
        word = answer_text(1).chunks[1]
        if not rate:
            # Each with a probability, so that none is told together with another: what comes out is as much.
            word["choices"][0]["logprobs"] = {"content": []}
        piece = (encode_frame(word) if request.stream else b" " * 64) * (1 if rate else 64)
        await connection.write_head(
            200, SSE_HEADERS if request.stream else {**JSON_HEADERS, "Transfer-Encoding": "chunked"}
        )
        while True:
            await connection.write_chunk(piece)
            await asyncio.sleep(1 / rate if rate else 0)

    return reply


def send_gzip_bomb(size: int = 256 * 1024 * 1024) -> UpstreamReply:
    """A body of `size` spaces, a thousandth of that on the wire."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        block = b" " * (1024 * 1024)
        squeezed = gzip.compress(block, mtime=0) * (size // len(block))
        kind = {"Content-Type": SSE_HEADERS["Content-Type"]} if request.stream else JSON_HEADERS
        await connection.write_head(200, {**kind, "Content-Encoding": "gzip", "Content-Length": str(len(squeezed))})
        await connection.write(squeezed)

    return reply


def send_redirect(to: str = "http://127.0.0.1:9/v1/chat/completions", code: int = 307) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(code, {"Location": to, "Content-Length": "0"})

    return reply


def _build_body(request: ReceivedRequest) -> tuple[dict[str, str], bytes]:
    answer = answer_text()
    if request.stream:
        return {"Content-Type": SSE_HEADERS["Content-Type"]}, b"".join(answer.encode_frames(request))
    return JSON_HEADERS, encode_json(make_completion(answer.message))


def overstate_length(extra: int = 50) -> UpstreamReply:
    """Promises more bytes than it sends, then closes."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        kind, body = _build_body(request)
        await connection.write_head(200, {**kind, "Content-Length": str(len(body) + extra)})
        await connection.write(body)
        await connection.fin()

    return reply


def understate_length(missing: int = 50) -> UpstreamReply:
    """Sends more bytes than it promised; the rest would be read as the next answer."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        kind, body = _build_body(request)
        await connection.write_head(200, {**kind, "Content-Length": str(len(body) - missing)})
        await connection.write(body)
        await connection.fin()

    return reply
