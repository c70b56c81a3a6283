"""Stamps of files and folders: a stamp differs after a write, a replacement or a change of rights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

FileStamp = tuple[int, int, int] | None
"""Times of the last write and of the last change of any kind, and the size; None where nothing can be read."""
FileStamps = Mapping[Path, FileStamp]


def read_stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except OSError:
        return None
    # The second time also changes with rights, and where a copy keeps the times of its original.
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def read_stamps(paths: Iterable[Path]) -> dict[Path, FileStamp]:
    """Return the stamp of each path, in order."""
    return {path: read_stamp(path) for path in paths}


def are_current(stamps: FileStamps) -> bool:
    """Tell whether no path has changed since its stamp was read."""
    return all(read_stamp(path) == stamp for path, stamp in stamps.items())
