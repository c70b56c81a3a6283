"""`Platform`: a LangGraph server without LangGraph, for faults and for speed; the real one is a peer."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream
from tests.unit.agents.langgraph.scripted_graph import ROOT_RUN_ID, GraphRun, GraphStreamEvent, Json, Thread

ASSISTANT_ID = "11111111-1111-5111-8111-111111111111"
STATE_KEYS: Json = {key: {} for key in ("messages", "notes", "document", "approved", "tools", "copilotkit")}
FrameFault = Callable[[Connection, list[bytes]], Awaitable[None]]


class FakeLangGraphServer:
    """`fault` answers a run instead of its frames; `rejoined` are the ids that a stream was joined after."""

    def __init__(self, graph_names: tuple[str, ...] = ("desk",)) -> None:
        self.upstream = FakeUpstream()
        self.graph_names = graph_names
        self.threads: dict[str, Thread] = {}
        self.request_bodies: list[Json] = []
        self.last_event_ids: list[str] = []
        self.cancelled_runs: list[str] = []
        self.fault: FrameFault | None = None
        self.reply_override: UpstreamReply | None = None
        """Answers every request."""
        self.frames: list[bytes] = []

    async def __aenter__(self) -> Self:
        await self.upstream.__aenter__()
        self.upstream.reply = self.handle_request
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.upstream.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        return self.upstream.origin

    @property
    def requests(self) -> list[ReceivedRequest]:
        return self.upstream.requests

    async def handle_request(self, connection: Connection, request: ReceivedRequest) -> None:
        if self.reply_override is not None:
            await self.reply_override(connection, request)
            return
        path = request.target.partition("?")[0]
        body: Any = request.json if request.body else {}
        if path.endswith("/runs/stream"):
            await self.stream_run(connection, path.split("/")[2], body)
        elif path.endswith("/stream"):
            await self.rejoin_stream(connection, request)
        else:
            status, value = self.make_json_response(request.method, path, body)
            await write_json(connection, status, value)

    def make_json_response(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/assistants/search":
            about = {"description": "Does what it is told."}
            return 200, [
                {"assistant_id": ASSISTANT_ID, "graph_id": name, "name": name, **about} for name in self.graph_names
            ]
        if path == f"/assistants/{ASSISTANT_ID}/schemas":
            schema = {"properties": STATE_KEYS}
            settings: Json = {"properties": {"tone": {}}}
            return 200, {"input_schema": schema, "output_schema": schema, "config_schema": settings}
        if path == "/threads":
            self.threads.setdefault(body["thread_id"], Thread(metadata=body["metadata"]))
            return 200, {"thread_id": body["thread_id"]}
        if found := re.fullmatch(r"/threads/[0-9a-f-]{36}/runs/([0-9a-f-]{36})/cancel", path):
            self.cancelled_runs.append(found[1])
            return 202, None
        if (found := re.fullmatch(r"/threads/([0-9a-f-]{36})(/state)?", path)) and found[1] in self.threads:
            return 200, self.make_thread_response(method, self.threads[found[1]], found[2], body)
        return 404, {"detail": "Not Found"}

    def make_thread_response(self, method: str, thread: Thread, state: str | None, body: Any) -> Any:
        if method == "POST":
            thread.apply_update(body["values"])
            return {}
        return thread.state if state else {"metadata": thread.metadata}

    async def stream_run(self, connection: Connection, thread: str, body: Json) -> None:
        self.request_bodies.append(body)
        events = GraphRun(self.threads.setdefault(thread, Thread())).stream_events(body)
        self.frames = [format_frame(number, one) for number, one in enumerate(events, 1)]
        fault, self.fault = self.fault, None
        await connection.write_head(200, {**SSE_HEADERS, "Content-Location": f"/threads/{thread}/runs/{ROOT_RUN_ID}"})
        if fault is not None:
            await fault(connection, self.frames)
        else:
            await self.write_frames(connection, self.frames)

    async def rejoin_stream(self, connection: Connection, request: ReceivedRequest) -> None:
        last = request.headers["last-event-id"]
        self.last_event_ids.append(last)
        await connection.write_head(200, SSE_HEADERS)
        place = 0 if last == "-1" else int(last.partition("-")[2])
        # As the real one does now and then, it says some of them twice.
        kept, live = self.frames[place : place + 3], self.frames[max(place - 1, 0) :]
        await self.write_frames(connection, [*kept, *live])

    async def write_frames(self, connection: Connection, frames: list[bytes]) -> None:
        for frame in frames:
            await connection.write_chunk(frame)
        await connection.write_chunk(b"")


def format_frame(number: int, event: GraphStreamEvent) -> bytes:
    name, data = event
    return f"event: {name}\r\ndata: {json.dumps(data)}\r\nid: 17-{number}\r\n\r\n".encode()


def cut_after(after: int) -> FrameFault:
    """The connection goes in the middle of a frame."""

    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.write_chunk(frame)
        await connection.write_chunk(frames[after][:20])
        await connection.fin()

    return fault


def stall_after(after: int) -> FrameFault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.write_chunk(frame)
        await asyncio.Event().wait()

    return fault


def garble_after(after: int) -> FrameFault:
    async def fault(connection: Connection, frames: list[bytes]) -> None:
        for frame in frames[:after]:
            await connection.write_chunk(frame)
        await connection.write_chunk(b"event: events\ndata: {not json\n\n")
        await connection.write_chunk(b"")

    return fault
