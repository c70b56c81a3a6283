"""uvicorn in this process, with our own start, reload and shutdown.

SIGTERM, SIGINT   /ready fails at once, running answers get `grace` seconds, then fail as `restarting`; exit 0
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
from pathlib import Path
from types import FrameType

import uvicorn

from rightseat.config import ServerSettings
from rightseat.errors import ConfigError
from rightseat.server.progress import waiting
from rightseat.server.service import Service
from rightseat.server.uvicorn_protocol import protocol

log = logging.getLogger("rightseat.server")

# Interval at which files and retired runtimes are checked; uvicorn itself would tick every 0.1 s.
LOOK = 0.5
# Time after `grace` for responses still being written.
TAIL = 1
# Idle timeout of a connection: longer than the usual 60 s of a proxy in front.
IDLE = 75

Stamp = tuple[int, int] | None


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


class Watch:
    """Reports changed files once, after they have settled: an editor may be in the middle of writing."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self.follow(files)

    def follow(self, files: tuple[Path, ...]) -> None:
        self.files = files
        self.known = self.seen = self.look()

    def look(self) -> list[Stamp]:
        return [_stamp(path) for path in self.files]

    def changed(self) -> bool:
        now = self.look()
        settled = now == self.seen and now != self.known
        self.seen = now
        if settled:
            self.known = now
        return settled


class Server(uvicorn.Server):
    def __init__(self, service: Service, settings: ServerSettings, announce: Callable[[], None]) -> None:
        super().__init__(_uvicorn(service, settings))
        self.service = service
        self.grace = settings.grace
        self.announce = announce
        self.watch = Watch(service.files)
        self.asked = False
        self.task: asyncio.Task[None] | None = None
        self.starting: asyncio.Task[None] | None = None
        self.leaving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if await self.begin():
            await super().startup(sockets)
            self.announce()

    async def begin(self) -> bool:
        """Start the service; returns false when a signal cancelled it."""
        self.starting = asyncio.create_task(self.service.start())
        with waiting("Loading the local model"):
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
        self.service.refuse()
        self.should_exit = True
        if self.starting is not None:
            # In a signal handler: wakes the sleeping loop.
            self.starting.get_loop().call_soon_threadsafe(self.leave, self.starting)

    def leave(self, starting: asyncio.Task[None]) -> None:
        starting.cancel()
        self.leaving.set()

    def handle_reload(self, sig: int, frame: FrameType | None) -> None:
        self.asked = True

    async def main_loop(self) -> None:
        # Counter 0 makes uvicorn refresh the Date header.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self.leaving.wait()

    async def on_tick(self, counter: int) -> bool:
        if self.task is None or self.task.done():
            self.asked |= self.watch.changed()
            if self.asked or self.service.retired:
                self.task = asyncio.create_task(self.tend())
                self.task.add_done_callback(_report)
        return await super().on_tick(counter)

    async def tend(self) -> None:
        await self.service.close_retired()
        if not self.asked:
            return
        self.asked = False
        try:
            await self.service.reload()
        except ConfigError as error:
            log.error("The configuration was not reloaded, the old one stays. %s", error.message)
        else:
            self.watch.follow(self.service.files)
            self.asked |= self.service.stale
            plugins = " Those of plugins are as they are now." if self.service.config.plugins else ""
            log.info("The configuration was reloaded. Tools keep the code they were started with.%s", plugins)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.task is not None:
            # A runtime that a reload is building must be finished, or nobody closes it.
            await asyncio.wait([self.task])
        if self.service.active:
            said = "Stopping: %d answers may take %g s to finish; Ctrl-C again leaves at once."
            log.info(said, self.service.active, self.grace)
        # Still listening: new requests get an error instead of a refused connection.
        await self.service.drain(self.grace)
        await super().shutdown(sockets)
        await self.service.close()


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("The configuration was not reloaded, the old one stays.", exc_info=error)


def _uvicorn(service: Service, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        service.app,
        http=protocol(settings.max_header_kb * 1024, settings.header_timeout),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        # TrustedProxies reads forwarded headers, not uvicorn.
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=TAIL,
    )
