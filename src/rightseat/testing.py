"""Helpers for tests of an application: a scripted model, and a client that needs no socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from rightseat.errors import Misused
from rightseat.http.sse import SseParser
from rightseat.server.app import asgi
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from rightseat.wiring.runtime import Runtime

ScriptedPart = str | tuple[str, Mapping[str, Any]] | Exception
"""Text, a tool call as (name, arguments), or an exception to raise."""


class ScriptedModel:
    """Model that answers each prompt with the next of its turns; `prompts` has all that it got.

    A turn is a part or a list of parts:
    `ScriptedModel(["Let me look.", ("find_order", {"number": "A7"})], "A7 is shipped.")`.
    """

    def __init__(self, *turns: ScriptedPart | list[ScriptedPart]) -> None:
        self.turns = [turn if isinstance(turn, list) else [turn] for turn in turns]
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.prompts.append(prompt)
        number = len(self.prompts)
        if number > len(self.turns):
            raise Misused(f"ScriptedModel was asked {number} times and has {len(self.turns)} turns. Add one.")
        calls = 0
        for part in self.turns[number - 1]:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, str):
                yield TextChunk(part)
                continue
            yield ToolCallStart(calls, part[0])
            yield ToolCallArgs(calls, msgspec.json.encode(part[1]).decode())
            calls += 1
        yield FinishChunk("calls" if calls else "stop")


class TestResponse(Struct, frozen=True):
    __test__ = False
    status: int
    headers: dict[str, str]
    """Headers by name in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class TestClient:
    """Client of an ASGI app, or of a Runtime's doors, in this process and event loop.

    `async with` sends the app its lifespan events.
    """

    __test__ = False

    def __init__(self, app: Any, *, host: str = "127.0.0.1", root_path: str = "") -> None:
        self.app: Any = asgi(app) if isinstance(app, Runtime) else app
        self.host = host
        self.root_path = root_path
        self._lifespan: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._lifespan = asyncio.ensure_future(self.app(scope, self._inbox.get, self._outbox.put))
        await self._send_lifespan("startup")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._send_lifespan("shutdown")

    async def _send_lifespan(self, name: str) -> None:
        assert self._lifespan is not None
        await self._inbox.put({"type": f"lifespan.{name}"})
        reply = asyncio.ensure_future(self._outbox.get())
        await asyncio.wait({reply, self._lifespan}, return_when=asyncio.FIRST_COMPLETED)
        if not reply.done():
            reply.cancel()
            self._lifespan.result()
        elif reply.result()["type"] != f"lifespan.{name}.complete":
            raise Misused(f"The app's {name} failed: {reply.result().get('message', '')}")

    async def get(self, path: str, headers: Mapping[str, str] = {}) -> TestResponse:
        return await self._request("GET", path, b"", headers)

    async def post_json(self, path: str, body: Any, headers: Mapping[str, str] = {}) -> TestResponse:
        """Send a JSON body and return the whole response."""
        return await self._request("POST", path, msgspec.json.encode(body), headers)

    async def stream(self, path: str, body: Any, headers: Mapping[str, str] = {}) -> AsyncIterator[Any]:
        """Send a JSON body and yield the data of each server-sent event, decoded; closing the iterator disconnects.

        Raise Misused where the response is no event stream.
        """
        parser = SseParser(limit=1 << 30)
        async with closing(self._exchange("POST", path, msgspec.json.encode(body), headers)) as messages:
            async for message in messages:
                if message["type"] == "http.response.start":
                    kind = dict(message["headers"]).get(b"content-type", b"").decode()
                    if message["status"] != 200 or not kind.startswith("text/event-stream"):
                        raise Misused(f"{path} answered {message['status']} with {kind or 'nothing'}, not a stream.")
                    continue
                for data in parser.feed(message.get("body", b"")):
                    if data != b"[DONE]":
                        yield msgspec.json.decode(data)

    async def _request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> TestResponse:
        async with closing(self._exchange(method, path, body, headers)) as messages:
            start, *rest = [message async for message in messages]
        names = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return TestResponse(start["status"], names, b"".join(message.get("body", b"") for message in rest))

    async def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the ASGI messages of one response; the app sees a disconnect when the iterator is closed."""
        requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        responses: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        requests.put_nowait({"type": "http.request", "body": body, "more_body": False})
        scope = self._make_scope(method, path, body, headers)
        task = asyncio.ensure_future(self.app(scope, requests.get, responses.put))
        task.add_done_callback(lambda done: responses.put_nowait(None))
        try:
            while (message := await responses.get()) is not None:
                yield message
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    break
        finally:
            requests.put_nowait({"type": "http.disconnect"})
            await task

    def _make_scope(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        fields = {"host": self.host, "content-length": str(len(body)), "content-type": "application/json", **headers}
        route, _, query = path.partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": self.root_path + unquote(route),
            "raw_path": (self.root_path + route).encode(),
            "root_path": self.root_path,
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in fields.items()],
            "client": ("127.0.0.1", 1),
            "server": (self.host, 80),
        }
