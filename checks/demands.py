"""Every demand in tests/demands/*.toml names living tests, or says what is missing."""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from checks.files import ROOT

KEYS = {"text", "tests", "missing"}


def problems(path: Path, root: Path) -> Iterator[str]:
    where = path.relative_to(root).as_posix()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        yield f"{where}: {error}"
        return
    for key in document.keys() - {"demand"}:
        yield f"{where}: unknown key {key!r}; only [[demand]] tables are read"
    for number, demand in enumerate(document.get("demand", []), 1):
        yield from (f"{where}: demand {number}: {fault}" for fault in faults(demand, root))


def faults(demand: Mapping[str, object], root: Path) -> Iterator[str]:
    for key in sorted(demand.keys() - KEYS):
        yield f"unknown key {key!r}"
    for key in ("text", "missing"):
        if key in demand and not (isinstance(demand[key], str) and str(demand[key]).strip()):
            yield f"{key} must be a sentence"
    if "text" not in demand:
        yield "no text"
    tests = demand.get("tests", [])
    if not isinstance(tests, list) or not all(isinstance(one, str) for one in tests):
        yield "tests must be a list of test ids"
        return
    if not tests and "missing" not in demand:
        yield f"neither tests nor missing: {demand.get('text')}"
    for test in tests:
        if not lives(test, root):
            yield f"no such test: {test}"


def lives(test_id: str, root: Path) -> bool:
    """Whether the id names a test function or method; parameters in [...] are not looked at."""
    file, *names = test_id.split("[", 1)[0].split("::")
    path = root / file
    if not names or not names[-1].startswith("test") or not path.is_file():
        return False
    body: list[ast.stmt] = parsed(path).body
    for name in names:
        found = [node for node in body if isinstance(node, Definition) and node.name == name]
        if not found:
            return False
        body = found[-1].body
    return True


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def counts(files: list[Path]) -> str:
    demands = [one for path in files for one in tomllib.loads(path.read_text("utf-8")).get("demand", [])]
    proven = sum(bool(one.get("tests")) and "missing" not in one for one in demands)
    part = sum(bool(one.get("tests")) and "missing" in one for one in demands)
    return f"{len(demands)} demands: {proven} proven, {part} in part, {len(demands) - proven - part} missing"


def main() -> int:
    files = sorted((ROOT / "tests" / "demands").glob("*.toml"))
    found = [problem for path in files for problem in problems(path, ROOT)]
    print("\n".join(found or [counts(files)]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
