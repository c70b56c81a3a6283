"""Where things run: the cores, and the folder the bench's own processes are started from."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN_ENV = {"PYTHONPATH": str(ROOT)}
"""For processes of the bench itself; a peer runs without it."""


def cores() -> tuple[set[int], set[int]] | None:
    """(driver's and upstream's, peer's) cores, or None where there is nothing to choose."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    return ({allowed[0]}, {allowed[1]}) if len(allowed) > 1 else None
