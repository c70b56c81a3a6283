"""A LangGraph server that plays a recorded run (langgraph.json) with as many words as ordered: what stands
behind an agent costs nothing of what is measured, and says the same to everybody.

Order and answer travel as they do through bench/upstream.py.
"""

import asyncio
import json
import re
import uuid
from functools import cache
from typing import Any, cast

import uvloop

from bench.machine import ROOT
from bench.order import StreamOrder, find_order, format_token
from bench.ready import announce

RECORDED: dict[str, Any] = json.loads((ROOT / "bench" / "langgraph.json").read_text(encoding="utf-8"))
RECORDED_PROMPT, RECORDED_TEXT, RECORDED_WORD = "hello", "You said hello.", " said"
RUN_ID = RECORDED["frames"][0][1]["run_id"]
JSON_HEAD = "HTTP/1.1 {} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
HEAD = (
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Location: {}\r\nTransfer-Encoding: chunked\r\n\r\n"
)
THREAD_PATH = re.compile(r"/threads/([0-9a-f-]{36})(/state|/history|/runs/stream)?")


def fill_recording(value: Any, order: StreamOrder) -> str:
    """What was recorded, with the ordered words in the place of those that were said then."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace(json.dumps(RECORDED_TEXT), json.dumps(order.text)).replace(
        json.dumps(RECORDED_PROMPT), json.dumps(order.prompt)
    )


@cache
def make_frames(order: StreamOrder) -> list[bytes]:
    """One piece for each word; what comes before and after goes with the first and the last."""
    words = [n for n, (_, data) in enumerate(RECORDED["frames"]) if get_chunk_text(data)]
    before, after = RECORDED["frames"][: words[0]], RECORDED["frames"][words[-1] + 1 :]
    (word,) = [data for _, data in RECORDED["frames"] if get_chunk_text(data) == RECORDED_WORD]
    pieces: list[list[str]] = [[] for _ in range(order.tokens)]
    pieces[0] += [format_sse(name, fill_recording(data, order)) for name, data in before]
    template = json.dumps(word, separators=(",", ":"))
    for number, piece in enumerate(pieces):
        piece.append(
            format_sse("events", template.replace(json.dumps(RECORDED_WORD), json.dumps(format_token(number))))
        )
    pieces[-1] += [format_sse(name, fill_recording(data, order)) for name, data in after]
    return [format_chunk("".join(piece).encode()) for piece in pieces]


def get_chunk_text(data: Any) -> str:
    chunk = (data.get("data") or {}).get("chunk") if data.get("event") == "on_chat_model_stream" else None
    return chunk["content"] if chunk else ""


def format_sse(name: str, data: str) -> str:
    return f"event: {name}\r\ndata: {data}\r\nid: 1794700861644-0\r\n\r\n"


def format_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


threads: dict[str, StreamOrder | None] = {}


class LangGraphProtocol(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._next: asyncio.Handle | None = None

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
        method, path = head.decode("latin-1").split(" ")[:2]
        self._answer(method, path.partition("?")[0], body)

    def _answer(self, method: str, path: str, body: bytes) -> None:
        found = THREAD_PATH.fullmatch(path)
        if found and found[2] == "/runs/stream":
            order = find_order(body)
            assert order is not None, body[:500]
            threads[found[1]] = order
            self._transport.write(HEAD.format(f"/threads/{found[1]}/runs/{RUN_ID}").encode())
            self._tick(make_frames(order), 0, self._loop.time(), order.rate)
        else:
            status, value = self._make_json_response(method, path, found, body)
            self._transport.write(JSON_HEAD.format(status, len(value.encode())).encode() + value.encode())

    def _make_json_response(self, method: str, path: str, found: re.Match[str] | None, body: bytes) -> tuple[int, str]:
        if path == "/assistants/search":
            return 200, json.dumps([RECORDED["assistant"]])
        if path == "/threads":
            made = (json.loads(body) if body else {}).get("thread_id") or str(uuid.uuid4())
            threads.setdefault(made, None)
            return 200, json.dumps({**RECORDED["thread"], "thread_id": made})
        if found and found[1] in threads:
            return 200, self._make_thread_response(found[1], found[2])
        for name in ("schemas", "graph"):
            if path.endswith(f"/{name}"):
                return 200, json.dumps(RECORDED[name])
        return (200, "null") if method == "POST" else (404, '{"detail":"Not Found"}')

    def _make_thread_response(self, thread: str, part: str | None) -> str:
        order = threads[thread]
        if part is None:
            return json.dumps({**RECORDED["thread"], "thread_id": thread})
        if order is None:
            return "[]" if part == "/history" else json.dumps({**RECORDED["state"], "values": {}})
        state = fill_recording(RECORDED["state"], order)
        return f"[{state}]" if part == "/history" else state

    def _tick(self, all_: list[bytes], number: int, begun: float, rate: int) -> None:
        self._next = None
        if number == len(all_):
            self._transport.write(b"0\r\n\r\n")
        elif rate:
            self._transport.write(all_[number])
            # From the beginning, not from now: a late tick does not slow the stream down.
            due = begun + (number + 1) / rate
            self._next = self._loop.call_at(due, self._tick, all_, number + 1, begun, rate)
        else:
            self._transport.write(all_[number])
            self._next = self._loop.call_soon(self._tick, all_, number + 1, begun, rate)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._next is not None:
            self._next.cancel()


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(LangGraphProtocol, "127.0.0.1", 0, backlog=1024)
    await announce(server)


if __name__ == "__main__":
    uvloop.run(main())
