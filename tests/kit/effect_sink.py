"""KeyedSink: an HTTP API that counts what reaches it by path and by Idempotency-Key, and may let callers wait."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.kit.app_server import serve_app
from tests.kit.waiting import wait_until


@dataclass
class KeyedSink:
    """Requests to the path `waiting` are counted and answered when `released` is set."""

    url: str = ""
    waiting: str = ""
    requests: Counter[str] = field(default_factory=Counter)
    keys: dict[str, Counter[str]] = field(default_factory=dict)
    """How often each key came, by path."""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        self.requests[path] += 1
        key = dict(scope["headers"]).get(b"idempotency-key", b"").decode()
        self.keys.setdefault(path, Counter())[key] += 1
        if path == self.waiting and not self.released.is_set():
            await self.wait_released(receive)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b'{"ok": true}'})

    async def wait_released(self, receive: Any) -> None:
        """Wait until callers are let go, or this one has left."""
        left = asyncio.create_task(self.wait_left(receive))
        released = asyncio.create_task(self.released.wait())
        await asyncio.wait([left, released], return_when=asyncio.FIRST_COMPLETED)
        for task in (left, released):
            task.cancel()

    async def wait_left(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def wait_requests(self, path: str, count: int = 1) -> None:
        await wait_until(lambda: self.requests[path] >= count)


@asynccontextmanager
async def serve_sink(waiting: str = "") -> AsyncIterator[KeyedSink]:
    sink = KeyedSink(waiting=waiting)
    async with serve_app(sink) as url:
        sink.url = url
        yield sink
        sink.released.set()
