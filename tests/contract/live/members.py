"""Every live plane: a function that makes the planes of several workers, in a folder of the test's own."""

import uuid
from collections.abc import Callable
from pathlib import Path

from rightseat.live.local import LocalPlane
from rightseat.live.memory import MemoryHub, MemoryPlane
from rightseat.types.live import LivePlane
from tests.kit import postgres, valkey

MakePlane = Callable[[str], LivePlane]


def share_memory(folder: Path) -> MakePlane:
    hub = MemoryHub()
    return lambda worker: MemoryPlane(hub, worker)


def share_folder(folder: Path) -> MakePlane:
    return lambda worker: LocalPlane(folder, worker)


def share_valkey(folder: Path) -> MakePlane:
    from rightseat.live.valkey import ValkeyPlane

    url, deployment = valkey.share_server().url, uuid.uuid4().hex
    return lambda worker: ValkeyPlane(url, worker, deployment)


def share_postgres(folder: Path) -> MakePlane:
    from rightseat.live.postgres import PostgresPlane

    url, deployment = postgres.get_session_server().url, uuid.uuid4().hex
    return lambda worker: PostgresPlane(url, worker, deployment)


MEMBERS: dict[str, Callable[[Path], MakePlane]] = {
    "memory": share_memory,
    "local": share_folder,
    "postgres": share_postgres,
    "valkey": share_valkey,
}
