"""SharedServer: one child process per LaunchOptions, however many models use it.

A reload starts the new Runtime before it closes the old one: both share the child for a while, and unchanged
weights are not loaded again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from rightseat.models.llamacpp.client import LlamaServerClient
from rightseat.models.llamacpp.engine import ManagedServer
from rightseat.models.llamacpp.process import LaunchOptions, LocalModelNotStarted, SupervisionPolicy
from rightseat.models.llamacpp.wire import CompletionChunk

# The key includes the event loop, because a server's locks belong to one loop.
SharedServerKey = tuple[asyncio.AbstractEventLoop, LaunchOptions, SupervisionPolicy, tuple[int, int]]


@dataclass(slots=True)
class SharedServerEntry:
    """A ManagedServer with its user count."""

    server: ManagedServer
    users: int = 0
    started: bool = False
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


_shared_servers: dict[SharedServerKey, SharedServerEntry] = {}


class SharedServer:
    """A reference-counted ManagedServer: `start` joins or starts it, the last `close` stops it."""

    def __init__(self, launch: LaunchOptions, policy: SupervisionPolicy | None = None) -> None:
        self.launch = launch
        self._policy = policy or SupervisionPolicy()
        self._key: SharedServerKey | None = None
        self._entry: SharedServerEntry | None = None

    @property
    def ready(self) -> bool:
        return self._entry is not None and self._entry.server.ready

    @property
    def pid(self) -> int | None:
        return None if self._entry is None else self._entry.server.pid

    async def start(self) -> None:
        """Join or start the server; idempotent. Raises LocalModelNotStarted if the model cannot be loaded."""
        if self._entry is not None:
            return
        key = (asyncio.get_running_loop(), self.launch, self._policy, _file_version(self.launch))
        entry = _shared_servers.setdefault(key, SharedServerEntry(ManagedServer(self.launch, self._policy)))
        entry.users += 1
        try:
            async with entry.starting:
                if not entry.started:
                    await entry.server.start()
                    entry.started = True
        except BaseException:
            await _release(key, entry)
            raise
        self._key, self._entry = key, entry

    async def close(self) -> None:
        key, entry = self._key, self._entry
        self._key = self._entry = None
        if key is not None and entry is not None:
            await _release(key, entry)

    async def client(self) -> LlamaServerClient:
        return await self._get_server().client()

    def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        return self._get_server().stream_completion(request)

    def _get_server(self) -> ManagedServer:
        if self._entry is None:
            raise LocalModelNotStarted("The local model is not started, or was closed.")
        return self._entry.server


async def _release(key: SharedServerKey, entry: SharedServerEntry) -> None:
    entry.users -= 1
    if entry.users == 0:
        # Removed from the table first, so that a concurrent start gets a new server.
        if _shared_servers.get(key) is entry:
            del _shared_servers[key]
        await entry.server.close()


def _file_version(launch: LaunchOptions) -> tuple[int, int]:
    """Return mtime and size of the weights: a replaced file is another model."""
    try:
        status = launch.model.stat()
    except OSError as error:
        raise LocalModelNotStarted(f"The model {launch.model} cannot be read: {error.strerror}.") from error
    return status.st_mtime_ns, status.st_size
