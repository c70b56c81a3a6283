"""The model's side of the bench, a process of its own: paced tokens from bytes made beforehand.

Also answers the driver: GET /open (how many answers are under way), GET /closes (stream → the
moment its peer closed it, system-wide monotonic clock), GET /sent (stream → the moments of its
tokens, where they were ordered `timed`), GET /forget.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from functools import cache
from typing import cast

import uvloop

from bench.order import StreamOrder, find_order, format_token
from bench.ready import announce

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
END = b"0\r\n\r\n"
# How many tokens one write holds at full speed.
BATCH = 32

open_answers: set["UpstreamProtocol"] = set()
close_times: dict[int, float] = {}
send_times: dict[int, list[float]] = {}


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _frame(delta: Mapping[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "bench",
        "choices": [choice],
    }
    return _chunked(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")


@cache
def make_pieces(tokens: int) -> list[bytes]:
    """What is written at each tick: the first with the head, the last with the end."""
    made = [_frame({"content": format_token(i)}) for i in range(tokens)]
    made[0] = HEAD + _frame({"role": "assistant", "content": ""}) + made[0]
    made[-1] += _frame({}, "stop") + _chunked(b"data: [DONE]\n\n") + END
    return made


@cache
def make_call_piece() -> bytes:
    """Return a call of a tool whose arguments have begun."""
    function = {"name": "calculate", "arguments": '{"expression": "1'}
    return _frame({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})


@cache
def make_batches(tokens: int) -> list[bytes]:
    made = make_pieces(tokens)
    return [b"".join(made[i : i + BATCH]) for i in range(0, tokens, BATCH)]


@cache
def format_whole_answer(order: StreamOrder) -> bytes:
    message = {"role": "assistant", "content": order.text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    value = {"id": "chatcmpl-bench", "object": "chat.completion", "created": 1, "model": "bench", "choices": choices}
    body = json.dumps(value).encode()
    return JSON_HEAD % len(body) + body


class UpstreamProtocol(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._order: StreamOrder | None = None
        self._next: asyncio.Handle | None = None
        self._paused = False
        self._pending: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses, so this cannot be asked.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, mark, body = self._buffer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        if not mark or len(body) < int(length or 0):
            return
        self._buffer = b""
        if (order := find_order(body)) is None:
            self._report(head.split(b" ")[1])
        else:
            self._begin(order, streamed=b'"stream":true' in body.replace(b" ", b""))

    def _report(self, path: bytes) -> None:
        if path == b"/forget":
            close_times.clear()
            send_times.clear()
        value = {b"/open": len(open_answers), b"/closes": close_times, b"/sent": send_times}.get(path, "")
        body = json.dumps(value).encode()
        self._transport.write(JSON_HEAD % len(body) + body)

    def _begin(self, order: StreamOrder, *, streamed: bool) -> None:
        self._order = order
        open_answers.add(self)
        if order.start == "never":
            return
        if order.start == "part":
            answer = make_pieces(order.tokens)[0] if streamed else format_whole_answer(order)[:-10]
            self._transport.write(answer)
        elif order.start == "call":
            self._transport.write(HEAD + make_call_piece())
        elif order.start == "end":
            # All of it, but not the end of the body.
            self._transport.write(b"".join(make_pieces(order.tokens)).removesuffix(_chunked(b"data: [DONE]\n\n") + END))
        elif order.start == "cut":
            self._finish(b"".join(make_pieces(order.tokens)[: order.tokens // 2]))
            self._transport.close()
        elif not streamed:
            wait = order.tokens / order.rate if order.rate else 0
            self._next = self._loop.call_later(wait, self._finish, format_whole_answer(order))
        elif order.rate:
            self._tick(make_pieces(order.tokens), 0, self._loop.time())
        else:
            self._pending = make_batches(order.tokens)[::-1]
            self._write_batches()

    def _write_batches(self) -> None:
        if not self._pending:
            return
        data = self._pending.pop()
        if not self._pending:
            self._finish(data)
            return
        self._transport.write(data)
        if not self._paused:
            self._next = self._loop.call_soon(self._write_batches)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._write_batches()

    def _tick(self, all_: list[bytes], i: int, begun: float) -> None:
        if self._order is not None and self._order.start == "timed":
            send_times.setdefault(self._order.stream, []).append(time.monotonic())
        if i + 1 == len(all_):
            self._finish(all_[i])
            return
        self._transport.write(all_[i])
        assert self._order is not None
        # From the beginning, not from now: a late tick does not slow the stream down.
        self._next = self._loop.call_at(begun + (i + 1) / self._order.rate, self._tick, all_, i + 1, begun)

    def _finish(self, last: bytes) -> None:
        self._transport.write(last)
        self._order = None
        open_answers.discard(self)

    def eof_received(self) -> bool:
        self._on_disconnect()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_disconnect()

    def _on_disconnect(self) -> None:
        if self._order is not None:
            close_times[self._order.stream] = time.monotonic()
            self._order = None
        self._pending = []
        if self._next is not None:
            self._next.cancel()
        open_answers.discard(self)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(UpstreamProtocol, "127.0.0.1", 0, backlog=1024)
    await announce(server)


if __name__ == "__main__":
    uvloop.run(main())
