"""Installs a lock into an environment: `python checks/packages.py PYTHON [LOCK]`. Runs on the bare interpreter.

By uv, which takes seconds where pip takes a minute; where uv cannot be had or fails, by pip. Both hold every
file against the lock's hashes. Exit code 3 means "could not install", which is never a failed test.

`--tools` leaves pip and uv in .venv, for tests. Without it both are used from outside: the environment of `make serve`
has no installer in it.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
UV_LOCK = ROOT / "requirements" / "uv.txt"
INSTALLERS = ("pip", "setuptools", "uv")
TRIES = 3
COMMAND_TIMEOUT = 300
COULD_NOT_INSTALL = 3
TICK_SECONDS = 2.0


class InstallError(Exception):
    """Says in one line why it could not be installed."""


@contextlib.contextmanager
def show_progress(label: str) -> Iterator[None]:
    """Print what is done, and its seconds while it takes more than a moment."""
    done, started = threading.Event(), time.monotonic()
    is_terminal = sys.stderr.isatty()

    def tick() -> None:
        while not done.wait(1.0 if is_terminal else 5 * TICK_SECONDS):
            end = "" if is_terminal else "\n"
            start = "\r" if is_terminal else ""
            print(f"{start}{label} … {time.monotonic() - started:.0f} s", end=end, file=sys.stderr, flush=True)

    print(f"{label} …", end="" if is_terminal else "\n", file=sys.stderr, flush=True)
    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()
        seconds = time.monotonic() - started
        if is_terminal:
            print(f"\r\x1b[K{label}: {seconds:.0f} s", file=sys.stderr, flush=True)
        elif seconds > TICK_SECONDS:
            print(f"{label}: {seconds:.0f} s", file=sys.stderr, flush=True)


def install(python: Path, lock: Path, uv: Path | None = None) -> None:
    uv = uv or find_uv(VENV)
    if uv is not None:
        command = (*build_uv_command(uv, python), *cache_options())
        error = run_command((*command, "--require-hashes", "-r", str(lock)), env=os.environ | make_index_env())
        if error == "":
            return
        print(f"uv could not install {lock.name}, pip tries: {error}", file=sys.stderr)
    # What is imported is compiled then, and kept.
    pip = (*find_pip(python), "install", "--quiet", "--retries=5", "--no-compile")
    run_with_retries((*pip, "--require-hashes", "-r", str(lock)))


def install_project(python: Path, uv: Path | None) -> None:
    """Install this repository as it is. No network and nothing to retry: the lock holds the build backend too."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-e", str(ROOT))
    command = (*build_uv_command(uv, python), *cache_options()) if uv else (*find_pip(python), "install")
    if error := run_command((*command, *options)):
        raise InstallError(f"rightseat itself: {error}")


def add_packages(python: Path, requirements: Sequence[str], uv: Path | None) -> None:
    """Install packages that no lock of ours has, such as those of an extra."""
    command = (*build_uv_command(uv, python), *cache_options()) if uv else (*find_pip(python), "install", "--quiet")
    if error := run_command((*command, *requirements), env=os.environ | make_index_env()):
        raise InstallError(f"{' '.join(requirements)}: {error}")


def remove_installers(python: Path, uv: Path) -> None:
    """Remove the installers that an earlier version of this program has left in the environment."""
    command = (str(uv), "pip", "uninstall", "--quiet", "--python", str(python), *INSTALLERS)
    if error := run_command(command):
        print(f"could not remove {', '.join(INSTALLERS)}: {error}", file=sys.stderr)


def build_uv_command(uv: Path, python: Path) -> tuple[str, ...]:
    return (str(uv), "pip", "install", "--quiet", "--python", str(python))


def find_uv(environment: Path) -> Path | None:
    """uv in our own environment, installed there if it is missing."""
    uv = environment / ("Scripts/uv.exe" if sys.platform == "win32" else "bin/uv")
    if not uv.exists():
        python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        error = run_command((*find_pip(python), "install", "--quiet", "--require-hashes", "-r", str(UV_LOCK)))
        if error:
            print(f"could not install uv: {error}", file=sys.stderr)
    return uv if uv.exists() else None


def fetch_uv(python: Path, folder: Path) -> Path | None:
    """Install uv into a folder of its own, with the pip that comes with Python."""
    target = ("--target", str(folder), "--no-compile")
    options = ("install", "--quiet", *target, "--require-hashes", "-r", str(UV_LOCK))
    if error := run_command((*find_pip(python), *options)):
        print(f"could not install uv: {error}", file=sys.stderr)
    uv = folder / "bin" / ("uv.exe" if sys.platform == "win32" else "uv")
    return uv if uv.exists() else None


@contextlib.contextmanager
def provide_uv(python: Path) -> Iterator[Path | None]:
    """Yield the uv of .venv or of this machine if there is one, else one that is removed afterwards."""
    own = VENV / ("Scripts/uv.exe" if sys.platform == "win32" else "bin/uv")
    installed = str(own) if own.exists() else shutil.which("uv")
    if installed:
        yield Path(installed)
        return
    with tempfile.TemporaryDirectory(prefix="rightseat-uv-") as folder:
        yield fetch_uv(python, Path(folder))


def find_pip(python: Path) -> tuple[str, ...]:
    """Return the command that is pip for an environment: its own, that which comes with Python, or ours."""
    own = (str(python), "-m", "pip")
    if run_command((*own, "--version")) == "":
        return own
    try:
        import ensurepip
    except ImportError:
        folders = []
    else:
        folders = [Path(ensurepip.__file__).parent / "_bundled"]
    if folder := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        folders.append(Path(folder))
    wheels = [wheel for folder in folders for wheel in folder.glob("pip-*.whl")]
    return (str(python), f"{wheels[0]}/pip") if wheels else (sys.executable, "-m", "pip", "--python", str(python))


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


def run_steps(arguments: argparse.Namespace) -> None:
    # Not resolved: a virtual environment's interpreter is a link.
    python = Path(os.path.abspath(arguments.python))
    if arguments.tools:
        with show_progress("setting up pip and uv"):
            ensure_pip(python)
            find_uv(VENV)
    with contextlib.ExitStack() as stack:
        with show_progress("looking for uv"):
            uv = stack.enter_context(provide_uv(python))
        if arguments.lock is not None:
            with show_progress(f"installing the packages of {arguments.lock.name}"):
                install(python, arguments.lock.resolve(), uv)
        if arguments.project:
            with show_progress("installing rightseat"):
                install_project(python, uv)
        if arguments.add:
            with show_progress(f"installing {arguments.add}"):
                add_packages(python, arguments.add.split(), uv)
        if uv is not None and arguments.project and not arguments.tools and not (VENV / ".dev").exists():
            remove_installers(python, uv)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="packages.py", description="Install a lock into an environment.")
    parser.add_argument("python", type=Path)
    parser.add_argument("lock", type=Path, nargs="?")
    parser.add_argument("--tools", action="store_true", help="leave pip and uv in .venv")
    parser.add_argument("--project", action="store_true", help="install this repository too")
    parser.add_argument("--add", default="", help="further packages, separated by spaces")
    parsed = parser.parse_args(arguments)
    try:
        run_steps(parsed)
    except InstallError as error:
        print(f"could not install {parsed.lock or parsed.add}: {error}", file=sys.stderr)
        return COULD_NOT_INSTALL
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
