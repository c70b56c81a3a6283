"""What the kernel knows about a process and its descendants."""

import os
import time
from pathlib import Path

PROC = Path("/proc")


def _list_processes() -> dict[int, tuple[int, int]]:
    """pid → (parent's pid, session), of everything that runs (zombies are gone for us)."""
    processes: dict[int, tuple[int, int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                # The name may hold spaces and parentheses; the fields follow the last one.
                state, parent, _group, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state != "Z":
                processes[int(entry.name)] = (int(parent), int(session))
    return processes


def list_tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    running = _list_processes()
    pids = [pid] if pid in running else []
    for member in pids:
        pids.extend(child for child, (parent, _) in running.items() if parent == member)
    return pids


def list_session(leader: int) -> list[int]:
    """Everything that still runs in the session that the process opened, orphans too."""
    return [pid for pid, (_, session) in _list_processes().items() if session == leader]


def is_alive(pid: int) -> bool:
    return pid in _list_processes()


def measure_cpu_seconds(pid: int) -> float:
    """CPU of the whole tree, exact to the nanosecond, threads that have ended included.

    The clock of another process: Linux numbers it (~pid << 3) | 2, as clock_getcpuclockid does.
    """
    return sum(time.clock_gettime_ns((~member << 3) | 2) for member in list_tree(pid)) / 1e9


def measure_rss_bytes(pid: int) -> int:
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int((PROC / str(member) / "statm").read_text().split()[1]) * page for member in list_tree(pid))


def measure_pss_bytes(pid: int) -> int:
    """Memory of the whole tree; a page that several processes have counts in parts."""
    total = 0
    for member in list_tree(pid):
        fields = dict(
            line.split(":", 1) for line in (PROC / str(member) / "smaps_rollup").read_text().splitlines() if ":" in line
        )
        total += int(fields["Pss"].split()[0]) << 10
    return total


def list_open_files(pid: int) -> list[str]:
    """Where each descriptor of the process leads: `socket:[…]`, a path, …"""
    targets: list[str] = []
    for entry in (PROC / str(pid) / "fd").iterdir():
        try:
            targets.append(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return targets


def count_threads(pid: int) -> int:
    return len(list((PROC / str(pid) / "task").iterdir()))
