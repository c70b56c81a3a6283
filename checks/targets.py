"""The test targets of the Makefile: `python3 checks/targets.py TARGET...`. Runs on the bare interpreter.

Each step prints its time, pytest its slowest ten tests; no time is ever a reason to be red. Red is a failed
step, and with CI set also a real client that was not driven though tests/peers/expected.toml lists it, or in
another version than its lock has. Without CI, a run that drove all of them writes the record of checks/clients.py. Exit
code 3 means "could not install" or "could not fetch", which is never a failed test.

A few tests that fail beside others are run once more when nothing else runs. Those that pass then are named in the
verdict, which stays green: they say more of a busy machine than of the code. A test that fails twice is red.

test-model and mutations run beside test-peers where they are asked for too: it waits for clients most of the time.
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
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

# Run as a file, it must find the project.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from checks.clients import RENEWED_LATER, ClientTable

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
DOCS_PYTHON = str(ROOT / ".venv-docs" / "bin" / "python")
EXPECTED = ROOT / "tests" / "peers" / "expected.toml"
CLIENT_TABLE = ClientTable(ROOT)
FAILED, MAKE_FAILED, COULD_NOT_INSTALL, TIMED_OUT = 1, 2, 3, 124
MAX_RETRIED = 5
"""Failed tests of a target that are run again. More have another cause than a busy machine."""
HANG_TIMEOUT = 3600.0
"""Seconds after which a step counts as stuck and is ended. No step takes as long, on any machine."""
MARK_EXPRESSIONS = {
    "test": "not peers and not long and not drill",
    "test-peers": "(peers or long) and not model and not drill",
    "test-model": "(peers or long) and model and not drill",
}
COVERED_PARTS = ("types", "tools", "http", "engine", "runtime", "middleware", "doors")
COVERED_FOLDERS = (*(f"tests/unit/{part}" for part in COVERED_PARTS), "tests/contract")
# The contract suites cover what is behind a socket there; of their own tests the fast ones do, in a minute.
FAST_COVERED_FOLDERS = ("tests/unit/models", "tests/unit/plugins")
FAST_MARKS = "not io and not model and not peers and not long and not drill and not slow"


running_groups: set[int] = set()


def run_group(
    command: Sequence[str],
    timeout: float = HANG_TIMEOUT,
    *,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
    output: Path | None = None,
) -> int:
    """Run a command in a process group of its own, which ends with it; return its exit code. `output` is the file that
    gets what it prints."""
    with output.open("ab") if output is not None else nullcontext() as file:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdout=file, stderr=file and subprocess.STDOUT, start_new_session=True
        )
    running_groups.add(process.pid)
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        running_groups.discard(process.pid)


@dataclass
class Target:
    """One target of the Makefile while it runs: its steps, their faults, its time."""

    name: str
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    faults: list[str] = field(default_factory=list)
    not_installed: bool = False
    output: Path | None = None
    """File that gets what it prints, where it runs beside another."""
    failed_tests: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Tests to run again, by the fault that they are."""
    retried: list[str] = field(default_factory=list)
    """Tests that have passed the second time."""

    def __post_init__(self) -> None:
        self.print(f"\n== make {self.name}")

    def print(self, line: str) -> None:
        if self.output is None:
            print(line, flush=True)
        else:
            with self.output.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def run_step(self, name: str, *command: str, timeout: float = HANG_TIMEOUT) -> bool:
        """Run one step; return whether it went well."""
        begun = time.monotonic()
        code = run_group(command, timeout, output=self.output)
        if code == TIMED_OUT:
            self.faults.append(f"{name}: stuck, ended after {timeout:.0f} s")
        elif failed_to_install(name, code):
            self.not_installed = True
            self.faults.append(f"{name}: could not {name.split()[0]}")
        elif code != 0:
            self.faults.append(f"{name}: exit {code}")
        self.print(f"-- {name}: {time.monotonic() - begun:.1f} s")
        return code == 0

    def run_tests(self, name: str, *arguments: str) -> None:
        """Run tests as a step; remember the failed ones if they are few."""
        # A folder for each target: several run at the same time.
        cache = ROOT / ".pytest_cache" / self.name
        failed = cache / "v" / "cache" / "lastfailed"
        failed.unlink(missing_ok=True)
        if self.run_step(name, *build_pytest_command("-o", f"cache_dir={cache}", *arguments)) or not failed.exists():
            return
        tests = tuple(json.loads(failed.read_text(encoding="utf-8")))
        if self.faults[-1] == f"{name}: exit {FAILED}" and len(tests) <= MAX_RETRIED:
            self.failed_tests[self.faults[-1]] = tests

    def retry_tests(self) -> None:
        """Run the few failed tests once more; what passes is no fault."""
        self.output = None
        for fault, tests in self.failed_tests.items():
            self.print(f"\n== make {self.name}: failed tests once more, alone")
            if self.run_step("failed tests", PYTHON, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests):
                self.faults.remove(fault)
                self.retried += tests

    def format_verdict(self) -> str:
        """Return the line of the summary."""
        state = f"RED ({'; '.join(self.faults)})" if self.faults else "green"
        if self.retried:
            state += f" (passed the second time: {', '.join(self.retried)})"
        return f"make {self.name}: {state}, {(self.ended or time.monotonic()) - self.started:.0f} s"


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


def compile_tests(target: Target) -> None:
    """Compile the test files in two processes where no bytecode is kept yet: otherwise each worker would compile all of
    them, at the same time as the others. A file that cannot be collected is told of by the tests."""
    if any((ROOT / "tests" / "__pycache__").glob("conftest.*")):
        return
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as executor:
        for number, part in enumerate(split_tests(ROOT / "tests")):
            command = (PYTHON, "-m", "pytest", "--collect-only", "-q", "-n", "0", *map(str, part))
            executor.submit(run_group, command, output=Path(folder) / str(number))
        wait_or_end(executor)
    target.print(f"-- compile the tests: {time.monotonic() - begun:.1f} s")


def split_tests(tests: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders of tests that `make test` runs, in two parts of about the same size."""
    paths = (*tests.iterdir(), *(tests / "unit").iterdir())
    folders = [path for path in paths if path.is_dir() and path.name not in {"unit", "peers", "__pycache__"}]
    sizes = {folder: sum(file.stat().st_size for file in folder.rglob("*.py")) for folder in folders}
    parts: tuple[list[Path], list[Path]] = ([], [])
    for folder in sorted(sizes, key=lambda folder: (-sizes[folder], folder)):
        min(parts, key=lambda part: sum(map(sizes.__getitem__, part))).append(folder)
    return parts


def wait_or_end(executor: ThreadPoolExecutor) -> None:
    """Wait for what the executor runs; end all of it when this process is interrupted."""
    try:
        executor.shutdown()
    except BaseException:
        for group in list(running_groups):
            os.killpg(group, signal.SIGKILL)
        raise


def run_test(target: Target) -> None:
    if install_tools(target):
        compile_tests(target)
        target.run_step("fetch weights", PYTHON, "-m", "tests.kit.embedded")
        # All that need a foreign program: not collecting them saves each worker a second.
        chosen = ("--ignore=tests/peers", "-m", MARK_EXPRESSIONS["test"])
        target.run_tests("tests", "-n", "auto", "--dist", "worksteal", *chosen)


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
    target.print(f"-- install peers: {time.monotonic() - target.started:.1f} s")
    target.run_tests("tests", "-m", MARK_EXPRESSIONS["test-peers"])


def run_model(target: Target) -> None:
    if install_tools(target):
        target.run_step("fetch weights", PYTHON, "-m", "tests.kit.embedded")
        target.run_tests("tests", "-m", MARK_EXPRESSIONS["test-model"])


def run_mutations(target: Target) -> None:
    if install_tools(target):
        target.run_step("remove each guard", PYTHON, "-m", "checks.mutations")


def run_fuzz(target: Target) -> None:
    if install_tools(target):
        # So many inputs on every machine: a fast one would find what a slow one has passed. `make eval` draws a seed.
        bounds = ("--seconds", "300", "--inputs", "1500", "--seed", "24")
        target.run_step("fuzz the parsers", PYTHON, "-m", "tests.fuzz.parsers", *bounds)


def run_bench(target: Target) -> None:
    if install_tools(target):
        target.run_step("short bench", PYTHON, "-m", "bench", "--short")


def run_soak(target: Target) -> None:
    if install_tools(target):
        target.run_step("two minutes of load", PYTHON, "-m", "evals.soak", "--seconds", "120")


def run_coverage(target: Target) -> None:
    if install_tools(target):
        measured = ("--cov", "-n", "auto", "--dist", "worksteal")
        first = (*measured, "--cov-report=", *COVERED_FOLDERS, "-m", MARK_EXPRESSIONS["test"])
        target.run_tests("tests of engine and doors", *first)
        more = (*measured, "--cov-append", "--cov-report=term:skip-covered", *FAST_COVERED_FOLDERS, "-m", FAST_MARKS)
        target.run_tests("tests of models and plugins", *more)
        target.run_step("coverage by area", PYTHON, "-m", "checks.coverage_areas")


TARGETS: dict[str, Callable[[Target], None]] = {
    "test": run_test,
    "check": run_check,
    "docs": run_docs,
    "mutations": run_mutations,
    "test-peers": run_peers,
    "test-model": run_model,
    "fuzz": run_fuzz,
    "bench-short": run_bench,
    "soak": run_soak,
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


PEERS = "test-peers"
DRIVING_TARGETS = {PEERS, "test-model"}
"""Those whose tests drive all clients together."""
BESIDE_PEERS = ("test-model", "mutations", "coverage")


def run_targets(names: Sequence[str], record: Path) -> int:
    os.environ["RIGHTSEAT_DRIVEN"] = str(record)
    drives_all = set(names) >= DRIVING_TARGETS
    if drives_all and not os.environ.get("CI"):
        os.environ[RENEWED_LATER] = "1"
    # Cached bytecode saves every child process its compile time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The inner make must not look for the outer one's job server.
    os.environ.pop("MAKEFLAGS", None)
    done: list[Target] = []
    verdicts: list[str] = []
    beside = [name for name in BESIDE_PEERS if name in names] if PEERS in names else []
    for name in names:
        if name in beside:
            continue
        together = beside and name == PEERS
        for target in run_beside(name, beside, record.parent / "beside") if together else [run_target(name)]:
            target.retry_tests()
            done.append(target)
            verdicts.append(target.format_verdict())
            print(verdicts[-1], flush=True)
        if any("install: could not install" in target.faults for target in done):
            break
    os.environ.pop(RENEWED_LATER, None)
    tested = not any(target.faults for target in done if target.name in DRIVING_TARGETS)
    faults = report_driven(record, tested) if drives_all else []
    print("\n== summary\n" + "\n".join(verdicts))
    if any(target.faults for target in done) or faults:
        return COULD_NOT_INSTALL if all(target.not_installed for target in done if target.faults) else FAILED
    return 0


def run_target(name: str, output: Path | None = None) -> Target:
    target = Target(name, output=output)
    TARGETS[name](target)
    target.ended = time.monotonic()
    return target


def install_all() -> None:
    """Install tools and clients before two targets look for them: at the same time they would meet in one folder. Each
    target says itself what could not be installed."""
    if run_group(build_make_command(".venv/.dev")) == 0:
        run_group((PYTHON, "tests/peers/install.py"))


def run_beside(first: str, others: Sequence[str], output: Path) -> list[Target]:
    """Run a target and, at the same time, others one after the other; what they print is shown after the first."""
    install_all()
    with ThreadPoolExecutor(1) as executor:
        beside = [executor.submit(run_target, name, output) for name in others]
        try:
            done = [run_target(first), *(target.result() for target in beside)]
        except BaseException:
            for group in list(running_groups):
                os.killpg(group, signal.SIGKILL)
            raise
    print(output.read_text(encoding="utf-8", errors="replace"), flush=True)
    return done


def report_driven(record: Path, tested: bool) -> list[str]:
    """Print which clients were driven, and renew the table of clients where all were and their tests are green (never
    with CI set: a run there changes no file). Return what is red about them."""
    versions = read_driven(record)
    clients = ", ".join(f"{name} {' '.join(sorted(versions[name]))}" for name in sorted(versions))
    print(f"\ndriven: {clients or 'nothing'}")
    missing = find_undriven(versions, EXPECTED)
    if missing:
        print(f"not driven though expected: {', '.join(missing)}")
    if os.environ.get("CI"):
        faults = [*missing, *CLIENT_TABLE.find_version_faults(versions)]
    else:
        if tested and not missing:
            CLIENT_TABLE.write_record(versions)
            print("recorded in tests/peers/driven.json and README.md")
        faults = CLIENT_TABLE.find_faults()
    for fault in faults:
        if fault not in missing:
            print(fault)
    return faults


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
