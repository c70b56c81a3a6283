"""`make release`: wheel, sdist, bill of materials and their checksums in dist/, from the committed files alone.

The same commit gives the same bytes on any machine: a fresh clone is built by the locked backend, without the network,
and every time inside an archive is that of the commit. What our pages show is taken from this folder: `make assets`
fetches it by its lock.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import assets, sbom

ROOT = Path(__file__).resolve().parent.parent
CHECKSUMS = "SHA256SUMS"
SKIP_VARIABLE = "RIGHTSEAT_WITHOUT_PAGES"
# Whatever else the caller has set must not reach the archives.
KEPT_VARIABLES = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", SKIP_VARIABLE)


class MissingAssets(Exception):
    """Says what to do before a release can be built."""


def read_commit_time(repository: Path) -> str:
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout.strip()


def clone_commit(target: Path) -> None:
    """Clone the current commit: what is not committed is in no release."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)], check=True)


def copy_page_assets(target: Path) -> bool:
    """Copy what `make assets` has put into this folder; returns whether all of it is there."""
    sources = [(assets.PACKAGE / name, target / "src" / "rightseat" / name) for name in assets.FILES]
    if not all(source.is_file() for source, _ in sources):
        return False
    for source, copy in sources:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    return True


def build_archives(source: Path, out: Path) -> list[Path]:
    """Build sdist and wheel of a clone with the locked backend; nothing is installed or fetched."""
    env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    env |= {"SOURCE_DATE_EPOCH": read_commit_time(source), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", str(out), str(source)]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    return sorted([*out.glob("*.whl"), *out.glob("*.tar.gz")])


def write_checksums(files: list[Path], out: Path) -> Path:
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    path = out / CHECKSUMS
    path.write_text("".join(lines), encoding="utf-8")
    return path


def make_release(out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("rightseat-*"), *out.glob(CHECKSUMS)):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        clone_commit(source)
        if not copy_page_assets(source) and SKIP_VARIABLE not in os.environ:
            raise MissingAssets(
                f"the files that the pages show are not here: run `make assets`, or set {SKIP_VARIABLE}=1"
            )
        files = build_archives(source, out)
        os.environ["SOURCE_DATE_EPOCH"] = read_commit_time(source)
    files.append(sbom.write_bom(out))
    return [*files, write_checksums(files, out)]


def verify_release(out: Path) -> str:
    """Build a second time, elsewhere; returns what differs from the release in `out`, or nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        second = make_release(Path(scratch) / "second")[-1].read_text(encoding="utf-8")
    first = (out / CHECKSUMS).read_text(encoding="utf-8")
    return ", ".join(sorted({line.split()[1] for line in set(first.splitlines()) ^ set(second.splitlines())}))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="checks.release", description="Build a release of the current commit.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--verify", action="store_true", help="compare the release in OUT with a second build")
    parsed = parser.parse_args(arguments)
    try:
        if parsed.verify:
            different = verify_release(parsed.out)
            print(f"not the same bytes: {different}" if different else "the same bytes twice")
            return 1 if different else 0
        paths = make_release(parsed.out)
    except MissingAssets as error:
        print(error, file=sys.stderr)
        return 1
    for path in paths:
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
