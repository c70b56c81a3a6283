"""Installs one real client into .peers/NAME: `python tests/peers/install.py NAME...` (no name: all
of them but those that only the bench needs).

tests/peers/NAME holds requirements.txt (→ a venv) or package.json + package-lock.json (→ node_modules).
Exit code 3 means "could not install", which is never a failed test.
"""

import hashlib
import os
import shutil
import sys
import time
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

# Run as a file, it must find the project.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from checks import packages
from checks.packages import COULD_NOT_INSTALL, InstallError, retry

__all__ = ["CHROMIUM", "COULD_NOT_INSTALL", "ONLY_WHEN_NAMED", "PLACE", "InstallError", "install", "known"]
HERE = Path(__file__).resolve().parent
PLACE = HERE.parent.parent / ".peers"
# Large, and no test drives them.
ONLY_WHEN_NAMED = {"litellm-proxy", "openbb-example", "copilotkit-runtime", "copilotkit-runtime-gql"}
# Each waits for the network about as long as it unpacks.
AT_ONCE = 3
# What the system calls it; the first is the smallest that can be installed.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


one_apt = Lock()


def main(names: Sequence[str]) -> int:
    wanted = names or [name for name in known() if name not in ONLY_WHEN_NAMED]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(installed, wanted))
    return 0 if all(done) else COULD_NOT_INSTALL


def installed(name: str) -> bool:
    try:
        install(name)
    except InstallError as error:
        print(f"could not install {name}: {error}", file=sys.stderr)
        return False
    return True


def known() -> list[str]:
    return sorted(folder.name for folder in HERE.iterdir() if folder.is_dir() and lock_of(folder) is not None)


def lock_of(folder: Path) -> Path | None:
    for name in ("requirements.txt", "package-lock.json"):
        if (folder / name).is_file():
            return folder / name
    return None


def install(name: str) -> None:
    lock = lock_of(HERE / name)
    if lock is None:
        raise InstallError(f"no such peer (known: {', '.join(known())})")
    if name == "playwright":
        need_chromium()
    target = PLACE / name
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
    print(f"installed {name} in {time.monotonic() - started:.1f} s")


def install_python(lock: Path, target: Path) -> None:
    venv.create(target)
    packages.install(target / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"), lock)


def install_npm(lock: Path, target: Path) -> None:
    need_npm()
    shutil.copy(lock, target)
    shutil.copy(lock.with_name("package.json"), target)
    retry(NPM_CI, cwd=target)


def need_npm() -> None:
    if not (shutil.which("npm") and shutil.which("node")):
        apt("nodejs", "npm")
    if not (shutil.which("npm") and shutil.which("node")):
        raise InstallError("node and npm are missing; install Node.js and run again")


def need_chromium() -> None:
    if not any(map(shutil.which, CHROMIUM)):
        apt(CHROMIUM[0])
    if not any(map(shutil.which, CHROMIUM)):
        raise InstallError(f"none of {', '.join(CHROMIUM)} is there; install Chromium and run again")


def apt(*packages: str) -> None:
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        with one_apt:
            retry(("apt-get", "update", "-qq"))
            retry(("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
