"""Where things run: the cores, what they are, and the folder the bench's own processes are started from."""

import os
import platform
import re
import resource
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parent.parent
OWN_ENV = {"PYTHONPATH": str(ROOT)}
"""For processes of the bench itself; a peer runs without it."""


def choose_cores() -> tuple[set[int], set[int]] | None:
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


def describe_machine(peers: Iterable[Versioned]) -> dict[str, str]:
    """Without which a figure says nothing."""
    found = {
        "on": datetime.now(UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "uvloop": version("uvloop"),
        "httptools": version("httptools"),
    }
    return found | {peer.name: known for peer in peers if (known := peer.version())}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M) if info.exists() else None
    return f"{platform.machine()} ({named[1]})" if named else platform.machine()


class OtherLoad:
    """How much of the machine others used meanwhile: figures of a busy machine are to be read with care."""

    def __init__(self) -> None:
        self._before = _machine_seconds()
        self._own = _own_seconds()

    def format_share(self) -> str:
        if self._before is None or (now := _machine_seconds()) is None:
            return "unknown"
        busy, total = (after - before for after, before in zip(now, self._before, strict=True))
        others = max(0.0, busy - (_own_seconds() - self._own))
        return f"{100 * others / max(total, 0.01):.0f} %"


def _machine_seconds() -> tuple[float, float] | None:
    """(busy, all) CPU seconds of all cores since it was started."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    ticks = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
    # The fourth and fifth are idle time and waiting for disks.
    idle, per_second = ticks[3] + ticks[4], os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - idle) / per_second, sum(ticks) / per_second


def _own_seconds() -> float:
    """Of this process and every descendant that has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
