"""Where things run: the cores, what they are, and the folder the bench's own processes are started from."""

import os
import platform
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parent.parent
OWN_ENV = {"PYTHONPATH": str(ROOT)}
"""For processes of the bench itself; a peer runs without it."""


def cores() -> tuple[set[int], set[int]] | None:
    """(driver's and upstream's, peer's) cores, or None where there is nothing to choose."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    return ({allowed[0]}, {allowed[1]}) if len(allowed) > 1 else None


class Versioned(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> Callable[[], str]: ...


def about(peers: Iterable[Versioned]) -> dict[str, str]:
    """Without which a figure says nothing."""
    found = {
        "on": datetime.now(UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "uvloop": version("uvloop"),
        "aiohttp": version("aiohttp"),
    }
    return found | {peer.name: known for peer in peers if (known := peer.version())}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M) if info.exists() else None
    return f"{platform.machine()} ({named[1]})" if named else platform.machine()
