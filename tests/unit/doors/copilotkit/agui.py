"""What the tests of CopilotKit's AG-UI half say and hear."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.client import Client, Frame, Head
from tests.kit.client import request as raw
from tests.kit.house import House

EMPTY: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
THREAD = "/copilotkit/threads"


def given(*texts: str, thread: str = "t", run: str = "r", **more: Any) -> dict[str, Any]:
    messages = [{"id": f"u-{text}", "role": "user", "content": text} for text in texts]
    return {"threadId": thread, "runId": run, "messages": messages, **EMPTY, **more}


def enveloped(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"method": f"agent/{name}", "params": {"agentId": "default"}, "body": body}


async def asked(
    server: House, target: str, body: object = None, *, method: str = "POST", headers: dict[str, str] | None = None
) -> tuple[Head, Any]:
    """A whole JSON answer."""
    async with Client(server.url) as client:
        if body is None:
            await client.send(raw(method, target, headers=headers))
        else:
            kind = {"Content-Type": "application/json", **(headers or {})}
            await client.send(raw(method, target, json.dumps(body).encode(), kind))
        head = await client.head()
        return head, await client.json()


async def played(
    server: House, name: str, body: dict[str, Any], *, single: bool = False, seen: str | None = None
) -> list[Frame]:
    """All frames of a stream."""
    headers = {} if seen is None else {"Last-Event-ID": seen}
    async with Client(server.url) as client:
        if single:
            await client.post("/copilotkit", enveloped(name, body), headers)
        else:
            await client.post(f"/copilotkit/agent/default/{name}", body, headers)
        head = await client.head()
        assert (head.status, head.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        return [frame async for frame in client.frames() if frame.data]


def kinds(frames: list[Frame]) -> list[str]:
    return [frame.json["type"] for frame in frames]


def text_of(frames: list[Frame]) -> str:
    return "".join(frame.json["delta"] for frame in frames if frame.json["type"] == "TEXT_MESSAGE_CONTENT")


class Gate:
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


async def peek(server: House) -> list[Frame]:
    """What of the thread is there now."""
    async with Client(server.url) as client:
        await client.post("/copilotkit/agent/default/connect", given())
        await client.head()
        found = []
        async for frame in client.frames():
            if frame.data:
                found.append(frame)
            if frame.data and frame.json["type"] == "TEXT_MESSAGE_CONTENT":
                return found
        return found


def joined(frames: list[Frame]) -> list[Any]:
    """As a client ends up with it: deltas of one thing are one."""
    told: list[Any] = []
    for event in (frame.json for frame in frames):
        head = {key: value for key, value in event.items() if key != "delta"}
        if "delta" in event and told and told[-1][0] == head:
            told[-1][1] += event["delta"]
        else:
            told.append([head, event.get("delta")])
    return told
