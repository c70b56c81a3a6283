"""Lock of the data folder: one process at a time; the error names the pid of the holder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from rightseat.errors import ConfigError

LOCK_FILE = "lock"


class FolderLock:
    """File lock, held until `close` or until the process ends in any way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / LOCK_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Opened without truncation: it contains the pid of the holder.
            self.file: IO[str] = self.path.open("a+", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"The data folder {folder} cannot be used: {error.strerror}. Name another in [store] path "
                'or RIGHTSEAT_DATA, or keep nothing with [store] kind = "memory".'
            ) from None
        try:
            lock_file(self.file)
        except OSError:
            first = self.read_holder_pid()
            self.file.close()
            raise ConfigError(
                f"The data folder {folder} is in use by another rightseat (pid {first or 'unknown'}). Stop "
                "that one, or give this one a folder of its own: [store] path, or RIGHTSEAT_DATA."
            ) from None
        self.file.truncate(0)
        self.file.write(f"{os.getpid()}\n")
        self.file.flush()

    def read_holder_pid(self) -> str:
        self.file.seek(0)
        pid = self.file.read(20).strip()
        return pid if pid.isdecimal() else ""

    def close(self) -> None:
        if not self.file.closed:
            self.file.truncate(0)
            self.file.close()


if sys.platform == "win32":
    import msvcrt

    def lock_file(file: IO[str]) -> None:
        # Far behind the pid: a locked byte cannot be read.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock_file(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
