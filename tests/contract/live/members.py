"""Every live plane: a function that makes the planes of several workers, in a folder of the test's own."""

from collections.abc import Callable
from pathlib import Path

from rightseat.live.local import LocalPlane
from rightseat.live.memory import MemoryHub, MemoryPlane
from rightseat.types.live import LivePlane

MakePlane = Callable[[str], LivePlane]


def share_memory(folder: Path) -> MakePlane:
    hub = MemoryHub()
    return lambda worker: MemoryPlane(hub, worker)


def share_folder(folder: Path) -> MakePlane:
    return lambda worker: LocalPlane(folder, worker)


MEMBERS: dict[str, Callable[[Path], MakePlane]] = {"memory": share_memory, "local": share_folder}
