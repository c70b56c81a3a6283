"""The notes of a release: `python3 checks/release_notes.py TAG --out FILE`. Runs on the bare interpreter.

The tag must be that of the version in pyproject.toml, which the package tells too; the notes are its section of
CHANGELOG.md.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


class ReleaseMismatch(Exception):
    """Says what does not fit the tag, and what to do."""


def read_version(root: Path) -> str:
    """Return the version of the project; raises ReleaseMismatch where the package tells another."""
    version = str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    told = PACKAGE_VERSION.findall((root / "src" / "rightseat" / "__init__.py").read_text(encoding="utf-8"))
    if told != [version]:
        raise ReleaseMismatch(f"pyproject.toml says {version}, rightseat.__version__ {', '.join(told) or 'nothing'}")
    return version


def find_notes(changelog: str, version: str) -> str:
    """Return the section of a version, without its heading."""
    heading = rf"^## \[{re.escape(version)}\][^\n]*\n"
    section = re.search(rf"{heading}(.*?)(?=^## |^\[[^\]\n]+\]: |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise ReleaseMismatch(f"CHANGELOG.md has no section [{version}]: rename [Unreleased]")
    return section[1].strip() + "\n"


def make_notes(root: Path, tag: str) -> str:
    version = read_version(root)
    if tag != f"v{version}":
        raise ReleaseMismatch(f"the tag is {tag}, the version {version}: tag the commit as v{version}")
    return find_notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="release_notes.py", description="Check a tag and write the release's notes.")
    parser.add_argument("tag")
    parser.add_argument("--out", type=Path, required=True)
    parsed = parser.parse_args(arguments)
    try:
        notes = make_notes(root, parsed.tag)
    except ReleaseMismatch as error:
        print(error, file=sys.stderr)
        return 1
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    parsed.out.write_text(notes, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
