"""Machine that local models run on: processors and memory that this process may use, within its cgroup."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

# Where the system does not say: a small machine.
_UNKNOWN_MEMORY = 4 << 30
_GPU_DEVICES = ("dev/nvidiactl", "dev/kfd")


class Machine(Struct, frozen=True):
    """Processors and memory of a machine, in bytes."""

    processors: int
    """Logical processors that this process may use."""
    cores: int
    """Physical cores among them; only the fast ones where there are two kinds."""
    memory: int
    free: int
    gpu: bool = False
    """Whether there is a graphics card with memory of its own, whose size is not known here."""

    def describe(self) -> str:
        cores = f"{self.cores} core{'' if self.cores == 1 else 's'}"
        if self.processors != self.cores:
            cores += f" ({self.processors} processors)"
        gpu = ", with a GPU" if self.gpu else ""
        return f"{cores}, {self.memory / 1e9:.1f} GB memory, {self.free / 1e9:.1f} GB free{gpu}"


@functools.cache
def get_machine() -> Machine:
    """Return this machine, read once: a reload must choose the same settings, or the engine would restart."""
    return read_linux() if sys.platform == "linux" else read_other_system()


def read_linux(root: Path = Path("/"), allowed: set[int] | None = None) -> Machine:
    """Read /proc and /sys below `root`. `allowed` are the numbers of usable processors."""
    numbers = _get_affinity() if allowed is None else allowed
    memory, free = _read_memory(root)
    processors = len(numbers)
    for folder in _list_cgroups(root, "cpu"):
        if quota := _read_quota(folder):
            processors = min(processors, max(1, int(quota)))
    for folder in _list_cgroups(root, "memory"):
        limit = _read_number(folder / "memory.max") or _read_number(folder / "memory.limit_in_bytes")
        if limit and limit < memory:
            memory = limit
        if limit:
            free = max(0, min(free, limit - _read_used_memory(folder)))
    cores = min(_count_cores(root, numbers), processors)
    return Machine(processors, cores, memory, free, any((root / device).exists() for device in _GPU_DEVICES))


def read_other_system() -> Machine:
    """Read macOS; on Windows the memory is not known and a small one is assumed."""
    processors = os.cpu_count() or 2
    cores = _read_sysctl("hw.perflevel0.physicalcpu") or _read_sysctl("hw.physicalcpu") or processors
    memory = _read_sysctl("hw.memsize") or _UNKNOWN_MEMORY
    return Machine(processors, min(cores, processors), memory, memory // 2)


def _get_affinity() -> set[int]:
    if sys.platform == "linux":
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 2))


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _read_number(path: Path) -> int | None:
    """Return the number in a file of the kernel; None if there is none, such as "max"."""
    text = _read_text(path).strip()
    return int(text) if text.isdecimal() else None


def _read_memory(root: Path) -> tuple[int, int]:
    """Return total and available bytes."""
    lines = (line.partition(":") for line in _read_text(root / "proc/meminfo").splitlines())
    sizes = {name: int(size.split()[0]) << 10 for name, _, size in lines if size.split()[:1]}
    memory = sizes.get("MemTotal", _UNKNOWN_MEMORY)
    return memory, sizes.get("MemAvailable", memory // 2)


def _list_cgroups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's cgroup and of those around it, in both versions of cgroups."""
    base = root / "sys/fs/cgroup"
    for line in _read_text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        top = base / controller if controllers else base
        folder = top / path.strip("/")
        yield folder
        # A container may see the path of its host, which is not mounted: its own limits are at the top.
        yield from (parent for parent in folder.parents if parent.is_relative_to(top))


def _read_quota(folder: Path) -> float | None:
    """Return how many processors a cgroup may use; None if there is no limit."""
    numbers = _read_text(folder / "cpu.max").split()
    if not numbers:
        numbers = [_read_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    if len(numbers) != 2 or not all(number.isdecimal() and int(number) for number in numbers):
        return None
    return int(numbers[0]) / int(numbers[1])


def _read_used_memory(folder: Path) -> int:
    """Return the bytes that a cgroup uses, without files in the page cache that can be dropped."""
    used = _read_number(folder / "memory.current") or _read_number(folder / "memory.usage_in_bytes") or 0
    fields = (line.split() for line in _read_text(folder / "memory.stat").splitlines())
    cached = {field[0]: int(field[1]) for field in fields if len(field) == 2 and field[1].isdecimal()}
    return max(0, used - cached.get("total_inactive_file", cached.get("inactive_file", 0)))


def _count_cores(root: Path, numbers: set[int]) -> int:
    """Count the physical cores of these processors: two threads of one core compute no faster than one."""
    fast = numbers & _parse_processor_list(_read_text(root / "sys/devices/cpu_core/cpus"))
    topology = root / "sys/devices/system/cpu"
    return len(
        {
            _read_text(topology / f"cpu{number}/topology/thread_siblings_list").strip() or str(number)
            for number in fast or numbers
        }
    )


def _parse_processor_list(text: str) -> set[int]:
    """Parse the kernel's lists, such as 0-3,8."""
    ranges = [part.strip().partition("-") for part in text.split(",") if part.strip()]
    if not all(first.isdecimal() and (last or "0").isdecimal() for first, _, last in ranges):
        return set()
    return {number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)}


def _read_sysctl(name: str) -> int | None:
    if sys.platform != "darwin":
        return None
    import ctypes

    value, size = ctypes.c_uint64(0), ctypes.c_size_t(8)
    failed = ctypes.CDLL(None).sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0)
    return None if failed else value.value
