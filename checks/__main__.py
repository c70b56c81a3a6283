"""`python -m checks`: everything that is checked without running the code; one line each, with its time."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks.files import ROOT

BIN = Path(sys.executable).parent
COUNTING = frozenset(
    (
        *("caps", "clients", "demands", "dependencies", "duplicates", "hosts, secrets", "imports", "reference"),
        *("seeds", "stable names"),
    )
)
"""Checks whose last line says how much was looked at."""
TYPED_FOLDERS = ("src", "tests", "evals", "bench", "checks")


def list_commands() -> dict[str, list[str]]:
    python = sys.executable
    typed = [name for name in TYPED_FOLDERS if any((ROOT / name).rglob("*.py"))]
    return {
        "ruff check": [f"{BIN}/ruff", "check", "--quiet", "--output-format=concise", "."],
        "ruff format": [f"{BIN}/ruff", "format", "--quiet", "--check", "--output-format=concise", "."],
        "mypy --strict": [python, "-m", "mypy", "--no-error-summary", *typed],
        "imports": [f"{BIN}/lint-imports", "--no-logo"],
        "caps": [python, "-m", "checks.caps"],
        "names": [python, "-m", "checks.names"],
        "demands": [python, "-m", "checks.demands"],
        "seeds": [python, "-m", "checks.seeds"],
        "duplicates": [python, "-m", "checks.duplicates"],
        "dependencies": [python, "-m", "checks.dependencies"],
        "reference": [python, "-m", "checks.reference"],
        "stable names": [python, "-m", "checks.stable"],
        "clients": [python, "-m", "checks.clients"],
        "hosts, secrets": [python, "-m", "checks.hosts"],
    }


def run_command(command: list[str]) -> tuple[int, str, float]:
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    return done.returncode, done.stdout.strip(), time.monotonic() - begun


def main() -> int:
    started = time.monotonic()
    red = []
    # Each is one process that uses one core.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {name: pool.submit(run_command, command) for name, command in list_commands().items()}
    for name, result in running.items():
        code, output, seconds = result.result()
        if code == 0:
            last = output.splitlines()[-1] if name in COUNTING else ""
            print(f"  ok   {name:<15}{seconds:5.1f} s  {last}".rstrip(), flush=True)
        else:
            red.append(name)
            print(f"  RED  {name:<15}{seconds:5.1f} s\n{output}", flush=True)
    verdict = f"red: {', '.join(red)}" if red else "all green"
    print(f"check: {verdict} in {time.monotonic() - started:.1f} s")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
