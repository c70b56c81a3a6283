"""The machine that a local model runs on: what Linux says, with and without cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightseat.models.llamacpp import machine
from rightseat.models.llamacpp.machine import Machine, read_linux

GIB = 1 << 30
MEMINFO = "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:    8388608 kB\nHugePages_Total:       0\n"


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def siblings(pairs: dict[int, str]) -> dict[str, str]:
    folder = "sys/devices/system/cpu"
    return {f"{folder}/cpu{number}/topology/thread_siblings_list": f"{text}\n" for number, text in pairs.items()}


@pytest.mark.demand("llamacpp.settings_chosen_by_machine")
def test_a_machine_without_limits(tmp_path: Path) -> None:
    root = write_files(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"})
    assert read_linux(root, {0, 1, 2, 3}) == Machine(4, 4, 16 * GIB, 8 * GIB)


@pytest.mark.demand("llamacpp.settings_chosen_by_machine")
def test_two_threads_of_a_core_count_once_and_slow_cores_not_at_all(tmp_path: Path) -> None:
    hyper = siblings({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    root = write_files(tmp_path, hyper)
    assert read_linux(root, {0, 1, 2, 3}).cores == 2
    assert read_linux(root, {1, 2}).cores == 2, "the affinity leaves one thread of each core"
    write_files(tmp_path, {**siblings({4: "4", 5: "5"}), "sys/devices/cpu_core/cpus": "0-3\n"})
    found = read_linux(root, set(range(6)))
    assert (found.processors, found.cores) == (6, 2)


@pytest.mark.demand("llamacpp.settings_chosen_by_machine")
@pytest.mark.parametrize(
    "files",
    [
        {
            "proc/self/cgroup": "0::/pod/app\n",
            "sys/fs/cgroup/pod/cpu.max": "250000 100000\n",
            "sys/fs/cgroup/pod/app/cpu.max": "max 100000\n",
            "sys/fs/cgroup/pod/app/memory.max": f"{4 * GIB}\n",
            "sys/fs/cgroup/pod/app/memory.current": f"{3 * GIB}\n",
            "sys/fs/cgroup/pod/app/memory.stat": f"anon 5\ninactive_file {2 * GIB}\n",
        },
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n1:pids:/x\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{4 * GIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
        },
    ],
    ids=["v2", "v1"],
)
def test_a_cgroup_limits_both(tmp_path: Path, files: dict[str, str]) -> None:
    assert read_linux(write_files(tmp_path, files), set(range(8))) == Machine(2, 2, 4 * GIB, 3 * GIB)


def test_a_graphics_card_is_seen_and_odd_files_are_no_error(tmp_path: Path) -> None:
    odd = {
        "proc/self/cgroup": "no cgroup\n0::/a\n",
        "sys/fs/cgroup/a/cpu.max": "0 0\n",
        "sys/fs/cgroup/a/memory.max": "max\n",
        "sys/devices/cpu_core/cpus": "all\n",
        "proc/meminfo": "nothing here\n",
        "dev/nvidiactl": "",
    }
    found = read_linux(write_files(tmp_path, odd), {0, 1})
    assert (found.processors, found.cores, found.memory, found.gpu) == (2, 2, 4 * GIB, True)


def test_this_machine_has_what_it_needs() -> None:
    found = machine.get_machine()
    assert 1 <= found.cores <= found.processors
    assert 0 < found.free <= found.memory
    assert machine.get_machine() is found, "read once: a reload chooses the same"
    other = machine.read_other_system()
    assert other.cores >= 1
    assert other.free < other.memory


def test_a_machine_in_words() -> None:
    assert Machine(1, 1, 10**9, 5 * 10**8).describe() == "1 core, 1.0 GB memory, 0.5 GB free"
    words = "4 cores (8 processors), 16.0 GB memory, 9.0 GB free, with a GPU"
    assert Machine(8, 4, 16 * 10**9, 9 * 10**9, gpu=True).describe() == words
