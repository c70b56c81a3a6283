"""WorkerLocks: which of the processes that share a store are alive, by locks that the kernel frees when one ends.

Each worker holds `flock` on `workers/<name>` in the run folder. No clock decides who is dead: a lock is free when its
holder has ended in any way, kill -9 included, and not before.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Collection
from pathlib import Path
from weakref import WeakSet

LOCKS_FOLDER = "workers"


class FileLock:
    """`flock` on a file. Children of this process do not keep it: not by exec, nor by fork alone."""

    def __init__(self, path: Path) -> None:
        # Python opens files with O_CLOEXEC.
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        open_locks.add(self)

    def lock(self, operation: int) -> bool:
        """Lock the file, or change the kind of its lock; False if LOCK_NB is set and others do not allow it."""
        try:
            fcntl.flock(self.descriptor, operation)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Close the file. A child that was forked closes its copy only: the lock stays."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


open_locks: WeakSet[FileLock] = WeakSet()


def close_inherited_locks() -> None:
    for lock in list(open_locks):
        lock.close()


os.register_at_fork(after_in_child=close_inherited_locks)


def has_living_workers(run_folder: Path) -> bool:
    """Whether a worker holds its lock in the run folder."""
    locks = (run_folder / LOCKS_FOLDER).glob("*")
    return any(not is_lock_free(path) for path in locks)


def is_lock_free(path: Path, *, remove: bool = False) -> bool:
    """Whether a worker's lock is free; with `remove` a free one is deleted."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    except OSError:
        # No descriptor is left, for example: that says nothing about the worker.
        return False
    try:
        # Shared: those who look at the same time do not take each other for its holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if remove:
            path.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


class WorkerLocks:
    """Presence of workers in a run folder. A worker joins before it has any lease: a name without a file is that of a
    dead one."""

    def __init__(self, run_folder: Path, worker: str) -> None:
        self.folder = run_folder / LOCKS_FOLDER
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.worker = worker
        draft = self.folder / f".{worker}-{os.getpid()}"
        self.held = FileLock(draft)
        self.held.lock(fcntl.LOCK_EX)
        # Locked first: nobody may find a file that is not locked yet.
        draft.rename(self.folder / worker)

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        """Return those of the workers that have ended. They never come back under the same name."""
        return await asyncio.to_thread(self.find_free_locks, workers)

    def find_free_locks(self, workers: Collection[str]) -> set[str]:
        return {worker for worker in workers if worker != self.worker and self.is_free(worker)}

    def count_files(self) -> int:
        """Count the workers that have not left; some may have died."""
        with contextlib.suppress(OSError):
            return max(1, sum(name.isdecimal() for name in os.listdir(self.folder)))
        return 1

    def is_free(self, worker: str, *, remove: bool = False) -> bool:
        return not worker.isdecimal() or is_lock_free(self.folder / worker, remove=remove)

    def remove_free_locks(self, workers: Collection[str]) -> None:
        """Delete the files of dead workers whose runs have ended."""
        for worker in workers:
            self.is_free(worker, remove=True)

    async def close(self) -> None:
        self.release()

    def release(self) -> None:
        """Free this worker's lock: from now on it counts as dead."""
        if self.held.descriptor >= 0:
            with contextlib.suppress(OSError):
                (self.folder / self.worker).unlink()
            self.held.close()
