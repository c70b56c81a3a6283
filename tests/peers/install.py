"""Installs one real client into .peers/NAME: `python tests/peers/install.py NAME...` (no name: all
of them but those that only the bench needs).

tests/peers/NAME holds requirements.txt (→ a venv) or package.json + package-lock.json (→ node_modules).
Exit code 3 means "could not install", which is never a failed test.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# Run as a file, it must find the project.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from checks import packages
from checks.packages import COULD_NOT_INSTALL, InstallError, run_with_retries

__all__ = [
    "COULD_NOT_INSTALL",
    "ONLY_WHEN_NAMED",
    "PEERS_FOLDER",
    "InstallError",
    "SystemProgram",
    "install",
    "list_peers",
]
HERE = Path(__file__).resolve().parent
PEERS_FOLDER = HERE.parent.parent / ".peers"
# Large, and no test drives them.
ONLY_WHEN_NAMED = {"litellm-proxy", "openbb-example", "copilotkit-runtime", "copilotkit-runtime-gql"}
# Each waits for the network about as long as it unpacks.
PARALLEL_INSTALLS = 3
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
RETRY_HINT = "then `make test-peers`"


class ProgramMissing(InstallError):
    """Nothing was tried, because nothing can be without asking."""


@dataclass(frozen=True, slots=True)
class SystemProgram:
    """A foreign program that the system's packages bring, and no lock of ours."""

    title: str
    packages: tuple[str, ...]
    """What Debian calls them."""
    find_path: Callable[[], Path | None]

    def find_or_install(self) -> Path:
        """Where it is, installed first where nobody must be asked for that; else InstallError."""
        path = self.find_path() or (self.install() if may_install() else None)
        if path is None:
            raise ProgramMissing(f"{self.title} is missing: install it {self.install_hint}")
        return path

    def install(self) -> Path | None:
        with hold_lock("apt"):
            # Another one that waited here may have brought it.
            if found := self.find_path():
                return found
            try:
                run_with_retries(("apt-get", "update", "-qq"))
                run_with_retries(("apt-get", "install", "-y", "-qq", "--no-install-recommends", *self.packages))
            except InstallError as error:
                raise InstallError(f"{error}; install {self.title} yourself {self.install_hint}") from error
            return self.find_path()

    @property
    def install_hint(self) -> str:
        return f"(apt-get install {' '.join(self.packages)}, or your package manager), {RETRY_HINT}"


def make_finder(*names: str) -> Callable[[], Path | None]:
    """Finds the first of some commands."""
    return lambda: next((Path(found) for name in names if (found := shutil.which(name))), None)


def find_node() -> Path | None:
    """Node, which counts only together with npm."""
    return make_finder("node")() if shutil.which("npm") else None


NODE = SystemProgram("Node.js", ("nodejs", "npm"), find_node)
CHROMIUM = SystemProgram(
    "Chromium",
    # The smallest that can be installed.
    ("chromium-headless-shell",),
    make_finder("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
)
CURL = SystemProgram("curl", ("curl",), make_finder("curl"))


def make_server_finder(name: str) -> Callable[[], Path | None]:
    """Finds a server, which Debian keeps where the PATH of a user may not look."""

    def find_server() -> Path | None:
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
        return Path(found) if found else None

    return find_server


HAPROXY = SystemProgram("HAProxy", ("haproxy",), make_server_finder("haproxy"))
NGINX = SystemProgram("nginx", ("nginx",), make_server_finder("nginx"))
CADDY = SystemProgram("Caddy", ("caddy",), make_server_finder("caddy"))


def main(names: Sequence[str]) -> int:
    wanted = names or [name for name in list_peers() if name not in ONLY_WHEN_NAMED]
    with ThreadPoolExecutor(PARALLEL_INSTALLS) as pool:
        done = list(pool.map(try_install, wanted))
    return 0 if all(done) else COULD_NOT_INSTALL


def try_install(name: str) -> bool:
    try:
        install(name)
    except InstallError as error:
        print(f"could not install {name}: {error}", file=sys.stderr)
        return False
    return True


def list_peers() -> list[str]:
    return sorted(folder.name for folder in HERE.iterdir() if folder.is_dir() and find_lock(folder) is not None)


def find_lock(folder: Path) -> Path | None:
    for name in ("requirements.txt", "package-lock.json"):
        if (folder / name).is_file():
            return folder / name
    return None


def install(name: str) -> None:
    """Installs a peer unless it is there as its lock says, or waits for another process that is at it."""
    lock = find_lock(HERE / name)
    if lock is None:
        raise InstallError(f"no such peer (known: {', '.join(list_peers())})")
    # Without its program a peer is of no use, also one that is installed.
    if name == "playwright":
        CHROMIUM.find_or_install()
    if lock.suffix == ".json":
        NODE.find_or_install()
    with hold_lock(name):
        install_lock(PEERS_FOLDER / name, lock)


def install_lock(target: Path, lock: Path) -> None:
    stamp = target / ".stamp"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return
    started = time.monotonic()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if lock.suffix == ".txt":
        install_python(lock, target)
    else:
        install_npm(lock, target)
    stamp.write_text(digest, encoding="utf-8")
    print(f"installed {target.name} in {time.monotonic() - started:.1f} s")


def install_python(lock: Path, target: Path) -> None:
    with hold_lock("uv"):
        # Into our own environment, which all of them share.
        packages.find_uv(packages.ROOT / ".venv")
    venv.create(target)
    packages.install(target / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"), lock)


def install_npm(lock: Path, target: Path) -> None:
    shutil.copy(lock, target)
    shutil.copy(lock.with_name("package.json"), target)
    run_with_retries(NPM_CI, cwd=target)


def may_install() -> bool:
    """Whether the system's packages can be installed without asking anybody."""
    return bool(shutil.which("apt-get")) and hasattr(os, "geteuid") and os.geteuid() == 0


@contextlib.contextmanager
def hold_lock(name: str) -> Iterator[None]:
    """Only one thread of one process does what has this name, the others wait."""
    PEERS_FOLDER.mkdir(parents=True, exist_ok=True)
    with (PEERS_FOLDER / f".{name}.lock").open("w") as lock_file:
        if sys.platform != "win32":
            import fcntl

            # Let go when the file is closed, also by a process that is killed.
            fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
