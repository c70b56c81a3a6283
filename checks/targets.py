"""The test targets of the Makefile: `python3 checks/targets.py TARGET...`. Runs on the bare interpreter.

Each step prints its time, pytest its slowest ten tests; no time is ever a reason to be red. Red is a failed
step, and with CI set also a real client that was not driven though tests/peers/expected.toml lists it. Exit
code 3 means "could not install" or "could not fetch", which is never a failed test.
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
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
DOCS_PYTHON = str(ROOT / ".venv-docs" / "bin" / "python")
EXPECTED = ROOT / "tests" / "peers" / "expected.toml"
FAILED, MAKE_FAILED, COULD_NOT_INSTALL, TIMED_OUT = 1, 2, 3, 124
HANG_TIMEOUT = 3600.0
"""Seconds after which a step counts as stuck and is ended. No step takes as long, on any machine."""
MARK_EXPRESSIONS = {
    "test": "not peers and not long",
    "test-peers": "(peers or long) and not model",
    "test-model": "(peers or long) and model",
}
COVERED_PARTS = ("types", "tools", "http", "engine", "runtime", "middleware", "doors")
COVERED_FOLDERS = (*(f"tests/unit/{part}" for part in COVERED_PARTS), "tests/contract")


def run_group(command: Sequence[str], timeout: float = HANG_TIMEOUT) -> int:
    """Run a command in a process group of its own, which ends with it; return its exit code."""
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@dataclass
class Target:
    """One target of the Makefile while it runs: its steps, their faults, its time."""

    name: str
    started: float = field(default_factory=time.monotonic)
    faults: list[str] = field(default_factory=list)
    not_installed: bool = False

    def __post_init__(self) -> None:
        print(f"\n== make {self.name}", flush=True)

    def run_step(self, name: str, *command: str, timeout: float = HANG_TIMEOUT) -> bool:
        """Run one step; return whether it went well."""
        begun = time.monotonic()
        code = run_group(command, timeout)
        if code == TIMED_OUT:
            self.faults.append(f"{name}: stuck, ended after {timeout:.0f} s")
        elif failed_to_install(name, code):
            self.not_installed = True
            self.faults.append(f"{name}: could not {name.split()[0]}")
        elif code != 0:
            self.faults.append(f"{name}: exit {code}")
        print(f"-- {name}: {time.monotonic() - begun:.1f} s", flush=True)
        return code == 0

    def format_verdict(self) -> str:
        """Return the line of the summary."""
        state = f"RED ({'; '.join(self.faults)})" if self.faults else "green"
        return f"make {self.name}: {state}, {time.monotonic() - self.started:.0f} s"


def failed_to_install(name: str, code: int) -> bool:
    """Return whether a step could not install or fetch; make turns every code of a recipe into 2."""
    if name.startswith("install"):
        return code in (COULD_NOT_INSTALL, MAKE_FAILED)
    return name.startswith("fetch") and code == COULD_NOT_INSTALL


def build_pytest_command(*arguments: str) -> tuple[str, ...]:
    extra = os.environ.get("PYTEST_ARGS", "").split()
    return (PYTHON, "-m", "pytest", "-q", "--durations=10", "--durations-min=0.5", *arguments, *extra)


def build_make_command(goal: str) -> tuple[str, ...]:
    return ("make", "--no-print-directory", f"PYTHON={sys.executable}", goal)


def install_tools(target: Target) -> bool:
    """Install the locked development tools; return whether they are there."""
    return target.run_step("install", *build_make_command(".venv/.dev"))


def run_test(target: Target) -> None:
    if install_tools(target):
        target.run_step("fetch weights", PYTHON, "-m", "tests.kit.embedded")
        # All that need a foreign program: not collecting them saves each worker a second.
        chosen = ("--ignore=tests/peers", "-m", MARK_EXPRESSIONS["test"])
        target.run_step("tests", *build_pytest_command("-n", "auto", "--dist", "worksteal", *chosen))


def run_check(target: Target) -> None:
    if install_tools(target):
        target.run_step("check", PYTHON, "-m", "checks")


def run_docs(target: Target) -> None:
    if target.run_step("install docs", *build_make_command(".venv-docs/.installed")):
        # With --quiet, MkDocs would not count warnings, and a broken link would be green.
        target.run_step("build the site", DOCS_PYTHON, "-m", "mkdocs", "build", "--strict")


def run_peers(target: Target) -> None:
    if not install_tools(target):
        return
    # What cannot be installed is told by the tests that need it: skipped, or red where CI is set.
    run_group((PYTHON, "tests/peers/install.py"))
    print(f"-- install peers: {time.monotonic() - target.started:.1f} s", flush=True)
    target.run_step("tests", *build_pytest_command("-m", MARK_EXPRESSIONS["test-peers"]))


def run_model(target: Target) -> None:
    if install_tools(target):
        target.run_step("fetch weights", PYTHON, "-m", "tests.kit.embedded")
        target.run_step("tests", *build_pytest_command("-m", MARK_EXPRESSIONS["test-model"]))


def run_bench(target: Target) -> None:
    if install_tools(target):
        target.run_step("short bench", PYTHON, "-m", "bench", "--short")


def run_coverage(target: Target) -> None:
    if install_tools(target):
        measured = ("--cov", "--cov-report=term:skip-covered", "-n", "auto", *COVERED_FOLDERS)
        target.run_step(
            "coverage of the engine and the doors", *build_pytest_command(*measured, "-m", MARK_EXPRESSIONS["test"])
        )


TARGETS: dict[str, Callable[[Target], None]] = {
    "test": run_test,
    "check": run_check,
    "docs": run_docs,
    "test-peers": run_peers,
    "test-model": run_model,
    "bench-short": run_bench,
    "coverage": run_coverage,
}


def read_driven(record: Path) -> dict[str, set[str]]:
    """Return the versions, by name, of the clients that tests say they really drove."""
    versions: dict[str, set[str]] = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        versions.setdefault(entry["name"], set()).add(str(entry["version"]))
    return versions


def find_undriven(versions: dict[str, set[str]], expected: Path) -> list[str]:
    names = tomllib.loads(expected.read_text(encoding="utf-8"))["names"]
    return sorted(set(names) - versions.keys())


def run_targets(names: Sequence[str], record: Path) -> int:
    os.environ["RIGHTSEAT_DRIVEN"] = str(record)
    # Cached bytecode saves every child process its compile time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The inner make must not look for the outer one's job server.
    os.environ.pop("MAKEFLAGS", None)
    done: list[Target] = []
    verdicts: list[str] = []
    for name in names:
        target = Target(name)
        TARGETS[name](target)
        done.append(target)
        verdicts.append(target.format_verdict())
        print(verdicts[-1], flush=True)
        if "install: could not install" in target.faults:
            break
    missing = report_driven(record) if {"test-peers", "test-model"} <= set(names) else []
    print("\n== summary\n" + "\n".join(verdicts))
    if any(target.faults for target in done) or missing:
        return COULD_NOT_INSTALL if all(target.not_installed for target in done if target.faults) else FAILED
    return 0


def report_driven(record: Path) -> list[str]:
    """Print which clients were driven; return those that were not, where that is red."""
    versions = read_driven(record)
    clients = ", ".join(f"{name} {' '.join(sorted(versions[name]))}" for name in sorted(versions))
    print(f"\ndriven: {clients or 'nothing'}")
    missing = find_undriven(versions, EXPECTED)
    if missing:
        print(f"not driven though expected: {', '.join(missing)}")
    return missing if os.environ.get("CI") else []


def main(names: Sequence[str]) -> int:
    started = time.monotonic()
    unknown = [name for name in names if name not in TARGETS]
    if unknown or not names:
        print(f"usage: targets.py TARGET... (one of: {', '.join(TARGETS)})", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "driven.jsonl"
        record.touch()
        code = run_targets(names, record)
    print(f"{'RED' if code else 'GREEN'} in {time.monotonic() - started:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
