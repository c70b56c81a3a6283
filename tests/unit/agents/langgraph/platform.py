"""`Platform`: a LangGraph server without LangGraph, for faults and for speed; the real one is a peer."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from tests.kit.answers import SSE, Reply, write_json
from tests.kit.connection import Connection, Received
from tests.kit.upstream import Upstream
from tests.unit.agents.langgraph.script import ROOT, Json, Run, Said, Thread

ASSISTANT = "11111111-1111-5111-8111-111111111111"
KEYS: Json = {key: {} for key in ("messages", "notes", "document", "approved", "tools", "copilotkit")}
Fault = Callable[[Connection, list[bytes]], Awaitable[None]]


class Platform:
    """`fault` answers a run instead of its frames; `rejoined` are the ids that a stream was joined after."""

    def __init__(self, names: tuple[str, ...] = ("desk",)) -> None:
        self.upstream = Upstream()
        self.names = names
        self.threads: dict[str, Thread] = {}
        self.bodies: list[Json] = []
        self.rejoined: list[str] = []
        self.cancelled: list[str] = []
        self.fault: Fault | None = None
        self.instead: Reply | None = None
        """Answers every request."""
        self.frames: list[bytes] = []

    async def __aenter__(self) -> Self:
        await self.upstream.__aenter__()
        self.upstream.reply = self.answer
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.upstream.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        return self.upstream.origin

    @property
    def requests(self) -> list[Received]:
        return self.upstream.requests

    async def answer(self, connection: Connection, request: Received) -> None:
        if self.instead is not None:
            await self.instead(connection, request)
            return
        path = request.target.partition("?")[0]
        body: Any = request.json if request.raw else {}
        if path.endswith("/runs/stream"):
            await self.run(connection, path.split("/")[2], body)
        elif path.endswith("/stream"):
            await self.rejoin(connection, request)
        else:
            status, told = self.told(request.method, path, body)
            await write_json(connection, status, told)

    def told(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/assistants/search":
            about = {"description": "Does what it is told."}
            return 200, [{"assistant_id": ASSISTANT, "graph_id": name, "name": name, **about} for name in self.names]
        if path == f"/assistants/{ASSISTANT}/schemas":
            schema = {"properties": KEYS}
            settings: Json = {"properties": {"tone": {}}}
            return 200, {"input_schema": schema, "output_schema": schema, "config_schema": settings}
        if path == "/threads":
            self.threads.setdefault(body["thread_id"], Thread(metadata=body["metadata"]))
            return 200, {"thread_id": body["thread_id"]}
        if found := re.fullmatch(r"/threads/[0-9a-f-]{36}/runs/([0-9a-f-]{36})/cancel", path):
            self.cancelled.append(found[1])
            return 202, None
        if (found := re.fullmatch(r"/threads/([0-9a-f-]{36})(/state)?", path)) and found[1] in self.threads:
            return 200, self.thread(method, self.threads[found[1]], found[2], body)
        return 404, {"detail": "Not Found"}

    def thread(self, method: str, thread: Thread, state: str | None, body: Any) -> Any:
        if method == "POST":
            thread.take(body["values"])
            return {}
        return thread.state if state else {"metadata": thread.metadata}

    async def run(self, connection: Connection, thread: str, body: Json) -> None:
        self.bodies.append(body)
        said = Run(self.threads.setdefault(thread, Thread())).play(body)
        self.frames = [framed(number, one) for number, one in enumerate(said, 1)]
        fault, self.fault = self.fault, None
        await connection.head(200, {**SSE, "Content-Location": f"/threads/{thread}/runs/{ROOT}"})
        if fault is not None:
            await fault(connection, self.frames)
        else:
            await self.write(connection, self.frames)

    async def rejoin(self, connection: Connection, request: Received) -> None:
        last = request.headers["last-event-id"]
        self.rejoined.append(last)
        await connection.head(200, SSE)
        place = 0 if last == "-1" else int(last.partition("-")[2])
        # As the real one does now and then, it says some of them twice.
        kept, live = self.frames[place : place + 3], self.frames[max(place - 1, 0) :]
        await self.write(connection, [*kept, *live])

    async def write(self, connection: Connection, frames: list[bytes]) -> None:
        for frame in frames:
            await connection.chunk(frame)
        await connection.chunk(b"")


def framed(number: int, said: Said) -> bytes:
    name, data = said
    return f"event: {name}\r\ndata: {json.dumps(data)}\r\nid: 17-{number}\r\n\r\n".encode()


def cut(after: int) -> Fault:
    """The connection goes in the middle of a frame."""

    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.chunk(frame)
        await connection.chunk(frames[after][:20])
        await connection.fin()

    return fault


def stall(after: int) -> Fault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.chunk(frame)
        await asyncio.Event().wait()

    return fault


def garbled(after: int) -> Fault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.chunk(frame)
        await connection.chunk(b"event: events\ndata: {not json\n\n")
        await connection.chunk(b"")

    return fault
