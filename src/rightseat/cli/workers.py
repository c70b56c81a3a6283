"""`rightseat serve --workers N`: checks the set-up, reserves port and data folder, and supervises the workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rightseat.cli.models import prepare_config
from rightseat.cli.serve import Row, ServeArguments, announce_ready, print_startup, suggesting_folder
from rightseat.config.settings import Config
from rightseat.server import service
from rightseat.server.second import format_second_command
from rightseat.server.workers.channel import WorkerStart
from rightseat.server.workers.count import count_workers
from rightseat.server.workers.supervisor import Supervisor, WorkerPlan
from rightseat.stores.sqlite.database import FolderLock
from rightseat.wiring.storage import SQLITE, data_folder, remove_address

__all__ = ["count_workers", "supervise"]
# Where SO_REUSEPORT gives each listening socket its share of connections. Elsewhere the workers share one socket.
BALANCES_PORTS = sys.platform == "linux"
# A Unix socket's path has at most 104 bytes on macOS and 108 on Linux; the names of sockets take some.
MAX_FOLDER_PATH = 60


def supervise(arguments: ServeArguments, config: Config) -> None:
    """Run the workers until a signal; exits with the status of a start that failed."""
    settings = config.server
    # Without SO_REUSEPORT: it would not notice another server of this user on the port. Before a long download.
    service.open_listener(settings.host, settings.port, suggest=lambda: format_second_command(config)).close()
    config = prepare_config(config)
    # Python tools of plugins must not read the environment of this process either.
    service.protect_memory(config)
    with contextlib.ExitStack() as held:
        with suggesting_folder(config):
            inherited = [*lock_data_folder(config, held)]
        held.callback(remove_address, config)
        listener = held.enter_context(service.open_listener(settings.host, settings.port, shared=BALANCES_PORTS))
        port = listener.getsockname()[1]
        if not BALANCES_PORTS:
            inherited.append(listener.fileno())
        start = WorkerStart(
            number=0,
            workers=count_workers(config),
            lease_seconds=config.live.lease_seconds,
            arguments=arguments.encode(),
            address=(settings.host, port),
            listener=None if BALANCES_PORTS else listener.fileno(),
        )
        plan = WorkerPlan(start, held.enter_context(make_run_folder()), settings.grace, tuple(inherited))
        base = service.local_url(settings.host, port)

        def on_ready(rows: list[Row]) -> None:
            with contextlib.suppress(OSError):
                print_startup([*rows, ("workers", f"{start.workers} processes")], base)
            announce_ready(base, config)

        status = asyncio.run(run_supervisor(plan, on_ready))
    if status:
        sys.exit(status)


async def run_supervisor(plan: WorkerPlan, on_ready: Callable[[list[Row]], None]) -> int:
    return await Supervisor(plan, on_ready).run()


def lock_data_folder(config: Config, held: contextlib.ExitStack) -> Iterator[int]:
    """Lock the data folder of SQLite; yields the lock's file descriptor. The workers inherit it, so that the folder is
    in use until the last of them has ended, also after a kill of the supervisor."""
    if config.store.kind == SQLITE:
        lock = FolderLock(data_folder(config))
        held.callback(lock.close)
        yield lock.file.fileno()


@contextlib.contextmanager
def make_run_folder() -> Iterator[Path]:
    """Make the folder of sockets and locks for one life of the server; it is removed at the end."""
    places = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]
    usable = [place for place in places if place and len(place) <= MAX_FOLDER_PATH and os.access(place, os.W_OK)]
    folder = Path(tempfile.mkdtemp(prefix="rightseat-", dir=next(iter(usable), None)))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
