"""The application with its current runtime, and the retired runtimes that still finish an answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from rightseat.config.settings import Config
from rightseat.http.auth import Authenticator
from rightseat.http.jwt import JwtVerifier, fetch_jwks
from rightseat.server.app import App
from rightseat.server.listen import check_exposure
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.keeping import make_thread_runs, open_store
from rightseat.wiring.library import Runtime
from rightseat.wiring.names import load_all

log = logging.getLogger("rightseat.server")


def make_authenticator(config: Config) -> Authenticator:
    jwt = config.auth.jwt
    return Authenticator(config.auth, JwtVerifier(jwt, fetch_jwks) if jwt else None)


def build_app(config: Config) -> App:
    store = open_store(config)
    return App(
        build_runtime(config, store=store, threads=make_thread_runs(config, store)),
        config.server,
        load_all("doors"),
        authenticate=make_authenticator(config),
    )


class Service:
    def __init__(self, app: App, config: Config, reload_config: Callable[[], Config]) -> None:
        self.app = app
        self.config = config
        self.reload_config = reload_config
        self.retired: list[tuple[float, Runtime]] = []

    @property
    def runtimes(self) -> list[Runtime]:
        return [self.app.runtime, *(runtime for _, runtime in self.retired)]

    @property
    def active(self) -> int:
        return sum(runtime.active_runs for runtime in self.runtimes)

    @property
    def watched_files(self) -> tuple[Path, ...]:
        """The files whose change triggers a reload."""
        if not self.config.plugins:
            return self.config.files
        from rightseat.wiring.plugins import all_watched_paths

        return (*self.config.files, *all_watched_paths(self.config, self.app.runtime.plugins))

    @property
    def is_stale(self) -> bool:
        """Whether a plugin changed while it was loaded."""
        if not self.config.plugins:
            return False
        from rightseat.wiring.plugins import has_changed

        return has_changed(self.app.runtime.plugins)

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
        if _restart_only_settings(config) != _restart_only_settings(self.config):
            log.warning(
                "host, port, header limits, grace, log and what `environment` changes in it, [store]: "
                "with the next start."
            )
        # A request that holds the old runtime may still be reading its body.
        due = time.monotonic() + self.config.server.body_timeout + 1
        self.retired.append((due, old))
        self.config = config

    def _build(self) -> tuple[Config, Authenticator, Runtime]:
        config = self.reload_config()
        check_exposure(config)
        return config, make_authenticator(config), build_runtime(config, before=self.app.runtime)

    async def close_retired(self) -> None:
        now = time.monotonic()
        finished = [entry for entry in self.retired if entry[0] <= now and not entry[1].active_runs]
        for entry in finished:
            self.retired.remove(entry)
            await entry[1].close()

    def stop_accepting(self) -> None:
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


def _restart_only_settings(config: Config) -> tuple[object, ...]:
    server = config.server
    limits = (server.max_header_kb, server.header_timeout, server.grace)
    logs = (server.log, server.log_level, config.production)
    return (server.host, server.port, *limits, *logs, config.store)
