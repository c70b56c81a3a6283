"""The same text in every legal SSE framing, and bodies given byte by byte."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence

from tests.kit.answers import SSE, Reply, say
from tests.kit.connection import Connection, Received

TOKENS = ("héllo ", "世界 ", "🙂 ", "a\u2028b\u0085c ", "\n\n", "end")
"""Two to four byte characters, line separators that are not SSE's, and real newlines."""
SPOKEN = "".join(TOKENS)


def raw(pieces: Iterable[bytes], *, end: bool = True) -> Reply:
    """Exactly these pieces, each in a write of its own; `end=False` closes without the end of the body."""
    sent = list(pieces)

    async def reply(connection: Connection, _request: Received) -> None:
        await connection.head(200, SSE)
        for piece in sent:
            if piece:
                await connection.chunk(piece)
                await asyncio.sleep(0)
        await (connection.chunk(b"") if end else connection.fin())

    return reply


def _reframed(change: Callable[[Sequence[bytes]], Iterable[bytes]]) -> Reply:
    answer = say(TOKENS)
    stream = raw(change(answer.frames()))

    async def reply(connection: Connection, request: Received) -> None:
        await (stream if request.stream else answer)(connection, request)

    return reply


def lf() -> Reply:
    return _reframed(lambda frames: frames)


def crlf() -> Reply:
    return _reframed(lambda frames: [f.replace(b"\n", b"\r\n") for f in frames])


def cr() -> Reply:
    return _reframed(lambda frames: [f.replace(b"\n", b"\r") for f in frames])


def crlf_split() -> Reply:
    """Every CR at the end of one read, its LF at the start of the next."""
    return _reframed(lambda frames: b"\r\0\n".join(b"".join(frames).split(b"\n")).split(b"\0"))


def multiline() -> Reply:
    """Each JSON value over several `data:` lines, which join with newlines to the same value."""

    def spread(frame: bytes) -> bytes:
        data = frame.removeprefix(b"data: ").rstrip(b"\n")
        if data == b"[DONE]":
            return frame
        lines = json.dumps(json.loads(data), indent=1, ensure_ascii=False).encode().split(b"\n")
        return b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"

    return _reframed(lambda frames: [spread(f) for f in frames])


def comments() -> Reply:
    """Comments, other fields, empty frames and a blank head between the real frames."""
    noise = b": ping\n\nevent: message\nid: 7\nretry: 10\n"
    return _reframed(lambda frames: [b"\n\n", *(noise + f + b":\n\n" for f in frames)])


def bom() -> Reply:
    return _reframed(lambda frames: [b"\xef\xbb\xbf", *frames])


def no_space() -> Reply:
    return _reframed(lambda frames: [f.replace(b"data: ", b"data:", 1) for f in frames])


def bytewise() -> Reply:
    """One byte per write: every character, frame and line end is split."""
    return _reframed(lambda frames: [bytes([b]) for b in b"".join(frames)])


def one_write() -> Reply:
    return _reframed(lambda frames: [b"".join(frames)])
