"""Progress on stderr: a bar for downloads, a spinner for anything else that takes more than a second.

Where stderr is no terminal, a few plain lines are printed instead.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

QUIET_SECONDS = 1.0
_TURN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURN_SECONDS = 0.1
# Lines printed per download where there is no terminal.
_PARTS = 4

Progress = Callable[[int, int], None]


@contextlib.contextmanager
def waiting(what: str, out: TextIO | None = None, quiet: float = QUIET_SECONDS) -> Iterator[None]:
    """Show a spinner while the block runs, after `delay` seconds."""
    done = threading.Event()
    spinner = threading.Thread(target=_spin, args=(what, out or sys.stderr, quiet, done), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        done.set()
        spinner.join()


def _spin(what: str, out: TextIO, quiet: float, done: threading.Event) -> None:
    begun = time.monotonic()
    if done.wait(quiet):
        return
    # A closed terminal must not stop the server.
    with contextlib.suppress(OSError, ValueError):
        if not out.isatty():
            print(f"{what} …", file=out, flush=True)
            return
        turn = 0
        while not done.wait(_TURN_SECONDS):
            seconds = time.monotonic() - begun
            print(f"\r{_spun(turn, out)} {what} … {seconds:.0f} s", end="", file=out, flush=True)
            turn += 1
        print("\r\x1b[K", end="", file=out, flush=True)


def _spun(turn: int, out: TextIO) -> str:
    unicode = (getattr(out, "encoding", None) or "").lower().startswith("utf")
    signs = _TURN if unicode else "|/-\\"
    return signs[turn % len(signs)]


@contextlib.contextmanager
def downloading(what: str, out: TextIO | None = None) -> Iterator[Progress]:
    """Show a download's progress; yields a callback that takes received and total bytes."""
    out = out or sys.stderr
    if not out.isatty():
        print(f"Fetching {what} …", file=out, flush=True)
        yield _Lines(out)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=Console(file=out), transient=True) as bars:
        # The bar pulses until the total is known.
        bar = bars.add_task(f"Fetching {what}", total=None)
        yield lambda here, total: bars.update(bar, completed=here, total=total)


class _Lines:
    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.said = 0

    def __call__(self, here: int, total: int) -> None:
        part = here * _PARTS // max(1, total)
        if part > self.said:
            self.said = part
            print(f"  {here / 1e6:.0f} of {total / 1e6:.0f} MB", file=self.out, flush=True)
