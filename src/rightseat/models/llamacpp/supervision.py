"""llama-servers as models use them: a supervised child process, one shared by several models, a foreign server."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rightseat.config.secret import Secret
from rightseat.errors import Incomplete, LocalModelDied, LocalModelNotStarted, UpstreamRefused
from rightseat.http.retry import compute_backoff
from rightseat.models.llamacpp.brokered import BrokeredServer, find_engines_socket
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import ChatEvent, ChunkT, CompletionChunk, LlamaServerClient
from rightseat.models.llamacpp.process import EngineAddress, ServerProcess, SupervisionPolicy
from rightseat.types.streams import closing

log = logging.getLogger(__name__)


class ManagedServer:
    """A llama-server child process. After `start` a supervisor task restarts it until it dies too often."""

    def __init__(self, launch: LaunchOptions, policy: SupervisionPolicy | None = None) -> None:
        self.launch = launch
        self._policy = policy or SupervisionPolicy()
        self._child: ServerProcess | None = None
        self._changed = asyncio.Condition()
        self._supervisor: asyncio.Task[None] | None = None
        self._given_up = False

    @property
    def ready(self) -> bool:
        return self._running_child() is not None

    @property
    def pid(self) -> int | None:
        child = self._running_child()
        return None if child is None else child.process.pid

    async def start(self) -> None:
        """Start the child; raises LocalModelNotStarted if the model cannot be loaded."""
        self._child = await ServerProcess.spawn(self.launch, self._policy)
        self._supervisor = asyncio.create_task(self._supervise())

    async def close(self) -> None:
        self._given_up = True
        if self._supervisor is not None:
            self._supervisor.cancel()
            with suppress(asyncio.CancelledError):
                await self._supervisor
        child, self._child = self._child, None
        if child is not None:
            await child.stop()
        await self._notify_waiters()

    async def client(self) -> LlamaServerClient:
        """Return the client of the running child; waits during a restart."""
        return (await self._wait_for_child()).client

    async def find_address(self, *, lost: bool) -> EngineAddress:
        """Return the address of the running child; waits during a restart. `lost`: a connection to it broke."""
        child = self._running_child()
        if lost and child is not None:
            await child.has_exited()
        return (await self._wait_for_child()).address

    def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        return self._stream(lambda client: client.stream_completion(request))

    def stream_chat(self, request: dict[str, Any]) -> AsyncIterator[ChatEvent]:
        return self._stream(lambda client: client.stream_chat(request))

    async def _stream(self, send: Callable[[LlamaServerClient], AsyncIterator[ChunkT]]) -> AsyncIterator[ChunkT]:
        """Stream an answer; raises LocalModelDied within a second if the process dies."""
        while True:
            child = await self._wait_for_child()
            try:
                async with closing(send(child.client)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except UpstreamRefused:
                # The child died before it saw the request, so the next child can take it.
                if not await child.has_exited():
                    raise
            except Incomplete:
                # No retry: the request itself may crash the process.
                if await child.has_exited():
                    words = "The local model's process died while it answered: try again."
                    raise LocalModelDied(words, retry_after=1) from None
                raise

    def _running_child(self) -> ServerProcess | None:
        child = self._child
        return child if child is not None and child.process.returncode is None else None

    async def _wait_for_child(self) -> ServerProcess:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._policy.start_timeout), self._changed:
                await self._changed.wait_for(lambda: self.ready or self._given_up)
        child = self._running_child()
        if child is None:
            raise LocalModelDied(
                "The local model's process died too often and is not started again: "
                "see the log, then restart the server."
                if self._given_up
                else "The local model's process died and takes too long to start again."
            )
        return child

    async def _notify_waiters(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _supervise(self) -> None:
        """Supervisor task: restarts the child after each death. `close` stops the last child."""
        deaths: deque[float] = deque(maxlen=self._policy.max_deaths)
        now = asyncio.get_running_loop().time
        while True:
            if self._child is not None:
                await self._child.wait_until_dead(self._policy)
                child, self._child = self._child, None
                await child.stop()
            deaths.append(now())
            if len(deaths) == self._policy.max_deaths and now() - deaths[0] < self._policy.death_window:
                break
            log.warning("the local model's process died; it is started again")
            await asyncio.sleep(compute_backoff(len(deaths), self._policy.backoff, self._policy.death_window))
            try:
                # Assigned without an await in between, so that a concurrent `close` always finds the child.
                self._child = await ServerProcess.spawn(self.launch, self._policy)
            except LocalModelNotStarted as error:
                log.warning("%s", error)
            await self._notify_waiters()
        self._given_up = True
        log.error("the local model's process died %d times; it is not started again", len(deaths))
        await self._notify_waiters()


class AttachedServer:
    """A llama-server run by somebody else: health-checked periodically, never started or stopped."""

    launch = None

    def __init__(self, url: str, key: Secret | None = None, policy: SupervisionPolicy | None = None) -> None:
        self._policy = policy or SupervisionPolicy()
        self._client = LlamaServerClient(url, key, timeouts=self._policy.timeouts)
        self._health_task: asyncio.Task[None] | None = None
        self.ready = False

    async def start(self) -> None:
        """Begin health checks; an unreachable server is no error, since it may come up later."""
        if self._health_task is None:
            self.ready = await self._client.is_healthy(self._policy.health_timeout)
            self._health_task = asyncio.create_task(self._poll_health())

    async def close(self) -> None:
        if self._health_task is not None:
            self._health_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._health_task
        self.ready = False
        await self._client.close()

    async def client(self) -> LlamaServerClient:
        return self._client

    def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        return self._client.stream_completion(request)

    def stream_chat(self, request: dict[str, Any]) -> AsyncIterator[ChatEvent]:
        return self._client.stream_chat(request)

    async def _poll_health(self) -> None:
        while True:
            await asyncio.sleep(self._policy.poll_interval)
            self.ready = await self._client.is_healthy(self._policy.health_timeout)


# The key includes the event loop, because a server's locks belong to one loop.
SharedServerKey = tuple[asyncio.AbstractEventLoop, LaunchOptions, SupervisionPolicy, tuple[int, ...]]


@dataclass(slots=True)
class SharedServerEntry:
    """A server with its user count."""

    key: SharedServerKey
    server: ManagedServer | BrokeredServer
    users: int = 0
    started: bool = False
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


_shared_servers: dict[SharedServerKey, SharedServerEntry] = {}


class SharedServer:
    """A reference-counted server, one per LaunchOptions: `start` joins or starts it, the last `close`
    stops it."""

    def __init__(self, launch: LaunchOptions, policy: SupervisionPolicy | None = None) -> None:
        self.launch = launch
        self._policy = policy or SupervisionPolicy()
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
        entry = _shared_servers.setdefault(key, SharedServerEntry(key, _make_server(self.launch, self._policy)))
        entry.users += 1
        try:
            async with entry.starting:
                if not entry.started:
                    await entry.server.start()
                    entry.started = True
        except BaseException:
            await _release(entry)
            raise
        self._entry = entry

    async def close(self) -> None:
        entry, self._entry = self._entry, None
        if entry is not None:
            await _release(entry)

    async def client(self) -> LlamaServerClient:
        return await self._get_server().client()

    def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        return self._get_server().stream_completion(request)

    def stream_chat(self, request: dict[str, Any]) -> AsyncIterator[ChatEvent]:
        return self._get_server().stream_chat(request)

    async def find_address(self, *, lost: bool) -> EngineAddress:
        """Return the address of an engine that this process has started."""
        server = self._get_server()
        assert isinstance(server, ManagedServer)
        return await server.find_address(lost=lost)

    def _get_server(self) -> ManagedServer | BrokeredServer:
        if self._entry is None:
            raise LocalModelNotStarted("The local model is not started, or was closed.")
        return self._entry.server


def _make_server(launch: LaunchOptions, policy: SupervisionPolicy) -> ManagedServer | BrokeredServer:
    """Make a server of this process, or, in one of several workers, that of the supervisor."""
    path = find_engines_socket()
    return ManagedServer(launch, policy) if path is None else BrokeredServer(launch, policy, path)


async def _release(entry: SharedServerEntry) -> None:
    entry.users -= 1
    if entry.users == 0:
        # Removed from the table first, so that a concurrent start gets a new server.
        if _shared_servers.get(entry.key) is entry:
            del _shared_servers[entry.key]
        await entry.server.close()


def _file_version(launch: LaunchOptions) -> tuple[int, ...]:
    """Return mtime and size of the weights and of the chat template: a replaced file is another model."""
    version: list[int] = []
    for path in filter(None, (launch.model, launch.chat_template)):
        try:
            status = path.stat()
        except OSError as error:
            raise LocalModelNotStarted(f"The model {path} cannot be read: {error.strerror}.") from error
        version += [status.st_mtime_ns, status.st_size]
    return tuple(version)
