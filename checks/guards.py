"""Guards of the security cases: reads checks/guards.toml.

Each row is an attack, with the promise and the guards that keep it. A guard is an exact text in a file, what replaces
it to remove the guard, and tests that must fail then. checks/mutations.py removes each one and runs its tests;
checks/security_page.py writes them into docs/security.md.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.files import ROOT

TABLE = ROOT / "checks" / "guards.toml"
ROW_KEYS = {"number", "attack", "promise", "guards", "because"}
GUARD_KEYS = {"name", "file", "text", "replacement", "tests", "everywhere"}


class GuardTableError(Exception):
    """Says which entry of the table is wrong."""


@dataclass(frozen=True)
class Guard:
    row: int
    name: str
    """What the guard does, in a few words."""
    file: str
    text: str
    """Text of the guard. It is in the file once, unless `everywhere` is set."""
    replacement: str
    tests: tuple[str, ...]
    """Tests as pytest takes them. At least one fails without the guard."""
    everywhere: bool = False

    def remove_from(self, source: str) -> str:
        """Return the file's text without the guard; GuardTableError where the guard is not found or not unique."""
        count = source.count(self.text)
        if count == 0:
            raise GuardTableError(f"{self.file} no longer has its text: write the new one into checks/guards.toml")
        if count > 1 and not self.everywhere:
            raise GuardTableError(f"{self.file} has its text {count} times: write more of it into checks/guards.toml")
        return source.replace(self.text, self.replacement)


@dataclass(frozen=True)
class SecurityRow:
    number: int
    attack: str
    promise: str
    guards: tuple[Guard, ...]
    because: str = ""
    """Why there is no guard to remove."""


def read_rows(path: Path = TABLE) -> list[SecurityRow]:
    """Read the table; GuardTableError where an entry is wrong."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise GuardTableError(f"{path.name}: {error}") from None
    rows = [_read_row(entry) for entry in document.get("rows", [])]
    numbers = [row.number for row in rows]
    if numbers != list(range(1, len(rows) + 1)):
        raise GuardTableError(f"{path.name}: rows are numbered from 1 without a gap, not {numbers}")
    return rows


def _read_row(entry: Mapping[str, Any]) -> SecurityRow:
    number = entry.get("number", 0)
    _check_keys(f"row {number}", entry, ROW_KEYS, {"number", "attack", "promise"})
    guards = tuple(_read_guard(number, guard) for guard in entry.get("guards", []))
    if bool(guards) == bool(entry.get("because")):
        raise GuardTableError(f"row {number}: write its guards, or `because`, which says why there is none to remove")
    return SecurityRow(number, entry["attack"], entry["promise"], guards, entry.get("because", ""))


def _read_guard(row: int, entry: Mapping[str, Any]) -> Guard:
    place = f"row {row}, {entry.get('name', 'a guard without a name')}"
    _check_keys(place, entry, GUARD_KEYS, {"name", "file", "text", "replacement", "tests"})
    if not entry["tests"] or not entry["text"]:
        raise GuardTableError(f"{place}: text and tests must not be empty")
    return Guard(
        row=row,
        name=entry["name"],
        file=entry["file"],
        text=entry["text"],
        replacement=entry["replacement"],
        tests=tuple(entry["tests"]),
        everywhere=entry.get("everywhere", False),
    )


def _check_keys(place: str, entry: Mapping[str, Any], known: set[str], needed: set[str]) -> None:
    for key in sorted(entry.keys() - known):
        raise GuardTableError(f"{place}: unknown key {key!r}")
    for key in sorted(needed - entry.keys()):
        raise GuardTableError(f"{place}: {key} is missing")


def shorten_path(path: str) -> str:
    return path.removeprefix("src/rightseat/")
