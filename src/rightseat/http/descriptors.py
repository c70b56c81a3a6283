"""File descriptors: what is said where none is left, and the reserve that a server keeps for new connections."""

from __future__ import annotations

import errno
import logging
import os

from rightseat.errors import Unavailable

NO_DESCRIPTOR = (
    "This server has no file descriptor left, so that it can open no connection. Try again later, and raise its limit "
    "(`ulimit -n`, or LimitNOFILE of its systemd unit)."
)
RETRY_SECONDS = 5
EXHAUSTED_CODES = (errno.EMFILE, errno.ENFILE)
MAX_RESERVE = 16
# Free descriptors beside a full reserve from which on answers are begun again: each takes two.
MIN_FREE = 4

log = logging.getLogger("rightseat.server")


def get_descriptor_limit(*, hard: bool = False) -> int | None:
    """Return how many descriptors this process may have open, or, with `hard`, how many it may allow itself; None
    where there is no such limit."""
    if os.name != "posix":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[hard]
    return None if limit == resource.RLIM_INFINITY else limit


def choose_reserve_size(limit: int | None) -> int:
    return MAX_RESERVE if limit is None else max(2, min(MAX_RESERVE, limit // 16))


def open_descriptors(count: int) -> list[int]:
    """Open as many descriptors as there are, at most `count`."""
    opened: list[int] = []
    try:
        while len(opened) < count:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno not in EXHAUSTED_CODES:
            close_descriptors(opened)
            raise
    return opened


def close_descriptors(opened: list[int]) -> None:
    while opened:
        os.close(opened.pop())


def count_free_descriptors(most: int) -> int:
    """Return how many descriptors can be opened now, at most `most`."""
    opened = open_descriptors(most)
    count = len(opened)
    close_descriptors(opened)
    return count


def find_descriptor_error(error: BaseException | None) -> Unavailable | None:
    """Return the error for an exception that comes of having no descriptor left; None for any other.

    Name lookups and TLS report a file that they cannot open in their own ways, so that the code is not enough.
    """
    if isinstance(error, OSError) and (error.errno in EXHAUSTED_CODES or not count_free_descriptors(1)):
        return make_descriptor_error()
    return None


def make_descriptor_error() -> Unavailable:
    return Unavailable(NO_DESCRIPTOR, retry_after=RETRY_SECONDS)


class DescriptorReserve:
    """Descriptors that are held open and released one by one for new connections, where no other is left.

    `exhausted` tells that the server begins no answers: it has only what is released.
    """

    def __init__(self) -> None:
        self.exhausted = False
        self._size = 0
        self._held: list[int] = []

    def fill(self, size: int) -> bool:
        """Hold `size` descriptors, as far as there are any; return whether there are, and a few free ones beside."""
        self._size = size
        self._held += open_descriptors(size - len(self._held))
        wanted = MIN_FREE if self.exhausted else 1
        return len(self._held) >= size and count_free_descriptors(wanted) == wanted

    def refill(self) -> bool:
        return self.fill(self._size)

    def release_one(self) -> bool:
        """Close a held descriptor, so that its number can be taken at once; returns false if none is held."""
        if not self._held:
            return False
        os.close(self._held.pop())
        return True

    def set_exhausted(self, exhausted: bool) -> None:
        if exhausted and not self.exhausted:
            text = "No file descriptor is left (limit: %s): requests for answers are refused until some are free. %s"
            log.error(text, get_descriptor_limit(), "Raise the limit: `ulimit -n`, or LimitNOFILE of the systemd unit.")
        elif self.exhausted and not exhausted:
            log.warning("There are free file descriptors again: requests for answers are taken.")
        self.exhausted = exhausted

    def close(self) -> None:
        close_descriptors(self._held)
