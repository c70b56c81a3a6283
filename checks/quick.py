"""`make quick`: lint, import rules and the tests without sockets, processes or a model, side by side.

`make quick F=doors/openai` looks at one part of the tree: src/rightseat/doors/openai and its tests.
"""

import os
import re
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks.__main__ import BIN, run_command
from checks.files import ROOT

MARK_EXPRESSION = "not io and not model and not peers and not long and not slow"
MARKED_MODULE = re.compile(r"^pytestmark = [^=]*pytest\.mark\.(io|model|peers)\b", re.MULTILINE)
NO_TESTS = 5
# Fewer than `make test` does of what is repeated.
ROUNDS = "3"


class UnknownPartError(Exception):
    """Names a part of the tree that has neither code nor tests."""


def find_code(part: str) -> list[str]:
    """Return the files and folders of the part under src/rightseat and tests."""
    places = [ROOT / "src" / "rightseat" / part, ROOT / "src" / "rightseat" / f"{part}.py", *find_tests(part)]
    return [str(place.relative_to(ROOT)) for place in map(Path, places) if place.exists()]


def find_tests(part: str) -> list[Path]:
    """Return tests/unit/PART, and the files named after it: tests/unit/http/test_sse*.py for http/sse."""
    place = ROOT / "tests" / "unit" / part
    named = sorted(place.parent.glob(f"test_{place.name}*.py"))
    return ([place] if place.exists() else []) + named


def find_marked() -> list[str]:
    """Return the test files of which no test is selected: importing them takes longer than the tests do."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in files if MARKED_MODULE.search(file.read_text(encoding="utf-8"))]


def list_commands(part: str) -> dict[str, list[str]]:
    """Return the commands to run, by name, slowest first."""
    code = find_code(part) if part else ["."]
    tests = [str(place.relative_to(ROOT)) for place in find_tests(part)] if part else ["tests"]
    if not code:
        raise UnknownPartError(part)
    pytest = [sys.executable, "-m", "pytest", "-q", "-m", MARK_EXPRESSION, "--no-header", *tests]
    # No test waits for anything here: more workers than cores would only collect the tests once more.
    many = ["-n", str(os.cpu_count()), "--dist", "worksteal", *(f"--ignore={file}" for file in find_marked())]
    chosen = {
        "tests": pytest if part else [*pytest, *many],
        "import rules": [f"{BIN}/lint-imports", "--no-logo"],
        "ruff check": [f"{BIN}/ruff", "check", "--quiet", "--output-format=concise", *code],
        "ruff format": [f"{BIN}/ruff", "format", "--quiet", "--check", *code],
    }
    return chosen if tests else {name: command for name, command in chosen.items() if name != "tests"}


def main(arguments: Sequence[str]) -> int:
    started = time.monotonic()
    os.environ["ROUNDS"] = ROUNDS
    part = arguments[0].strip("/") if arguments else ""
    try:
        chosen = list_commands(part)
    except UnknownPartError:
        parts = sorted(place.name for place in (ROOT / "src" / "rightseat").iterdir() if place.is_dir())
        print(f"no such part: src/rightseat/{part}. Folders there: {', '.join(parts)}", file=sys.stderr)
        return 2
    red = []
    with ThreadPoolExecutor(2) as pool:
        running = {name: pool.submit(run_command, command) for name, command in chosen.items()}
        for name, result in running.items():
            code, printed, seconds = result.result()
            good = code == 0 or (name == "tests" and part and code == NO_TESTS)
            last = printed.splitlines()[-1] if printed and name == "tests" else ""
            print(f"  {'ok ' if good else 'RED'}  {name:<15}{seconds:5.1f} s  {last}".rstrip(), flush=True)
            if not good:
                red.append(name)
                print(printed, flush=True)
    verdict = f"red: {', '.join(red)}" if red else "all green"
    print(f"quick: {verdict} in {time.monotonic() - started:.1f} s")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
