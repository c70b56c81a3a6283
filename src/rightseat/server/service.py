"""The listening socket; the application with its current runtime, and the retired ones that still finish an answer."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from rightseat.config.settings import SHORT_KEY_FIX, Config, ModelSettings
from rightseat.config.stamps import FileStamps, read_stamp, read_stamps
from rightseat.errors import ConfigError
from rightseat.http.auth import Authenticator, JwtVerifier, fetch_jwks
from rightseat.http.security import is_loopback
from rightseat.server.app import App
from rightseat.wiring.demo import with_page_model
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import load_all
from rightseat.wiring.runtime import Runtime
from rightseat.wiring.storage import compute_setup_digest, make_thread_runs, open_store
from rightseat.wiring.systems import check_system


def warn_of_short_keys(config: Config) -> None:
    """Log one warning where keys are short."""
    if problem := config.auth.describe_short_keys():
        log.warning("[auth.keys]: %s; %s", problem, SHORT_KEY_FIX)


def check_exposure(config: Config) -> None:
    """Raise ConfigError where other machines can connect and no [auth] is set."""
    host = config.server.host
    if is_loopback(host) or config.auth.required:
        return
    raise ConfigError(
        f"{host} can be reached from other machines, and no [auth] is set: anyone could use this server.\n"
        "Either listen on this machine only: --host 127.0.0.1\n"
        "or give every user a key in rightseat.toml:\n"
        "    [auth.keys]\n"
        '    alice = "env:ALICE_KEY"'
    )


BACKLOG = 2048
"""Connections that may wait to be accepted."""


def open_listener(
    host: str, port: int, *, shared: bool = False, suggest: Callable[[], str] | None = None
) -> socket.socket:
    """Return a listening socket. `shared`: one that is bound and does not listen yet, and whose port other sockets of
    this user may have too (SO_REUSEPORT). `suggest` returns a command that works where the port is in use."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"There is no address {host!r} to listen on. Use --host 127.0.0.1.") from None
    listener = socket.socket(family, kind, number)
    try:
        # Without it a restart waits for TIME_WAIT of the last server's connections.
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        if not shared:
            listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(_explain_bind_error(error, host, port, suggest)) from None
    return listener


def _explain_bind_error(error: OSError, host: str, port: int, suggest: Callable[[], str] | None) -> str:
    if error.errno == errno.EADDRINUSE and suggest is not None:
        return (
            f"Port {port} on {host} is in use, perhaps by another rightseat.\n"
            f"Stop that program, or start a second server beside it:\n    {suggest()}"
        )
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 0
        return (
            f"Port {port} on {host} is in use, perhaps by another rightseat.\n"
            f"Stop that program, or take another port: --port {other} (0 takes a free one)."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"This user may not listen on port {port}. Take one above 1023: --port 7777."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine. Use --host 127.0.0.1."
    return f"Cannot listen on {host} port {port}: {error.strerror}."


def local_url(host: str, port: int) -> str:
    """Return the server's URL for a client on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def write_ready_file(path: Path, base: str) -> None:
    """Write the URL to the ready file atomically: a waiting process must not read half a line."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(f"{base}\n")
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"RIGHTSEAT_READY_FILE: cannot write {path}: {error.strerror}.") from None


def raise_file_limit() -> None:
    """Raise the soft limit of open files: each stream takes a socket or two, and 1024 is for select()."""
    if os.name != "posix":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            # macOS may refuse its own hard limit: the soft one stays.
            return


log = logging.getLogger("rightseat.server")


def make_authenticator(config: Config) -> Authenticator:
    jwt = config.auth.jwt
    return Authenticator(config.auth, JwtVerifier(jwt, fetch_jwks) if jwt else None)


def protect_memory(config: Config) -> None:
    """Close this process's environment and memory to Python tools of plugins, before any of their code runs."""
    if config.plugins:
        # Imported here: most servers have no plugins.
        from rightseat.wiring.plugins import has_confined_scripts

        if has_confined_scripts(config):
            from rightseat.tools.sandbox.identity import close_process_memory

            close_process_memory()


def build_app(config: Config) -> App:
    check_system(config)
    protect_memory(config)
    store = open_store(config)
    app = App(
        build_runtime(config, store=store, threads=make_thread_runs(config, store)),
        config.server,
        load_all("doors"),
        authenticate=make_authenticator(config),
    )
    app.setup_digest = compute_setup_digest(config)
    return app


class Service:
    def __init__(self, app: App, config: Config, reload_config: Callable[[], Config]) -> None:
        self.app = app
        self.config = config
        self.reload_config = reload_config
        self.config_stamps = read_stamps(config.files)
        self.retired: list[tuple[float, Runtime]] = []
        self.page_model: ModelSettings | None = None
        """The model that a person has chosen on the page, until the next start."""
        self.on_reload: Callable[[], None] = lambda: None
        self._reloading = asyncio.Lock()
        app.model_control = self

    @property
    def is_worker(self) -> bool:
        """Whether this process is one of several workers."""
        return self.app.worker is not None

    async def use_model(self, settings: ModelSettings | None) -> None:
        """Answer new messages with this model, or with the one that the configuration names."""
        async with self._reloading:
            await self._reload(settings)

    @property
    def runtimes(self) -> list[Runtime]:
        return [self.app.runtime, *(runtime for _, runtime in self.retired)]

    @property
    def active(self) -> int:
        return sum(runtime.active_runs for runtime in self.runtimes)

    @property
    def file_stamps(self) -> FileStamps:
        """The files whose change triggers a reload, with their stamps from before they were read."""
        plugins = self.app.runtime.plugins
        return self.config_stamps if plugins is None else {**self.config_stamps, **plugins.file_stamps}

    async def reload(self) -> None:
        """Read the configuration again and swap the runtime. A ConfigError leaves everything as it was."""
        async with self._reloading:
            await self._reload(self.page_model)

    async def _reload(self, page_model: ModelSettings | None) -> None:
        stamps = read_stamps(self.config.files)
        # Building reads files and imports modules: not on the event loop.
        config, authenticate, runtime = await asyncio.to_thread(self._build, page_model)
        try:
            # Shared parts (a local model's process) are acquired before the old runtime releases them.
            await runtime.start()
            # A key removed from the file must stop working with the reload.
            self.app.configure(config.server, authenticate, runtime)
        except BaseException:
            await runtime.close()
            raise
        old = self.app.runtime
        self.app.runtime = runtime
        runtime.threads.get_runner = runtime.get_runner
        if _restart_only_settings(config) != _restart_only_settings(self.config):
            log.warning(
                "host, port, workers, header limits, grace, log and what `environment` changes in it, [live], [store]: "
                "with the next start."
            )
        # A request that holds the old runtime may still be reading its body.
        due = time.monotonic() + self.config.server.body_timeout + 1
        self.retired.append((due, old))
        self.config = config
        self.page_model = page_model
        self.config_stamps = {path: stamps.get(path, read_stamp(path)) for path in config.files}
        self.on_reload()

    def _build(self, page_model: ModelSettings | None) -> tuple[Config, Authenticator, Runtime]:
        config = self.reload_config()
        if page_model is not None:
            config = with_page_model(config, page_model)
        check_exposure(config)
        protect_memory(config)
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
            runtime.stop_accepting()

    @property
    def has_peers(self) -> bool:
        """Whether other processes can serve what comes while this one ends."""
        return self.app.runtime.has_peers

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no run is active, at most `seconds`. New ones are still taken where other workers share the
        store."""
        await asyncio.gather(*(runtime.runs.wait_until_idle(seconds) for runtime in self.runtimes))

    async def drain(self, grace: float) -> None:
        await asyncio.gather(*(runtime.drain(grace) for runtime in self.runtimes))
        # Last: others end what they find of a process that has left.
        await self.app.runtime.threads.leave()

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
    return (server.host, server.port, server.workers, *limits, *logs, config.live, config.store)
