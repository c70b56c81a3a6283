"""Every Store, made with a clock, a capacity and a folder of the test's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.stores import CheckpointStore, Store
from rightseat.types.threads import ThreadStore


class Keeper(Store, ThreadStore, CheckpointStore, Protocol):
    """A Store that keeps threads and notes too: both of ours do."""


class Make(Protocol):
    def __call__(self, folder: Path, *, clock: Callable[[], float], **options: Any) -> Keeper: ...


def memory(folder: Path, *, clock: Callable[[], float], **options: Any) -> Keeper:
    return MemoryStore(clock=clock, **options)


def sqlite(folder: Path, *, clock: Callable[[], float], **options: Any) -> Keeper:
    return SQLiteStore(folder, clock=clock, **options)


MEMBERS: dict[str, Make] = {"memory": memory, "sqlite": sqlite}
