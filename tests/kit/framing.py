"""The same text in every legal SSE framing, and bodies given byte by byte."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence

from tests.kit.answers import SSE_HEADERS, UpstreamReply, answer_tokens
from tests.kit.connection import Connection, ReceivedRequest

TOKENS = ("héllo ", "世界 ", "🙂 ", "a\u2028b\u0085c ", "\n\n", "end")
"""Two to four byte characters, line separators that are not SSE's, and real newlines."""
TEXT = "".join(TOKENS)


def send_raw(pieces: Iterable[bytes], *, end: bool = True) -> UpstreamReply:
    """Exactly these pieces, each in a write of its own; `end=False` closes without the end of the body."""
    sent = list(pieces)

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for piece in sent:
            if piece:
                await connection.write_chunk(piece)
                await asyncio.sleep(0)
        await (connection.write_chunk(b"") if end else connection.fin())

    return reply


def _send_reframed(change: Callable[[Sequence[bytes]], Iterable[bytes]]) -> UpstreamReply:
    answer = answer_tokens(TOKENS)
    stream = send_raw(change(answer.encode_frames()))

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await (stream if request.stream else answer)(connection, request)

    return reply


def lf() -> UpstreamReply:
    return _send_reframed(lambda frames: frames)


def crlf() -> UpstreamReply:
    return _send_reframed(lambda frames: [f.replace(b"\n", b"\r\n") for f in frames])


def cr() -> UpstreamReply:
    return _send_reframed(lambda frames: [f.replace(b"\n", b"\r") for f in frames])


def crlf_split() -> UpstreamReply:
    """Every CR at the end of one read, its LF at the start of the next."""
    return _send_reframed(lambda frames: b"\r\0\n".join(b"".join(frames).split(b"\n")).split(b"\0"))


def multiline() -> UpstreamReply:
    """Each JSON value over several `data:` lines, which join with newlines to the same value."""

    def spread(frame: bytes) -> bytes:
        data = frame.removeprefix(b"data: ").rstrip(b"\n")
        if data == b"[DONE]":
            return frame
        lines = json.dumps(json.loads(data), indent=1, ensure_ascii=False).encode().split(b"\n")
        return b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"

    return _send_reframed(lambda frames: [spread(f) for f in frames])


def comments() -> UpstreamReply:
    """Comments, other fields, empty frames and a blank head between the real frames."""
    noise = b": ping\n\nevent: message\nid: 7\nretry: 10\n"
    return _send_reframed(lambda frames: [b"\n\n", *(noise + f + b":\n\n" for f in frames)])


def bom() -> UpstreamReply:
    return _send_reframed(lambda frames: [b"\xef\xbb\xbf", *frames])


def no_space() -> UpstreamReply:
    return _send_reframed(lambda frames: [f.replace(b"data: ", b"data:", 1) for f in frames])


def bytewise() -> UpstreamReply:
    """One byte per write: every character, frame and line end is split."""
    return _send_reframed(lambda frames: [bytes([b]) for b in b"".join(frames)])


def one_write() -> UpstreamReply:
    return _send_reframed(lambda frames: [b"".join(frames)])
