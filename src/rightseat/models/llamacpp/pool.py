"""SharedServer: one child process per LaunchOptions, however many models use it.

A reload starts the new Runtime before it closes the old one: both share the child for a while, and unchanged
weights are not loaded again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.engine import Engine
from rightseat.models.llamacpp.process import Launch, NotStarted, Rules
from rightseat.models.llamacpp.wire import Piece

# The key includes the event loop, because a server's locks belong to one loop.
Key = tuple[asyncio.AbstractEventLoop, Launch, Rules, tuple[int, int]]


@dataclass(slots=True)
class Place:
    """A ManagedServer with its user count."""

    engine: Engine
    users: int = 0
    started: bool = False
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


_places: dict[Key, Place] = {}


class Shared:
    """A reference-counted ManagedServer: `start` joins or starts it, the last `close` stops it."""

    def __init__(self, launch: Launch, rules: Rules | None = None) -> None:
        self.launch = launch
        self._rules = rules or Rules()
        self._key: Key | None = None
        self._place: Place | None = None

    @property
    def ready(self) -> bool:
        return self._place is not None and self._place.engine.ready

    @property
    def pid(self) -> int | None:
        return None if self._place is None else self._place.engine.pid

    async def start(self) -> None:
        """Join or start the server; idempotent. Raises LocalModelNotStarted if the model cannot be loaded."""
        if self._place is not None:
            return
        key = (asyncio.get_running_loop(), self.launch, self._rules, _stamp(self.launch))
        place = _places.setdefault(key, Place(Engine(self.launch, self._rules)))
        place.users += 1
        try:
            async with place.starting:
                if not place.started:
                    await place.engine.start()
                    place.started = True
        except BaseException:
            await _leave(key, place)
            raise
        self._key, self._place = key, place

    async def close(self) -> None:
        key, place = self._key, self._place
        self._key = self._place = None
        if key is not None and place is not None:
            await _leave(key, place)

    async def client(self) -> Client:
        return await self._held().client()

    def completion(self, request: dict[str, Any]) -> AsyncIterator[Piece]:
        return self._held().completion(request)

    def _held(self) -> Engine:
        if self._place is None:
            raise NotStarted("The local model is not started, or was closed.")
        return self._place.engine


async def _leave(key: Key, place: Place) -> None:
    place.users -= 1
    if place.users == 0:
        # Removed from the table first, so that a concurrent start gets a new server.
        if _places.get(key) is place:
            del _places[key]
        await place.engine.close()


def _stamp(launch: Launch) -> tuple[int, int]:
    """Return mtime and size of the weights: a replaced file is another model."""
    try:
        found = launch.model.stat()
    except OSError as error:
        raise NotStarted(f"The model {launch.model} cannot be read: {error.strerror}.") from error
    return found.st_mtime_ns, found.st_size
