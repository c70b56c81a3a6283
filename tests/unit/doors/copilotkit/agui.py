"""What the tests of CopilotKit's AG-UI half say and hear."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.app_server import AppServer
from tests.kit.client import RawHttpClient, ResponseHead, SseFrame
from tests.kit.client import build_raw_request as raw

EMPTY_RUN_FIELDS: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
THREADS_PATH = "/copilotkit/threads"


def make_run_input(*texts: str, thread: str = "t", run: str = "r", **more: Any) -> dict[str, Any]:
    messages = [{"id": f"u-{text}", "role": "user", "content": text} for text in texts]
    return {"threadId": thread, "runId": run, "messages": messages, **EMPTY_RUN_FIELDS, **more}


def make_envelope(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"method": f"agent/{name}", "params": {"agentId": "default"}, "body": body}


async def request_json(
    server: AppServer, target: str, body: object = None, *, method: str = "POST", headers: dict[str, str] | None = None
) -> tuple[ResponseHead, Any]:
    """A whole JSON answer."""
    async with RawHttpClient(server.url) as client:
        if body is None:
            await client.send(raw(method, target, headers=headers))
        else:
            kind = {"Content-Type": "application/json", **(headers or {})}
            await client.send(raw(method, target, json.dumps(body).encode(), kind))
        head = await client.read_head()
        return head, await client.read_json()


async def collect_frames(
    server: AppServer,
    name: str,
    body: dict[str, Any],
    *,
    single_endpoint: bool = False,
    last_event_id: str | None = None,
) -> list[SseFrame]:
    """All frames of a stream."""
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    async with RawHttpClient(server.url) as client:
        if single_endpoint:
            await client.post_json("/copilotkit", make_envelope(name, body), headers)
        else:
            await client.post_json(f"/copilotkit/agent/default/{name}", body, headers)
        head = await client.read_head()
        assert (head.status, head.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        return [frame async for frame in client.iterate_frames() if frame.data]


def list_event_types(frames: list[SseFrame]) -> list[str]:
    return [frame.json["type"] for frame in frames]


def join_text(frames: list[SseFrame]) -> str:
    return "".join(frame.json["delta"] for frame in frames if frame.json["type"] == "TEXT_MESSAGE_CONTENT")


class GatedModel:
    """A model that says what it is given, and waits."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        try:
            while (word := await self.words.get()) is not None:
                yield TextChunk(word)
            yield FinishChunk("stop")
        finally:
            self.closed.set()


async def read_until_text(server: AppServer) -> list[SseFrame]:
    """What of the thread is there now."""
    async with RawHttpClient(server.url) as client:
        await client.post_json("/copilotkit/agent/default/connect", make_run_input())
        await client.read_head()
        frames = []
        async for frame in client.iterate_frames():
            if frame.data:
                frames.append(frame)
            if frame.data and frame.json["type"] == "TEXT_MESSAGE_CONTENT":
                return frames
        return frames


def merge_deltas(frames: list[SseFrame]) -> list[Any]:
    """As a client ends up with it: deltas of one thing are one."""
    merged: list[Any] = []
    for event in (frame.json for frame in frames):
        head = {key: value for key, value in event.items() if key != "delta"}
        if "delta" in event and merged and merged[-1][0] == head:
            merged[-1][1] += event["delta"]
        else:
            merged.append([head, event.get("delta")])
    return merged
