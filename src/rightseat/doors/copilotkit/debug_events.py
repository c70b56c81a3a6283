"""The feed of CopilotKit's inspector: all AG-UI events of the runs that are started here, for the runs' own owner.

Served only where `[server] debug_events` is set: it has whole conversations.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from rightseat.errors import NotFound
from rightseat.http.endpoint import SSE_HEADERS, Host, Request, ThreadService
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.streams import closing
from rightseat.types.turn import Owner, Turn

encode = msgspec.json.Encoder().encode
CONNECTED = b": connected\n\n"
# A reader that is further behind loses the oldest events.
MAX_WAITING = 1000
MAX_WAIT = 0.5
NOT_OPEN = "The feed of debug events is not open here. Set `debug_events = true` in [server] to open it."


class DebugFeed:
    """The readers of one server's feed."""

    def __init__(self) -> None:
        self.readers: dict[asyncio.Queue[bytes], Owner] = {}

    def send(self, turn: Turn, event: msgspec.Raw) -> None:
        """Send an event of a run to the readers that have its owner."""
        envelope: dict[str, Any] = {"timestamp": int(time.time() * 1000), "agentId": turn.assistant}
        envelope |= {"threadId": turn.thread, "runId": turn.run, "event": event}
        frame = format_event(encode(envelope))
        for queue, owner in self.readers.items():
            if owner == turn.owner:
                if queue.full():
                    queue.get_nowait()
                queue.put_nowait(frame)


FEEDS: WeakKeyDictionary[Any, DebugFeed] = WeakKeyDictionary()
"""Feeds by the thread service, which a reload of the configuration keeps."""


def get_feed(host: Host) -> DebugFeed:
    return FEEDS.setdefault(host.threads, DebugFeed())


def stream_debug_events(request: Request, host: Host) -> Reply:
    if not request.debug_events:
        raise NotFound(NOT_OPEN)
    return stream_feed(get_feed(host), request.owner, host.threads)


async def stream_feed(feed: DebugFeed, owner: Owner, threads: ThreadService) -> Reply:
    queue: asyncio.Queue[bytes] = asyncio.Queue(MAX_WAITING)
    feed.readers[queue] = owner
    try:
        yield ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT)
        yield CONNECTED
        # It has no end of its own: a server that ends does not wait for it.
        while not threads.is_leaving:
            if frame := await get_frame(queue):
                yield frame
    finally:
        del feed.readers[queue]


async def get_frame(queue: asyncio.Queue[bytes]) -> bytes:
    """Return the next frame, or nothing after a moment."""
    try:
        async with asyncio.timeout(MAX_WAIT):
            return await queue.get()
    except TimeoutError:
        return b""


async def report_run(reply: Reply, turn: Turn, host: Host) -> Reply:
    """Pass on the reply of a run and send its events to the feed."""
    feed = get_feed(host)
    async with closing(reply) as parts:
        async for part in parts:
            if isinstance(part, ResponseStart) and part.direct_writer is not None:
                # What is written directly does not come by here.
                yield replace(part, direct_writer=None)
                continue
            if isinstance(part, bytes) and feed.readers:
                for event in list_events(part):
                    feed.send(turn, event)
            yield part


def list_events(data: bytes) -> Iterator[msgspec.Raw]:
    """Yield the events of whole SSE frames."""
    for line in data.split(b"\n"):
        if line.startswith(b"data:"):
            yield msgspec.Raw(line.removeprefix(b"data:").strip())
