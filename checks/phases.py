"""`make test`: three phases, each with its time against its budget. Runs on the bare interpreter.

Red is a failed step, a phase over its budget, or fewer real clients driven than tests/peers/expected.toml
lists.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
TIMED_OUT = 124


def run_group(command: Sequence[str], timeout: float, out: IO[bytes] | None = None) -> int:
    """Runs a command in its own process group, so that ending it ends its children too."""
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=out, stderr=out)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@dataclass
class Phase:
    """One part of the run: steps share a budget, and a hung step is ended at twice that."""

    title: str
    budget: float
    started: float = field(default_factory=time.monotonic)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        print(f"\n== {self.title} (budget {self.budget:.0f} s)", flush=True)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def step(self, name: str, *command: str, out: IO[bytes] | None = None) -> int:
        begun = time.monotonic()
        code = run_group(command, max(2 * self.budget - self.elapsed, 1), out)
        if code == TIMED_OUT:
            print(f"{name}: ended, the phase took twice its budget", flush=True)
        if code != 0:
            what = "could not install" if name.startswith("install") else f"exit {code}"
            self.faults.append(f"{name}: {what}")
        print(f"-- {name}: {time.monotonic() - begun:.1f} s", flush=True)
        return code

    def beside(self, other: tuple[str, ...], step: tuple[str, ...]) -> None:
        """Two steps at the same time: one works while the other waits. What the other says comes after it."""
        with ThreadPoolExecutor(1) as pool, tempfile.TemporaryFile() as said:
            ended = pool.submit(self.step, *other, out=said)
            self.step(*step)
            ended.result()
            said.seek(0)
            print(said.read().decode(errors="replace"), end="", flush=True)

    def close(self) -> str:
        if self.elapsed > self.budget:
            self.faults.append("over budget")
        verdict = f"RED ({'; '.join(self.faults)})" if self.faults else "green"
        return f"{self.title}: {self.elapsed:.1f} s of {self.budget:.0f} s, {verdict}"


def pytest(*arguments: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "pytest", "-q", "--durations=5", "--durations-min=2", *arguments)


def unit_and_contract() -> Phase:
    phase = Phase("1 unit and contract", 180)
    if phase.step("install", "make", "--no-print-directory", f"PYTHON={sys.executable}", ".venv/.dev"):
        return phase
    # No test of this phase measures time, and many wait for a server of theirs to end: more than there are
    # cores. Each worker finds all tests by itself, so not many more, and not those of the next phase.
    chosen = ("--ignore=tests/peers", "-m", "not peers and not process and not model")
    phase.step("tests", *pytest("-n", "4", *chosen))
    return phase


def peers_and_browser() -> Phase:
    phase = Phase("2 real peers and browser", 720)
    # Installing waits for the network while the checks work.
    phase.beside(("check", PYTHON, "-m", "checks"), ("install peers", PYTHON, "tests/peers/install.py"))
    phase.step("tests of peers", *pytest("-m", "(peers or process) and not model"))
    return phase


def real_model() -> Phase:
    phase = Phase("3 real model alone", 420)
    pull = "from rightseat.models.llamacpp import weights; print(weights.pull())"
    phase.step("install weights", PYTHON, "-c", pull)
    phase.step("tests of the model", *pytest("-m", "model"))
    phase.step("short bench", PYTHON, "-m", "bench", "--short")
    return phase


PHASES: tuple[Callable[[], Phase], ...] = (unit_and_contract, peers_and_browser, real_model)


def driven(record: Path) -> dict[str, set[str]]:
    """Versions by name of the clients that tests say they really drove."""
    found: dict[str, set[str]] = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        found.setdefault(entry["name"], set()).add(str(entry["version"]))
    return found


def undriven(found: dict[str, set[str]], expected: Path) -> list[str]:
    names = tomllib.loads(expected.read_text(encoding="utf-8"))["names"]
    return sorted(set(names) - found.keys())


def run(record: Path) -> int:
    os.environ["RIGHTSEAT_DRIVEN"] = str(record)
    # Cached bytecode saves every child process its compile time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The inner make must not look for the outer one's job server.
    os.environ.pop("MAKEFLAGS", None)
    verdicts, red = [], False
    for phase_of in PHASES:
        phase = phase_of()
        verdicts.append(phase.close())
        red = red or bool(phase.faults)
        if "install: could not install" in phase.faults:
            break
    found = driven(record)
    missing = undriven(found, ROOT / "tests" / "peers" / "expected.toml")
    print("\n== make test\n" + "\n".join(verdicts))
    clients = ", ".join(f"{name} {' '.join(sorted(found[name]))}" for name in sorted(found))
    print(f"driven: {clients or 'nothing'}")
    if missing:
        print(f"RED: not driven though expected: {', '.join(missing)}")
    return 1 if red or missing else 0


def main() -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "driven.jsonl"
        record.touch()
        code = run(record)
    print(f"{'RED' if code else 'GREEN'} in {time.monotonic() - started:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
