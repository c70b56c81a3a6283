"""Every Store, made with a clock, a capacity and a folder of the test's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from rightseat.stores.memory import Memory
from rightseat.stores.sqlite import SQLite
from rightseat.types.stores import Notes, Store
from rightseat.types.threads import Journal


class Keeper(Store, Journal, Notes, Protocol):
    """A Store that keeps threads and notes too: both of ours do."""


class Make(Protocol):
    def __call__(self, folder: Path, *, clock: Callable[[], float], **options: Any) -> Keeper: ...


def memory(folder: Path, *, clock: Callable[[], float], **options: Any) -> Keeper:
    return Memory(clock=clock, **options)


def sqlite(folder: Path, *, clock: Callable[[], float], **options: Any) -> Keeper:
    return SQLite(folder, clock=clock, **options)


MEMBERS: dict[str, Make] = {"memory": memory, "sqlite": sqlite}
