"""Every Store, made with a clock, a capacity and a folder of the test's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.stores import CheckpointStore, Store
from rightseat.types.threads import ThreadStore


class FullStore(Store, ThreadStore, CheckpointStore, Protocol):
    """A Store that keeps threads and notes too: both of ours do."""


class MakeStore(Protocol):
    def __call__(self, folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore: ...


def make_memory_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    return MemoryStore(clock=clock, **options)


def make_sqlite_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    return SQLiteStore(folder, clock=clock, **options)


MEMBERS: dict[str, MakeStore] = {"memory": make_memory_store, "sqlite": make_sqlite_store}
