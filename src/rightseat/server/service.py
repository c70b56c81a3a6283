"""The application with its current runtime, and the retired runtimes that still finish an answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from rightseat import wiring as registry
from rightseat.config import Config
from rightseat.http.auth import Authenticator
from rightseat.http.jwt import Tokens, fetch
from rightseat.server.app import App
from rightseat.server.listen import protect
from rightseat.wiring.library import Runtime

log = logging.getLogger("rightseat.server")


def authenticator(config: Config) -> Authenticator:
    jwt = config.auth.jwt
    return Authenticator(config.auth, Tokens(jwt, fetch) if jwt else None)


def build(config: Config) -> App:
    store = registry.store(config)
    return App(
        registry.runtime(config, store=store, threads=registry.threads(config, store)),
        config.server,
        registry.every("doors"),
        authenticate=authenticator(config),
    )


class Service:
    def __init__(self, app: App, config: Config, reread: Callable[[], Config]) -> None:
        self.app = app
        self.config = config
        self.reread = reread
        self.retired: list[tuple[float, Runtime]] = []

    @property
    def runtimes(self) -> list[Runtime]:
        return [self.app.runtime, *(runtime for _, runtime in self.retired)]

    @property
    def active(self) -> int:
        return sum(runtime.active for runtime in self.runtimes)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files whose change triggers a reload."""
        if not self.config.plugins:
            return self.config.files
        from rightseat.wiring.plugins import files

        return (*self.config.files, *files(self.config, self.app.runtime.plugins))

    @property
    def stale(self) -> bool:
        """Whether a plugin changed while it was loaded."""
        if not self.config.plugins:
            return False
        from rightseat.wiring.plugins import stale

        return stale(self.app.runtime.plugins)

    async def start(self) -> None:
        """Start the runtime, including the processes of local models, before the first request."""
        await self.app.runtime.start()

    async def reload(self) -> None:
        """Read the configuration again and swap the runtime. A ConfigError leaves everything as it was."""
        # Building reads files and imports modules: not on the event loop.
        config, authenticate, runtime = await asyncio.to_thread(self._build)
        try:
            # Shared parts (a local model's process) are acquired before the old runtime releases them.
            await runtime.start()
            # A key removed from the file must stop working with the reload.
            self.app.configure(config.server, authenticate)
        except BaseException:
            await runtime.close()
            raise
        old = self.app.runtime
        self.app.swap(runtime)
        if _fixed(config) != _fixed(self.config):
            log.warning(
                "host, port, header limits, grace, log and what `environment` changes in it, [store]: "
                "with the next start."
            )
        # A request that holds the old runtime may still be reading its body.
        due = time.monotonic() + self.config.server.body_timeout + 1
        self.retired.append((due, old))
        self.config = config

    def _build(self) -> tuple[Config, Authenticator, Runtime]:
        config = self.reread()
        protect(config)
        return config, authenticator(config), registry.runtime(config, before=self.app.runtime)

    async def close_retired(self) -> None:
        now = time.monotonic()
        over = [entry for entry in self.retired if entry[0] <= now and not entry[1].active]
        for entry in over:
            self.retired.remove(entry)
            await entry[1].close()

    def refuse(self) -> None:
        """Refuse new runs; /ready reports it."""
        for runtime in self.runtimes:
            runtime.draining = True

    async def drain(self, grace: float) -> None:
        await asyncio.gather(*(runtime.drain(grace) for runtime in self.runtimes))

    async def close(self) -> None:
        # The store is shared by all runtimes: closed last.
        await self.app.runtime.threads.close()
        await asyncio.gather(*(runtime.close() for runtime in self.runtimes))
        self.retired.clear()
        close = getattr(self.app.runtime.store, "close", None)
        if close is not None:
            await close()


def _fixed(config: Config) -> tuple[object, ...]:
    server = config.server
    limits = (server.max_header_kb, server.header_timeout, server.grace)
    logs = (server.log, server.log_level, config.production)
    return (server.host, server.port, *limits, *logs, config.store)
