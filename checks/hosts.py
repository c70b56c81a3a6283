"""No file names a package registry, a folder of somebody's machine, or a secret."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.files import ROOT, list_tracked_files

# Escaped dots and classes keep these lines from matching themselves.
FORBIDDEN = {
    "a package registry": re.compile(
        r"pypi\.org|pythonhosted\.org|registry\.npmjs\.org|npmjs\.com|yarnpkg\.com|deb\.debian\.org"
        r"|registry\.npmmirror\.com|/simple/[a-z]|--(?:extra-)?index-url[ =]",
        re.IGNORECASE,
    ),
    "a folder of one machine": re.compile(
        r"(?<![\w.:/-])(?:/[h]ome/\w|/[U]sers/\w|/[r]oot/|/[w]ork/|[A-Z]:\\[U]sers\\)"
    ),
    "a secret": re.compile(
        r"\bsk-[A-Za-z0-9_-]{32,}|\bAKI[A][0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}"
        r"|\bxox[bap]-[0-9A-Za-z-]{20,}|\bAIz[a][0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE [K]EY-----"
    ),
}


def find_problems(path: Path, root: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    where = path.relative_to(root).as_posix()
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in FORBIDDEN.items():
            # Never the match itself: this may run where logs are public.
            if pattern.search(line):
                yield f"{where}:{number}: names {what}"


def main(names: list[str]) -> int:
    """Check the named files, or all."""
    files = [ROOT / name for name in names] or list_tracked_files(ROOT)
    findings = [problem for path in files for problem in find_problems(path, ROOT)]
    print("\n".join([*findings, f"{len(files)} files, {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
