"""uvicorn in this process, with our own start, reload and shutdown.

SIGTERM, SIGINT   /ready fails at once, running answers get `grace` seconds, then fail as `restarting`; exit 0.
                  Among other processes: answers what still comes, and hands runs over that others can go on with
second Ctrl-C     exits at once
SIGHUP, a change  a new Runtime for new requests; the old one is closed after its last answer
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable, Generator
from types import FrameType

import uvicorn

from rightseat.config.settings import ServerSettings
from rightseat.config.stamps import FileStamps, read_stamps
from rightseat.errors import ConfigError
from rightseat.http.descriptors import choose_reserve_size, get_descriptor_limit
from rightseat.server.acceptor import Acceptor
from rightseat.server.service import BACKLOG, Service
from rightseat.server.terminal_progress import show_start
from rightseat.server.uvicorn_protocol import LimitedHttpProtocol, make_protocol

log = logging.getLogger("rightseat.server")

# Interval at which files and retired runtimes are checked; uvicorn itself would tick every 0.1 s.
POLL_SECONDS = 0.5
# Time after `grace` for responses still being written.
SHUTDOWN_SECONDS = 1
# Part of the grace in which a process that has its port alone listens on.
LISTEN_PART = 0.2
# Part of the grace in which runs are handed over to other processes, each at the end of its step.
HAND_OVER_PART = 0.2
# Time in which the last connections that were taken send their request.
LAST_REQUEST_SECONDS = 1.0
# Interval at which those connections are looked at.
LOOK_SECONDS = 0.02
# Idle timeout of a connection: longer than the usual 60 s of a proxy in front.
KEEP_ALIVE_SECONDS = 75


class FileWatcher:
    """Reports changed files once, after they have settled: an editor may be in the middle of writing."""

    def __init__(self, stamps: FileStamps) -> None:
        self.watch(stamps)

    def watch(self, stamps: FileStamps) -> None:
        """Watch the files, whose stamps are from before they were read: a change since then is reported too."""
        self.known = self.seen = dict(stamps)

    def poll_changed(self) -> bool:
        now = read_stamps(self.known)
        settled = now == self.seen and now != self.known
        self.seen = now
        if settled:
            self.known = now
        return settled


class UvicornServer(uvicorn.Server):
    def __init__(
        self,
        service: Service,
        settings: ServerSettings,
        on_ready: Callable[[], None],
        on_reload: Callable[[bool], None] = lambda changed: None,
    ) -> None:
        super().__init__(_make_uvicorn_config(service, settings))
        self.service = service
        self.grace = settings.grace
        self.on_ready = on_ready
        self.on_reload = on_reload
        """Called after each reload, with whether the new configuration counts."""
        self.watcher = FileWatcher(service.file_stamps)
        service.on_reload = lambda: self.watcher.watch(service.file_stamps)
        self.reload_requested = False
        self.maintenance: asyncio.Task[None] | None = None
        self.starting: asyncio.Task[None] | None = None
        self.acceptors: list[Acceptor] = []
        self.exiting = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if await self.start_service():
            await self.start_listening(sockets or [])
            self.on_ready()

    async def start_listening(self, sockets: list[socket.socket]) -> None:
        if os.name != "posix":
            await super().startup(sockets)
            return
        # Our own acceptor listens, not uvicorn.
        await super().startup([])
        reserve = self.service.app.descriptors
        reserve.fill(choose_reserve_size(get_descriptor_limit()))
        connections = self.server_state.connections
        self.acceptors = [Acceptor(listener, self.make_protocol, connections, reserve) for listener in sockets]
        for listener, acceptor in zip(sockets, self.acceptors, strict=True):
            # That of a worker does not listen before: connections would wait for the worker's start.
            listener.listen(BACKLOG)
            acceptor.start()

    def make_protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def start_service(self) -> bool:
        """Start the service; returns false when a signal cancelled it."""
        self.starting = asyncio.create_task(self.service.app.runtime.start())
        with show_start(self.service.app.runtime):
            await asyncio.wait([self.starting])
        stopped = self.starting.cancelled()
        if stopped or self.should_exit or self.starting.exception() is not None:
            await self.service.close()
        if not stopped:
            self.starting.result()
        return not (stopped or self.should_exit)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        # uvicorn re-raises the signal at the end: the exit code would not be 0.
        handlers = {signal.SIGINT: self.handle_exit, signal.SIGTERM: self.handle_exit}
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = self.handle_reload
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:
            os._exit(130)
        self.service.stop_accepting()
        self.should_exit = True
        if self.starting is not None:
            # In a signal handler: wakes the sleeping loop.
            self.starting.get_loop().call_soon_threadsafe(self.cancel_start, self.starting)

    def cancel_start(self, starting: asyncio.Task[None]) -> None:
        starting.cancel()
        self.exiting.set()

    def handle_reload(self, sig: int, frame: FrameType | None) -> None:
        self.reload_requested = True

    async def main_loop(self) -> None:
        # Counter 0 makes uvicorn refresh the Date header.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self.exiting.wait()

    async def on_tick(self, counter: int) -> bool:
        for acceptor in self.acceptors:
            acceptor.refresh()
        if self.service.app.worker is not None:
            # Here and not only at a scrape, which another worker may answer.
            self.service.app.runtime.meters.count_tasks()
        if self.maintenance is None or self.maintenance.done():
            self.reload_requested |= self.watcher.poll_changed()
            if self.reload_requested or self.service.retired:
                self.maintenance = asyncio.create_task(self.run_maintenance())
                self.maintenance.add_done_callback(_log_reload_failure)
        return await super().on_tick(counter)

    async def run_maintenance(self) -> None:
        await self.service.close_retired()
        if not self.reload_requested:
            return
        self.reload_requested = changed = False
        try:
            await self.service.reload()
        except ConfigError as error:
            log.error("The configuration was not reloaded, the old one stays. %s", error.message)
        else:
            changed = True
            plugins = " Those of plugins are as they are now." if self.service.config.plugins else ""
            log.info("The configuration was reloaded. Tools keep the code they were started with.%s", plugins)
        finally:
            self.on_reload(changed)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.maintenance is not None:
            # A runtime that a reload is building must be finished, or nobody closes it.
            await asyncio.wait([self.maintenance])
        if self.service.active:
            text = "Stopping: %d answers may take %g s to finish; Ctrl-C again leaves at once."
            log.info(text, self.service.active, self.grace)
        clock = asyncio.get_running_loop().time
        deadline = clock() + self.grace
        self.end_connections()
        if self.service.has_peers:
            await self.serve_last(deadline - self.grace * HAND_OVER_PART)
        # Otherwise still listening: new requests get an error instead of a refused connection.
        await self.service.drain(max(0.0, deadline - clock()))
        for acceptor in self.acceptors:
            acceptor.close()
        await super().shutdown(sockets)
        await self.service.close()

    @property
    def connections(self) -> list[LimitedHttpProtocol]:
        return [one for one in self.server_state.connections if isinstance(one, LimitedHttpProtocol)]

    def end_connections(self) -> None:
        """Let each connection end with its next response."""
        kind = self.config.http_protocol_class
        if issubclass(kind, LimitedHttpProtocol):
            kind.is_draining = True
        for connection in self.connections:
            connection.drain()

    async def serve_last(self, deadline: float) -> None:
        """Answer what still comes, up to a moment. The workers of one port stop listening at once: the others get its
        connections. A process that has its port alone listens on for a while: its proxy may not have seen yet that it
        is not ready."""
        clock = asyncio.get_running_loop().time
        if self.service.app.worker is None:
            await self.service.wait_until_idle(self.grace * LISTEN_PART)
        for acceptor in self.acceptors:
            acceptor.close_listener()
        until = min(clock() + LAST_REQUEST_SECONDS, deadline)
        while any(one.awaits_response(LAST_REQUEST_SECONDS) for one in self.connections):
            await asyncio.sleep(LOOK_SECONDS)
            if clock() >= until:
                break
        await self.service.wait_until_idle(deadline - clock())


def _log_reload_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("The configuration was not reloaded, the old one stays.", exc_info=error)


def _make_uvicorn_config(service: Service, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        service.app,
        http=make_protocol(settings.max_header_kb * 1024, settings.header_timeout),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        # TrustedProxies reads forwarded headers, not uvicorn.
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
