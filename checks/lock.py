"""Writes every lock anew: requirements, the peers' and the examples'. No lock names an index or a host."""

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "tests" / "peers"
EXAMPLES = ROOT / "examples"
HEADER = "# Written by `make lock`; do not edit. Hashes for every platform, Python 3.11 and newer.\n"
COMPILE = (
    "pip",
    "compile",
    "--quiet",
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-header",
    "--no-annotate",
    "--upgrade",
)
NPM_LOCK = (
    "npm",
    "install",
    "--package-lock-only",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--omit-lockfile-registry-resolved=true",
)


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        uv = install_uv(Path(scratch))
        compile_lock(uv, "requirements/run.txt", "pyproject.toml", "--group=setup")
        # The runtime's versions bind the development lock, so that one folder can hold both.
        compile_lock(uv, "requirements/dev.txt", "pyproject.toml", "--group=dev", "--constraints=requirements/run.txt")
        compile_lock(uv, "requirements/cluster.txt", "requirements/cluster.in", "--constraints=requirements/run.txt")
        compile_lock(uv, "requirements/docs.txt", "requirements/docs.in")
        compile_lock(uv, "requirements/uv.txt", "requirements/uv.in")
        compile_lock(uv, "requirements/audit.txt", "requirements/audit.in")
        for wanted in sorted(PEERS.glob("*/requirements.in")):
            folder = wanted.parent.relative_to(ROOT)
            compile_lock(uv, f"{folder}/requirements.txt", f"{folder}/requirements.in")
    if shutil.which("npm") is None:
        print("npm is missing: the locks of the npm peers stay as they are", file=sys.stderr)
        return 1
    others = [*EXAMPLES.glob("*/package.json"), ROOT / "assets" / "package.json"]
    for package in sorted([*PEERS.glob("*/package.json"), *others]):
        lock_npm(package.parent)
    return 0


def install_uv(scratch: Path) -> Path:
    venv.create(scratch / "venv", with_pip=True)
    binaries = scratch / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    lock = str(ROOT / "requirements" / "uv.txt")
    command = [
        str(binaries / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--retries=5",
        "--require-hashes",
        "-r",
        lock,
    ]
    subprocess.run(command, check=True)
    return binaries / "uv"


def compile_lock(uv: Path, target: str, *sources: str) -> None:
    result = subprocess.run([uv, *COMPILE, *sources], cwd=ROOT, check=True, capture_output=True, text=True)
    write_lock(ROOT / target, HEADER + result.stdout)


def lock_npm(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(folder / "package.json", scratch)
        subprocess.run(NPM_LOCK, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        content = (Path(scratch) / "package-lock.json").read_text(encoding="utf-8")
    if '"resolved"' in content:
        raise SystemExit(f"{folder.name}: npm wrote addresses into the lock")
    write_lock(folder / "package-lock.json", content)


def write_lock(target: Path, text: str) -> None:
    target.write_text(text, encoding="utf-8")
    print(f"wrote {target.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
