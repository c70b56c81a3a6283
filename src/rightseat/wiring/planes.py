"""Live planes from [live]: which kind, at which server, for which deployment."""

from __future__ import annotations

import hashlib
import importlib.util
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from rightseat.config.installation import format_extra_command
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.types.live import LivePlane, PlaneOptions
from rightseat.wiring.lookup import find

AUTO, MEMORY, PLANE_LOCAL, POSTGRES, VALKEY = "auto", "memory", "local", "postgres", "valkey"
SCHEMES = {
    **dict.fromkeys(("postgres", "postgresql"), POSTGRES),
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys", "unix"), VALKEY),
}
"""Kinds by the scheme of [live] url."""
NEEDED_MODULES = {POSTGRES: "psycopg", VALKEY: "hiredis"}
IDENTIFY = "SELECT system_identifier::text, current_database() FROM pg_control_system()"
PLANE_FOLDER = "live"
"""Folder of the workers' sockets in the run folder."""


def choose_plane(config: Config, run_folder: str) -> str:
    """Return the kind of plane. `run_folder` is that of `serve --workers`, "" for one process."""
    live = config.live
    if live.kind == MEMORY and run_folder:
        raise ConfigError('[live] kind = "memory" reaches one process only. With several workers leave kind out.')
    if live.kind == PLANE_LOCAL and not run_folder:
        raise ConfigError(
            '[live] kind = "local" is for the workers of one machine: start them with --workers, or leave kind out.'
        )
    if live.kind != AUTO:
        return live.kind
    if live.url is not None and live.url:
        kind = SCHEMES.get(urlsplit(live.url.reveal()).scheme)
        if kind is None:
            raise ConfigError(
                "[live] url is no address of a live server. Write redis://HOST:6379, rediss:// for TLS, unix:///PATH, "
                "or postgresql://USER@HOST/DATABASE."
            )
        return kind
    if config.store.kind == POSTGRES:
        return POSTGRES
    return PLANE_LOCAL if run_folder else MEMORY


def find_plane_url(config: Config, kind: str) -> str:
    """Return the address of the plane's server; raises ConfigError where it is missing."""
    if config.live.url is not None and config.live.url:
        return config.live.url.reveal()
    if kind == VALKEY:
        raise ConfigError(
            '[live] kind = "valkey" needs url, such as url = "env:VALKEY_URL" with redis://HOST:6379 in that variable.'
        )
    store_url = config.store.url if config.store.kind == POSTGRES else None
    if kind == POSTGRES and not store_url:
        raise ConfigError(
            '[live] kind = "postgres" needs url, such as url = "env:DATABASE_URL", where [store] has another kind.'
        )
    return store_url.reveal() if kind == POSTGRES and store_url else ""


def check_plane_modules(kind: str) -> None:
    """Raise ConfigError if the extra that a kind needs is not installed."""
    module = NEEDED_MODULES.get(kind)
    if module and importlib.util.find_spec(module) is None:
        raise ConfigError(
            f"[live] kind {kind} needs {module}, which is not installed: {format_extra_command('cluster')}"
        )


def make_plane(config: Config, worker: str, run_folder: str) -> LivePlane:
    """Make the plane of a worker that shares its store with others."""
    kind = choose_plane(config, run_folder)
    check_plane_modules(kind)
    make: Callable[[PlaneOptions], LivePlane] = find("planes", kind)
    return make(
        PlaneOptions(
            worker=worker,
            deployment=name_deployment(config, run_folder),
            url=find_plane_url(config, kind),
            window_seconds=config.live.window_ms / 1000,
            folder=str(Path(run_folder) / PLANE_FOLDER) if run_folder else "",
        )
    )


def name_deployment(config: Config, run_folder: str) -> str:
    """Return what all processes on one store have in common, and those on another have not."""
    if config.live.deployment:
        return config.live.deployment
    if config.store.kind == POSTGRES:
        return hash_parts(*identify_database(config), config.store.schema)
    return hash_parts(socket.gethostname(), run_folder)


def identify_database(config: Config) -> tuple[str, str]:
    """Return the number of the database's server, which no other has, and the database's name. Its address may differ
    from machine to machine."""
    from rightseat.stores.postgres.database import connect
    from rightseat.stores.postgres.refusals import explain_refusals, find_missing_identity
    from rightseat.wiring.storage import read_database_url

    with (
        closing(connect(read_database_url(config))) as connection,
        explain_refusals(connection, config.store.schema, find_missing_identity),
    ):
        row = connection.execute(IDENTIFY).fetchone()
    assert row is not None
    return row[0], row[1]


def hash_parts(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
