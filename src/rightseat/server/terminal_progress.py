"""Progress on stderr: a bar for downloads, a spinner for anything else that takes more than a second.

Where stderr is no terminal, a few plain lines are printed instead.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rightseat.wiring.runtime import Runtime

SPINNER_DELAY = 1.0
_SPINNER_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAME_SECONDS = 0.1
# Lines printed per download where there is no terminal.
_PROGRESS_LINES = 4

ReportProgress = Callable[[int, int], None]


@contextlib.contextmanager
def show_spinner(label: str, out: TextIO | None = None, delay: float = SPINNER_DELAY) -> Iterator[None]:
    """Show a spinner while the block runs, after `delay` seconds."""
    done = threading.Event()
    spinner = threading.Thread(target=_spin, args=(label, out or sys.stderr, delay, done), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        done.set()
        spinner.join()


def show_start(runtime: Runtime) -> contextlib.AbstractContextManager[None]:
    """Show a spinner while a runtime starts, which says what it most probably waits for."""
    models = (model for assistant in runtime.assistants.values() for model in assistant.all_models)
    return show_spinner("Loading the local model" if any(model.weights for model in models) else "Starting")


def _spin(label: str, out: TextIO, delay: float, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(delay):
        return
    # A closed terminal must not stop the server.
    with contextlib.suppress(OSError, ValueError):
        if not out.isatty():
            print(f"{label} …", file=out, flush=True)
            return
        unicode = (getattr(out, "encoding", None) or "").lower().startswith("utf")
        for frame in itertools.cycle(_SPINNER_FRAMES if unicode else "|/-\\"):
            if done.wait(_FRAME_SECONDS):
                break
            # The cursor goes back to the line's start: a log line meanwhile replaces the spinner.
            print(f"{frame} {label} … {time.monotonic() - started:.0f} s", end="\r", file=out, flush=True)
        print("\x1b[K", end="", file=out, flush=True)


@contextlib.contextmanager
def show_download(label: str, out: TextIO | None = None) -> Iterator[ReportProgress]:
    """Show a download's progress; yields a callback that takes received and total bytes (0: unknown)."""
    out = out or sys.stderr
    if not out.isatty():
        print(f"Fetching {label} …", file=out, flush=True)
        reported = 0

        def report(here: int, total: int) -> None:
            nonlocal reported
            part = here * _PROGRESS_LINES // total if total else 0
            if part > reported:
                reported = part
                print(f"  {here / 1e6:.0f} of {total / 1e6:.0f} MB", file=out, flush=True)

        yield report
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=Console(file=out), transient=True) as bars:
        # The bar pulses until the total is known.
        bar = bars.add_task(f"Fetching {label}", total=None)
        yield lambda here, total: bars.update(bar, completed=here, total=total or None)


@contextlib.contextmanager
def show_count(label: str, out: TextIO | None = None) -> Iterator[ReportProgress]:
    """Show how many rows are done; yields a callback that takes the number and the total."""
    out = out or sys.stderr
    on_terminal, reported, shown = out.isatty(), 0, 0.0

    def report(here: int, total: int) -> None:
        nonlocal reported, shown
        part = here * _PROGRESS_LINES // total if total else 0
        now = time.monotonic()
        # A closed terminal must not stop the work.
        with contextlib.suppress(OSError, ValueError):
            if on_terminal and (now - shown > _FRAME_SECONDS or here == total):
                shown = now
                print(f"\r{label} … {here:,} of {total:,} rows", end="", file=out, flush=True)
            elif not on_terminal and part > reported:
                reported = part
                print(f"{label} … {here:,} of {total:,} rows", file=out, flush=True)

    try:
        yield report
    finally:
        if on_terminal:
            with contextlib.suppress(OSError, ValueError):
                print("\r\x1b[K", end="", file=out, flush=True)
