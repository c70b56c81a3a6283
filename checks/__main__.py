"""`python -m checks`: everything that is checked without running the code; one line each, with its time."""

import subprocess
import sys
import time
from pathlib import Path

from checks.files import ROOT

BIN = Path(sys.executable).parent
TYPED = ("src", "tests", "bench", "checks")


def commands() -> dict[str, list[str]]:
    python = sys.executable
    typed = [name for name in TYPED if any((ROOT / name).rglob("*.py"))]
    return {
        "ruff check": [f"{BIN}/ruff", "check", "--quiet", "--output-format=concise", "."],
        "ruff format": [f"{BIN}/ruff", "format", "--quiet", "--check", "--output-format=concise", "."],
        "mypy --strict": [python, "-m", "mypy", "--no-error-summary", *typed],
        "imports": [f"{BIN}/lint-imports", "--no-logo"],
        "caps": [python, "-m", "checks.caps"],
        "demands": [python, "-m", "checks.demands"],
        "reference": [python, "-m", "checks.reference"],
        "hosts, secrets": [python, "-m", "checks.hosts"],
    }


def main() -> int:
    started = time.monotonic()
    red = []
    for name, command in commands().items():
        begun = time.monotonic()
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        said = done.stdout.strip()
        if done.returncode == 0:
            last = (
                said.splitlines()[-1]
                if name in {"caps", "demands", "hosts, secrets", "imports", "reference"}
                else ""
            )
            print(f"  ok   {name:<15}{time.monotonic() - begun:5.1f} s  {last}".rstrip(), flush=True)
        else:
            red.append(name)
            print(f"  RED  {name:<15}{time.monotonic() - begun:5.1f} s\n{said}", flush=True)
    verdict = f"red: {', '.join(red)}" if red else "all green"
    print(f"check: {verdict} in {time.monotonic() - started:.1f} s")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
