"""Storage from [store]: data folder, store and thread runs."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rightseat.config.installation import format_extra_command
from rightseat.config.settings import Config, WithoutStore
from rightseat.errors import ConfigError
from rightseat.middleware.quota import Ledger
from rightseat.runtime.threads import RunLimits, ThreadRuns
from rightseat.types.stores import ClockedStore, Store, get_shared_store
from rightseat.types.threads import Retention, ThreadStore
from rightseat.wiring.lookup import find

if TYPE_CHECKING:
    from rightseat.plugins.flows.model_times import ModelTimes

log = logging.getLogger(__name__)
SQLITE = "sqlite"
POSTGRES = "postgres"
ADDRESS_FILE = "address"
SETUP_HEADER = "x-rightseat-setup"
"""Header of `/health` with the digest of the set-up."""
CLUSTER_MODULES = ("psycopg", "psycopg_pool")
RUN_FOLDER_VARIABLE = "RIGHTSEAT_RUN_FOLDER"
"""Variable that the supervisor of `serve --workers` sets for its workers."""


def data_folder(config: Config, env: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Return the data folder: [store] path, RIGHTSEAT_DATA, systemd's StateDirectory, else a folder per
    configuration file in the platform's user data, so that two servers never share one."""
    env = os.environ if env is None else env
    if config.store.path:
        return config.folder.resolve() / Path(config.store.path).expanduser()
    for variable in ("RIGHTSEAT_DATA", "STATE_DIRECTORY"):
        # systemd separates several folders by colons.
        if named := env.get(variable, "").split(":" if variable == "STATE_DIRECTORY" else "\0")[0]:
            return Path(named).expanduser().absolute()
    return user_data_folder(env, platform) / "rightseat" / config_label(config)


def user_data_folder(env: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        return Path(env.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    shared = env.get("XDG_DATA_HOME", "")
    # XDG: a relative path is ignored.
    return Path(shared) if Path(shared).is_absolute() else Path.home() / ".local" / "share"


def config_label(config: Config) -> str:
    if config.path is None:
        return "default"
    path = config.path.resolve()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.parent.name).strip("-")[:40]
    return f"{name or 'root'}-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def compute_setup_digest(config: Config) -> str:
    """Return a few letters by which servers of different set-ups are told apart: of the configuration file and of the
    place where data is kept."""
    file = str(config.path.resolve()) if config.path else ""
    folder = str(data_folder(config)) if config.store.kind == SQLITE else config.store.kind
    return hashlib.sha256(f"{file}\0{folder}".encode()).hexdigest()[:16]


def write_address(config: Config, url: str) -> None:
    """Write the server's URL into its data folder, where `rightseat doctor` finds it."""
    if config.store.kind == SQLITE:
        # Without it the doctor looks at the configured port.
        with contextlib.suppress(OSError):
            (data_folder(config) / ADDRESS_FILE).write_text(f"{url}\n", encoding="utf-8")


def remove_address(config: Config) -> None:
    if config.store.kind == SQLITE:
        with contextlib.suppress(OSError):
            (data_folder(config) / ADDRESS_FILE).unlink(missing_ok=True)


def read_address(config: Config) -> str | None:
    """Return the URL of the server that uses, or has used, the data folder; None if there is none."""
    if config.store.kind != SQLITE:
        return None
    try:
        text = (data_folder(config) / ADDRESS_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if re.fullmatch(r"http://[\w.:\[\]-]{1,200}", text) else None


def make_retention(config: Config) -> Retention:
    settings = config.store
    return Retention(settings.keep_days, settings.max_threads, settings.max_thread_mb << 20, settings.max_mb << 20)


def open_store(config: Config, env: Mapping[str, str] | None = None) -> Store:
    """Open the store of [store]. A worker of `serve --workers` shares it with the others."""
    if config.store.kind == POSTGRES:
        return open_postgres_store(config)
    make_store: Callable[..., Store] = find("stores", config.store.kind)
    if config.store.kind == SQLITE:
        run_folder = (os.environ if env is None else env).get(RUN_FOLDER_VARIABLE)
        if run_folder:
            from rightseat.stores.sqlite.shared import SharedSQLiteStore

            make_store = partial(SharedSQLiteStore, run_folder=Path(run_folder))
        return make_store(data_folder(config, env), retention=make_retention(config), damaged=config.store.damaged)
    return make_store(retention=make_retention(config)) if config.store.kind == "memory" else make_store()


def require_cluster_modules(subject: str) -> None:
    """Raise ConfigError if the extra of PostgreSQL is not installed."""
    missing = next((module for module in CLUSTER_MODULES if importlib.util.find_spec(module) is None), None)
    if missing:
        command = format_extra_command("cluster")
        raise ConfigError(f"{subject} needs {missing}, which is not installed: {command}")


def read_database_url(config: Config) -> str:
    """Return the URL of kind postgres; raises ConfigError that says what is missing."""
    require_cluster_modules('[store] kind = "postgres"')
    if config.store.url is None or not config.store.url.reveal():
        raise ConfigError(
            '[store] kind = "postgres" needs url, such as url = "env:DATABASE_URL" with '
            "postgresql://USER:PASSWORD@HOST/DATABASE in that variable."
        )
    return config.store.url.reveal()


def open_postgres_store(config: Config) -> Store:
    url = read_database_url(config)
    make_store: Callable[..., Store] = find("stores", POSTGRES)
    return make_store(
        url,
        schema=config.store.schema,
        pool=config.store.pool,
        migrate_tables=config.store.migrate,
        row_security=config.store.row_security,
        retention=make_retention(config),
        lease_seconds=config.live.lease_seconds,
        window_seconds=config.live.window_ms / 1000,
    )


def read_model_times(config: Config, env: Mapping[str, str] | None = None) -> ModelTimes:
    """Return the times of model calls that a server with this configuration has measured in flows."""
    from rightseat.plugins.flows.model_times import TIMES_KEY, TIMES_OWNER, ModelTimes, decode_times

    if config.store.kind != SQLITE:
        return ModelTimes()
    from rightseat.stores.sqlite.database import read_checkpoint
    from rightseat.stores.sqlite.store import DATABASE_FILE

    file = data_folder(config, env) / DATABASE_FILE
    return decode_times(read_checkpoint(file, TIMES_OWNER.name, TIMES_KEY))


def make_thread_runs(config: Config, store: Store, env: Mapping[str, str] | None = None) -> ThreadRuns:
    """Make the thread runs on the store; in memory if the store keeps no threads. A worker that shares the store with
    others works with their runs too."""
    thread_store = (
        store if isinstance(store, ThreadStore) else find("stores", "memory")(retention=make_retention(config))
    )
    limits = RunLimits(orphan_seconds=config.store.orphan_seconds)
    if shared_store := get_shared_store(thread_store):
        # Imported here: one worker alone needs neither.
        from rightseat.runtime.shared_threads import SharedThreadRuns
        from rightseat.wiring.planes import make_plane

        run_folder = (os.environ if env is None else env).get(RUN_FOLDER_VARIABLE, "")
        plane = make_plane(config, thread_store.worker, run_folder)
        after_crash = config.live.after_crash
        return SharedThreadRuns(thread_store, limits, plane=plane, presence=shared_store, after_crash=after_crash)
    if config.live.url is not None:
        log.warning("[live] url is not used: this process has its store alone")
    return ThreadRuns(thread_store, limits)


def make_shared_ledger(store: Store, without_store: WithoutStore = "share") -> Ledger | None:
    """Make the ledger of workers that share the store; None where one process has it alone."""
    shared_store = get_shared_store(store)
    if shared_store is None:
        return None
    from rightseat.middleware.shared_quota import SharedLedger

    wall_clock = store.read_clock if isinstance(store, ClockedStore) else time.time
    return SharedLedger(shared_store, shared_store, wall_clock, without_store)


def describe_store_location(config: Config, env: Mapping[str, str] | None = None) -> str:
    """Describe where data is stored, for the start-up card."""
    if config.store.kind == SQLITE:
        return str(data_folder(config, env))
    if config.store.kind == POSTGRES:
        from rightseat.stores.postgres.database import describe_place

        return f"PostgreSQL at {describe_place(read_database_url(config))}, schema {config.store.schema}"
    return "in memory: gone with this process" if config.store.kind == "memory" else config.store.kind
