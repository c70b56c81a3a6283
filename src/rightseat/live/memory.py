"""MemoryPlane and MemoryPresence: workers that are objects of one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager

from msgspec.structs import replace

from rightseat.types.live import POLL_SECONDS, ControlMessage, LivePlane, MessageHandler, PlaneOptions
from rightseat.types.turn import Owner


class EventWatch:
    """ThreadWatch that an event wakes."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    async def wait(self, seconds: float = POLL_SECONDS) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.event.wait()
        except TimeoutError:
            return False
        self.event.clear()
        return True


class WatchTable:
    """The watches of one worker by the thread that they wait for."""

    def __init__(self) -> None:
        self.watches: defaultdict[Hashable, set[EventWatch]] = defaultdict(set)

    @contextmanager
    def open_watch(self, key: Hashable) -> Iterator[EventWatch]:
        watch = EventWatch()
        self.watches[key].add(watch)
        try:
            yield watch
        finally:
            self.watches[key].discard(watch)
            if not self.watches[key]:
                del self.watches[key]

    def wake(self, key: Hashable) -> None:
        for watch in self.watches.get(key, ()):
            watch.event.set()


class MemoryHub:
    """The workers that are alive, by name."""

    def __init__(self) -> None:
        self.planes: dict[str, MemoryPlane] = {}


class MemoryPlane:
    def __init__(self, hub: MemoryHub, worker: str) -> None:
        self.hub = hub
        self.worker = worker
        self.watches = WatchTable()
        self.handlers: dict[str, MessageHandler] = {}
        hub.planes[worker] = self

    async def open(self) -> None:
        pass

    def notify(self, owner: Owner, thread: str) -> None:
        for plane in self.hub.planes.values():
            plane.watches.wake((owner.name, thread))

    def watch(self, owner: Owner, thread: str) -> AbstractContextManager[EventWatch]:
        return self.watches.open_watch((owner.name, thread))

    async def send(self, worker: str, message: ControlMessage) -> bool:
        plane = self.hub.planes.get(worker)
        if plane is None:
            return False
        handler = plane.handlers.get(message.kind)
        if handler is not None:
            asyncio.get_running_loop().call_soon(handler, replace(message, sender=self.worker))
        return True

    async def broadcast(self, message: ControlMessage) -> bool:
        for worker in self.hub.planes.keys() - {self.worker}:
            await self.send(worker, message)
        return True

    def handle(self, kind: str, handler: MessageHandler) -> None:
        self.handlers[kind] = handler

    async def close(self) -> None:
        self.hub.planes.pop(self.worker, None)


class MemoryPresence:
    def __init__(self, hub: MemoryHub, worker: str) -> None:
        self.hub = hub
        self.worker = worker

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return {worker for worker in workers if worker not in self.hub.planes}


def make_plane(options: PlaneOptions) -> LivePlane:
    """Make the plane of a process that is alone: it reaches nobody else."""
    return MemoryPlane(MemoryHub(), options.worker)
