"""Every demand of docs/seeds.md is there once, says how it is met, and names tests that exist."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from checks.files import ROOT

PAGE = ROOT / "docs" / "seeds.md"
COUNTS = {0: 16, 1: 40, 2: 26, 3: 24}
"""Demands of each document."""
STATES = ("met", "otherwise", "not yet")
ROW = re.compile(r"\| (\d+\.\d+) \| (.+?) \| \*\*(.+?)\*\*(?:: (.+?))? \| (.*?) ?\|")
TEST_ID = re.compile(r"`([\w/.-]+\.py)::(\w+)`")


class Demand(NamedTuple):
    id: str
    state: str
    reason: str
    tests: tuple[tuple[str, str], ...]
    """File below tests/, and function."""


def parse_page(text: str) -> Iterator[Demand | str]:
    """Yield the demands of the page's tables, and a sentence for each row that cannot be read."""
    for line in text.splitlines():
        if not re.match(r"\| \d", line):
            continue
        row = ROW.fullmatch(line)
        if row is None:
            yield f"cannot be read: {line[:80]}"
        else:
            tests = tuple((file, name) for file, name in TEST_ID.findall(row[5]))
            yield Demand(row[1], row[3], row[4] or "", tests)


@cache
def list_tests(path: Path) -> frozenset[str]:
    """Return the names of a file's test functions; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test"))


def find_problems(entries: list[Demand | str], tests: Path) -> Iterator[str]:
    demands = [entry for entry in entries if isinstance(entry, Demand)]
    yield from (entry for entry in entries if isinstance(entry, str))
    expected = [f"{seed}.{number}" for seed, count in COUNTS.items() for number in range(1, count + 1)]
    counted = Counter(demand.id for demand in demands)
    yield from (f"{id}: there is no row of it" for id in expected if not counted[id])
    yield from (f"{id}: not one of the demands" for id in counted if id not in expected)
    yield from (f"{id}: {count} rows" for id, count in counted.items() if count > 1)
    for demand in demands:
        if demand.state not in STATES:
            yield f"{demand.id}: {demand.state!r} is none of {', '.join(STATES)}"
        if demand.state != "met" and not demand.reason:
            yield f"{demand.id}: no reason"
        if demand.state != "not yet" and not demand.tests:
            yield f"{demand.id}: no test proves it"
        for file, name in demand.tests:
            if name not in list_tests(tests / file):
                yield f"{demand.id}: there is no test {file}::{name}"


def count_states(entries: list[Demand | str]) -> str:
    states = Counter(entry.state for entry in entries if isinstance(entry, Demand))
    return f"{states.total()} demands: " + ", ".join(f"{states[state]} {state}" for state in STATES)


def main() -> int:
    entries = list(parse_page(PAGE.read_text(encoding="utf-8")))
    problems = list(find_problems(entries, ROOT / "tests"))
    print("\n".join(problems or [count_states(entries)]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
