"""Installs a lock into an environment: `python checks/packages.py PYTHON LOCK`. Runs on the bare interpreter.

By uv, which takes seconds where pip takes a minute; where uv cannot be had or fails, by pip. Both hold every
file against the lock's hashes. Exit code 3 means "could not install", which is never a failed test.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV_LOCK = ROOT / "requirements" / "uv.txt"
TRIES = 3
COMMAND_TIMEOUT = 300
COULD_NOT_INSTALL = 3


class InstallError(Exception):
    """Says in one line why it could not be installed."""


def install(python: Path, lock: Path) -> None:
    uv = find_uv(ROOT / ".venv")
    if uv is not None:
        command = (str(uv), "pip", "install", "--quiet", "--python", str(python), *cache_options())
        error = run_command((*command, "--require-hashes", "-r", str(lock)), env=os.environ | make_index_env())
        if error == "":
            return
        print(f"uv could not install {lock.name}, pip tries: {error}", file=sys.stderr)
    ensure_pip(python)
    # What is imported is compiled then, and kept.
    pip = (str(python), "-m", "pip", "install", "--quiet", "--retries=5", "--no-compile")
    run_with_retries((*pip, "--require-hashes", "-r", str(lock)))


def find_uv(environment: Path) -> Path | None:
    """uv in our own environment, installed there if it is missing."""
    uv = environment / ("Scripts/uv.exe" if sys.platform == "win32" else "bin/uv")
    if not uv.exists():
        python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        error = run_command((str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(UV_LOCK)))
        if error:
            print(f"could not install uv: {error}", file=sys.stderr)
    return uv if uv.exists() else None


def make_index_env() -> dict[str, str]:
    """uv does not read pip's settings: a mirror that somebody has set there counts for it too."""
    config = subprocess.run(
        (sys.executable, "-m", "pip", "config", "get", "global.index-url"), capture_output=True, text=True
    )
    url = os.environ.get("PIP_INDEX_URL") or config.stdout.strip()
    return {"UV_DEFAULT_INDEX": url} if url and "UV_DEFAULT_INDEX" not in os.environ else {}


def cache_options() -> tuple[str, ...]:
    """Return uv's option for a home whose cache cannot be written: uv would not install anything."""
    folder = Path(os.environ.get("UV_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ("--no-cache",)
    return () if os.access(folder, os.W_OK | os.X_OK) else ("--no-cache",)


def ensure_pip(python: Path) -> None:
    if run_command((str(python), "-m", "pip", "--version")):
        run_with_retries((str(python), "-m", "ensurepip"))


def run_command(command: Sequence[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Empty when it went well, else why it did not, in a line."""
    try:
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=COMMAND_TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"no end within {COMMAND_TIMEOUT} s"
    except OSError as error:
        raise InstallError(f"{command[0]}: {error.strerror}") from error
    if done.returncode == 0:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
    return f"exit {done.returncode}: {lines[-1]}"


def run_with_retries(command: Sequence[str], cwd: Path | None = None) -> None:
    reason = ""
    for attempt in range(1, TRIES + 1):
        reason = run_command(command, cwd)
        if not reason:
            return
        print(f"try {attempt} of {TRIES} failed ({' '.join(command[:4])}): {reason}", file=sys.stderr)
        if attempt < TRIES:
            time.sleep(attempt)
    raise InstallError(f"{' '.join(command[:4])} failed {TRIES} times; {reason}")


def main(arguments: Sequence[str]) -> int:
    python, lock = map(Path, arguments)
    try:
        # Not resolved: a virtual environment's interpreter is a link.
        install(Path(os.path.abspath(python)), lock.resolve())
    except InstallError as error:
        print(f"could not install {lock}: {error}", file=sys.stderr)
        return COULD_NOT_INSTALL
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
