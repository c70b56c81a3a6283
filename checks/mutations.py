"""`make mutations`: removes each guard of checks/guards.toml in a copy of the tree and runs its tests, which must fail.

Each copy has an environment of its own, so that child processes run the copied code too. A test counts that fails while
it runs: an error in a fixture or at collection proves nothing. Each test that failed must pass with its guard in place.
`--list` prints the guards, `--row N` takes one row.
"""

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from checks.files import ROOT, list_tracked_files
from checks.guards import TABLE, Guard, GuardTableError, read_rows, shorten_path
from checks.outcomes import OUTCOMES_VARIABLE
from checks.targets import HANG_TIMEOUT, TIMED_OUT, run_group

RUFF = Path(sys.executable).with_name("ruff")
TEST_TIMEOUT = 120
RUN_TIMEOUT = 300.0
"""Seconds of one run of pytest. A test that is stuck without its guard counts as failed."""
PYTEST_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "checks.outcomes", "--timeout-method=signal")

State = Literal["held", "untested", "lost", "broken", "skipped"]
"""held: a test failed without the guard. untested: all passed. lost: the text is not there. broken: nothing was shown.
skipped: this machine cannot run the tests."""


@dataclass(frozen=True)
class Verdict:
    guard: Guard
    state: State
    detail: str
    seconds: float
    failed_test: str = ""

    @property
    def is_problem(self) -> bool:
        return self.state not in ("held", "skipped")

    def format_line(self) -> str:
        mark = {"held": "ok ", "skipped": "-- "}.get(self.state, "RED")
        place = f"{shorten_path(self.guard.file)}: {self.guard.name}"
        return f"  {mark} row {self.guard.row:<3} {place:<78} {self.seconds:5.1f} s  {self.detail}".rstrip()


@dataclass(frozen=True)
class PytestRun:
    code: int
    outcomes: list[dict[str, str]]
    output: str

    def find_failed(self) -> str:
        """Return the first test that failed while it ran, or that never ended; empty without one."""
        for entry in self.outcomes:
            if entry["phase"] == "call" and entry["outcome"] == "failed":
                return entry["test"]
        ended = {entry["test"] for entry in self.outcomes if entry["outcome"] != "started" and entry["phase"] == "call"}
        stuck = [entry["test"] for entry in self.outcomes if entry["outcome"] == "started"]
        return next((test for test in stuck if self.code == TIMED_OUT and test not in ended), "")

    @property
    def is_skipped(self) -> bool:
        outcomes = {entry["outcome"] for entry in self.outcomes}
        ran = any(entry["phase"] == "call" and entry["outcome"] in ("passed", "failed") for entry in self.outcomes)
        return "skipped" in outcomes and not ran

    @property
    def last_line(self) -> str:
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1][:200] if lines else "no output"


class TreeCopy:
    """Copy of the project in a folder of its own, with an environment whose packages are the project's."""

    def __init__(self, folder: Path, source: Path = ROOT) -> None:
        self.folder = folder
        self.runs = 0
        for path in list_tracked_files(source):
            place = folder / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
        self.python = self.make_environment()
        self.check_environment()

    def make_environment(self) -> Path:
        """Make .venv: the packages of the environment that runs this, and the copied src instead of the project's."""
        environment = Path(sys.prefix)
        here = self.folder / ".venv"
        # Only a path that a .pth file names is not searched for further .pth files, such as the project's own.
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = environment / "lib" / version / "site-packages"
        own_packages = here / "lib" / version / "site-packages"
        own_packages.mkdir(parents=True)
        (own_packages / "copy.pth").write_text(f"{self.folder / 'src'}\n{packages}\n", encoding="utf-8")
        shutil.copy(environment / "pyvenv.cfg", here)
        (here / "bin").mkdir()
        python = here / "bin" / "python"
        python.symlink_to(Path(sys.executable).resolve())
        script = (environment / "bin" / "rightseat").read_text(encoding="utf-8")
        command = here / "bin" / "rightseat"
        command.write_text(f"#!{python}\n{script.partition(chr(10))[2]}", encoding="utf-8")
        command.chmod(0o755)
        return python

    def check_environment(self) -> None:
        """Raise RuntimeError unless the copy's Python imports the copied code, without any help of the environment."""
        line = [str(self.python), "-I", "-c", "import rightseat, pytest; print(rightseat.__file__)"]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd="/", env={})
        if done.stdout.strip() != str(self.folder / "src" / "rightseat" / "__init__.py"):
            raise RuntimeError(f"the copy's Python imports other code: {done.stdout}{done.stderr}")

    @contextmanager
    def without(self, guard: Guard) -> Iterator[None]:
        """Remove a guard from its file until the block ends; GuardTableError where that cannot be done."""
        path = self.folder / guard.file
        if not path.is_file():
            raise GuardTableError(f"{guard.file} no longer exists: write the new place into checks/guards.toml")
        before = path.read_text(encoding="utf-8")
        stat = path.stat()
        path.write_text(guard.remove_from(before), encoding="utf-8")
        self.runs += 1
        # Cached bytecode counts as valid by time and size: each version of the file has a time of its own.
        os.utime(path, (stat.st_atime, stat.st_mtime + 10 * self.runs))
        try:
            if path.suffix == ".py":
                check_names(path)
            yield
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime))

    def run_tests(self, *arguments: str, timeout: float = RUN_TIMEOUT) -> PytestRun:
        """Run pytest in the copy."""
        self.runs += 1
        outcomes, output = self.folder / f"outcomes-{self.runs}.jsonl", self.folder / f"output-{self.runs}.txt"
        outcomes.touch()
        environment = {**os.environ, OUTCOMES_VARIABLE: str(outcomes), "PYTHONPATH": "", "PYTEST_ADDOPTS": ""}
        # The number of rounds of `make quick`: one failure is enough.
        environment["ROUNDS"] = "3"
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        line = [str(self.python), "-m", "pytest", *PYTEST_OPTIONS, f"--timeout={TEST_TIMEOUT}", *arguments]
        code = run_group(line, timeout, cwd=self.folder, env=environment, output=output)
        entries = [json.loads(entry) for entry in outcomes.read_text(encoding="utf-8").splitlines()]
        return PytestRun(code, entries, output.read_text(encoding="utf-8", errors="replace"))


def check_names(path: Path) -> None:
    """Raise GuardTableError where a file is no Python or uses a name that it does not have: any test would fail."""
    line = [str(RUFF), "check", "--quiet", "--no-cache", "--isolated", "--output-format=concise"]
    done = subprocess.run([*line, "--select=F821,F811,E9", str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GuardTableError(f"without the guard it is no valid Python: {done.stdout.strip()}{done.stderr.strip()}")


def judge_guard(tree: TreeCopy, guard: Guard) -> Verdict:
    """Remove one guard and run its tests."""
    begun = time.monotonic()

    def make_verdict(state: State, detail: str, failed_test: str = "") -> Verdict:
        return Verdict(guard, state, detail, time.monotonic() - begun, failed_test)

    try:
        with tree.without(guard):
            run = tree.run_tests("-x", *guard.tests)
    except GuardTableError as error:
        return make_verdict("lost", str(error))
    if failed_test := run.find_failed():
        file, _, name = failed_test.partition("::")
        return make_verdict("held", f"{Path(file).name}::{name} fails", failed_test)
    if run.is_skipped:
        return make_verdict("skipped", f"skipped here: {run.last_line}")
    if run.code == 0:
        return make_verdict("untested", f"every test passes without it: {', '.join(guard.tests)}")
    return make_verdict("broken", f"no test failed while it ran, pytest's exit code is {run.code}: {run.last_line}")


def judge_guards(guards: Sequence[Guard], trees: Sequence[TreeCopy]) -> Iterator[Verdict]:
    """Judge guards side by side, one at a time in each copy."""
    free: queue.Queue[TreeCopy] = queue.Queue()
    for tree in trees:
        free.put(tree)

    def judge(guard: Guard) -> Verdict:
        tree = free.get()
        try:
            return judge_guard(tree, guard)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        for done in as_completed([pool.submit(judge, guard) for guard in guards]):
            yield done.result()


def find_unstable(tree: TreeCopy, verdicts: Sequence[Verdict], workers: int) -> list[str]:
    """Run the tests that failed with every guard in place; return a sentence for each that does not pass."""
    tests = list(dict.fromkeys(verdict.failed_test for verdict in verdicts if verdict.failed_test))
    if not tests:
        return []
    run = tree.run_tests("-n", str(workers), *tests, timeout=HANG_TIMEOUT)
    passed = {entry["test"] for entry in run.outcomes if entry["phase"] == "call" and entry["outcome"] == "passed"}
    return [
        f"row {verdict.guard.row}, {verdict.guard.name}: {verdict.failed_test} fails with the guard too"
        for verdict in verdicts
        if verdict.failed_test and verdict.failed_test not in passed
    ]


def check_guards(guards: Sequence[Guard], source: Path = ROOT, workers: int | None = None) -> list[str]:
    """Judge the guards, print a line for each, and return a sentence for each problem."""
    count = min(workers or os.cpu_count() or 1, len(guards))
    problems: list[str] = []
    verdicts: list[Verdict] = []
    # Readable for every user, as the sandbox of plugins needs it.
    with tempfile.TemporaryDirectory(prefix="rightseat-mutations-") as name:
        Path(name).chmod(0o755)
        trees = [TreeCopy(Path(name).resolve() / str(number), source) for number in range(count)]
        for number, verdict in enumerate(judge_guards(guards, trees), 1):
            print(f"{number:>4}/{len(guards)}{verdict.format_line()}", flush=True)
            verdicts.append(verdict)
            if verdict.is_problem:
                problems.append(f"row {verdict.guard.row}, {verdict.guard.name}: {verdict.detail}")
        problems += find_unstable(trees[0], verdicts, count)
    return problems


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m checks.mutations", description="Remove each guard; tests must fail."
    )
    parser.add_argument("--row", type=int, action="append", help="only this row, may be repeated")
    parser.add_argument("--list", action="store_true", help="print the guards and run nothing")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table")
    parser.add_argument("--workers", type=int, help="how many guards at once; as many as cores by default")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse_arguments(arguments)
    started = time.monotonic()
    try:
        rows = read_rows(options.table)
    except GuardTableError as error:
        print(error, file=sys.stderr)
        return 2
    guards = [guard for row in rows for guard in row.guards if not options.row or row.number in options.row]
    if not guards:
        print(f"no guard in rows {options.row}; there are rows 1 to {len(rows)}", file=sys.stderr)
        return 2
    if options.list:
        for guard in guards:
            print(f"row {guard.row:<3} {shorten_path(guard.file)}: {guard.name}\n        {' '.join(guard.tests)}")
        return 0
    problems = check_guards(guards, workers=options.workers)
    print("\n".join(problems))
    verdict = f"{len(problems)} problems" if problems else f"each of {len(guards)} guards is held by a test"
    print(f"mutations: {verdict} in {time.monotonic() - started:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
