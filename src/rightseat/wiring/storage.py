"""Storage from [store]: data folder, store and thread runs."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rightseat.config.settings import Config
from rightseat.middleware.quota import Ledger
from rightseat.plugins.flows.model_times import TIMES_KEY, TIMES_OWNER, ModelTimes, decode_times
from rightseat.runtime.threads import RunLimits, ThreadRuns
from rightseat.types.stores import Store, get_shared_store
from rightseat.types.threads import Retention, ThreadStore
from rightseat.wiring.lookup import find

SQLITE = "sqlite"
RUN_FOLDER_VARIABLE = "RIGHTSEAT_RUN_FOLDER"
"""Variable that the supervisor of `serve --workers` sets for its workers."""
PLANE_FOLDER = "live"
"""Folder of the workers' sockets in the run folder."""


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


def make_retention(config: Config) -> Retention:
    settings = config.store
    return Retention(settings.keep_days, settings.max_threads, settings.max_thread_mb << 20, settings.max_mb << 20)


def open_store(config: Config, env: Mapping[str, str] | None = None) -> Store:
    """Open the store of [store]. A worker of `serve --workers` shares it with the others."""
    make_store: Callable[..., Store] = find("stores", config.store.kind)
    if config.store.kind == SQLITE:
        run_folder = (os.environ if env is None else env).get(RUN_FOLDER_VARIABLE)
        if run_folder:
            from rightseat.stores.sqlite.shared import SharedSQLiteStore

            make_store = partial(SharedSQLiteStore, run_folder=Path(run_folder))
        return make_store(data_folder(config, env), retention=make_retention(config), damaged=config.store.damaged)
    return make_store(retention=make_retention(config)) if config.store.kind == "memory" else make_store()


def read_model_times(config: Config, env: Mapping[str, str] | None = None) -> ModelTimes:
    """Return the times of model calls that a server with this configuration has measured in flows."""
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
    run_folder = (os.environ if env is None else env).get(RUN_FOLDER_VARIABLE)
    if run_folder and (shared_store := get_shared_store(thread_store)):
        # Imported here: one worker alone needs neither.
        from rightseat.live.local import LocalPlane
        from rightseat.runtime.shared_threads import SharedThreadRuns

        plane = LocalPlane(Path(run_folder) / PLANE_FOLDER, thread_store.worker)
        return SharedThreadRuns(thread_store, limits, plane=plane, presence=shared_store)
    return ThreadRuns(thread_store, limits)


def make_shared_ledger(store: Store) -> Ledger | None:
    """Make the ledger of workers that share the store; None where one process has it alone."""
    shared_store = get_shared_store(store)
    if shared_store is None:
        return None
    from rightseat.middleware.shared_quota import SharedLedger

    return SharedLedger(shared_store, shared_store)


def describe_store_location(config: Config, env: Mapping[str, str] | None = None) -> str:
    """Describe where data is stored, for the start-up card."""
    if config.store.kind == SQLITE:
        return str(data_folder(config, env))
    return "in memory: gone with this process" if config.store.kind == "memory" else config.store.kind
