"""The README's table of clients: endpoint, client and version, what the tests drive.

tests/peers/clients.toml has the rows. tests/peers/driven.json has the versions that the last whole run drove and a
digest of each lock that decided them: `make test-all` writes it, and the table, unless CI is set.

    python -m checks.clients            whether rows, record, locks and table agree
    python -m checks.clients --write    write the table anew, from the record

Runs on the bare interpreter.
"""

import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- clients -->", "<!-- /clients -->"
HEAD = "| endpoint | client and version | what the tests drive |\n|---|---|---|"
VERSION = re.compile(r"\d+(?:\.\d+)+(?:[a-z]+\d+)?")
RENEWED_LATER = "RIGHTSEAT_RENEWS_CLIENTS"
"""Environment variable of a run that writes the record at its end: until then an old record is no fault."""


@dataclass(frozen=True, slots=True)
class DrivenClient:
    """One client of tests/peers/clients.toml."""

    name: str
    title: str
    lock: str = ""
    """Path of the lock that decides its version; none where the system's packages do."""
    packages: tuple[str, ...] = ()
    """Packages of the lock that the record names, first the one whose version is shown."""


@dataclass(frozen=True, slots=True)
class ClientRow:
    """One row of the README's table."""

    endpoint: str
    driven: str
    clients: tuple[DrivenClient, ...]


@dataclass(frozen=True, slots=True)
class ClientTable:
    """The table of a checkout: its rows, its record, its locks and the README that shows it."""

    root: Path = ROOT

    @property
    def rows_path(self) -> Path:
        return self.root / "tests" / "peers" / "clients.toml"

    @property
    def record_path(self) -> Path:
        return self.root / "tests" / "peers" / "driven.json"

    @property
    def readme_path(self) -> Path:
        return self.root / "README.md"

    def read_rows(self) -> list[ClientRow]:
        rows = tomllib.loads(self.rows_path.read_text(encoding="utf-8"))["rows"]
        return [ClientRow(row["endpoint"], row["driven"], tuple(map(read_client, row["clients"]))) for row in rows]

    def list_clients(self) -> list[DrivenClient]:
        return [client for row in self.read_rows() for client in row.clients]

    def read_record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.record_path.read_text(encoding="utf-8"))
        return record

    def digest_locks(self) -> dict[str, str]:
        """Return the digest of each lock that decides a version, by its path."""
        locks = sorted({client.lock for client in self.list_clients() if client.lock})
        return {lock: digest_file(self.root / lock) for lock in locks}

    def write_record(self, versions: Mapping[str, Iterable[str]]) -> None:
        """Write the versions that were driven, with the digests of this checkout's locks, and then the table."""
        record = {
            "versions": {client.name: sorted(versions[client.name]) for client in self.list_clients()},
            "locks": self.digest_locks(),
        }
        self.record_path.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        self.write_table()

    def write_table(self) -> None:
        text = self.readme_path.read_text(encoding="utf-8")
        self.readme_path.write_text(replace_table(text, self.build_table()), encoding="utf-8")

    def build_table(self) -> str:
        versions = self.read_record()["versions"]
        lines = [
            f"| {row.endpoint} | {self.format_clients(row.clients, versions)} | {row.driven} |"
            for row in self.read_rows()
        ]
        return "\n".join([HEAD, *lines])

    def format_clients(self, clients: Iterable[DrivenClient], versions: Mapping[str, Iterable[str]]) -> str:
        """Return clients with their versions as a cell; those with the same title once, with the versions of all."""
        shown: dict[str, list[str]] = {}
        for client in clients:
            numbers = find_numbers(versions[client.name])
            if client.lock:
                numbers &= read_lock_versions(self.root / client.lock, client.packages[0])
            shown.setdefault(client.title, []).extend(numbers)
        return ", ".join(f"{title} {', '.join(sort_versions(numbers))}" for title, numbers in shown.items())

    def find_version_faults(self, versions: Mapping[str, Iterable[str]]) -> Iterator[str]:
        """Yield a sentence for each client whose driven version is not that of its lock."""
        for client in self.list_clients():
            if not client.lock or client.name not in versions:
                continue
            numbers = find_numbers(versions[client.name])
            locked = [read_lock_versions(self.root / client.lock, package) for package in client.packages]
            if not numbers <= set[str]().union(*locked) or not all(numbers & choice for choice in locked):
                expected = " ".join(sort_versions(set[str]().union(*locked)))
                yield f"{client.name}: driven was {' '.join(sort_versions(numbers))}, {client.lock} has {expected}"

    def find_name_faults(self) -> Iterator[str]:
        """Yield a sentence for each name that is not once in the rows and once among the expected."""
        path = self.root / "tests" / "peers" / "expected.toml"
        expected = tomllib.loads(path.read_text(encoding="utf-8"))["names"]
        names = [client.name for client in self.list_clients()]
        for name in sorted({*names, *expected}):
            if names.count(name) != 1 or name not in expected:
                yield f"{name}: give it one row of tests/peers/clients.toml and a line of tests/peers/expected.toml"

    def find_record_faults(self) -> Iterator[str]:
        """Yield a sentence for each lock or client that the record is not about."""
        record, digests = self.read_record(), self.digest_locks()
        for lock in sorted({*record["locks"], *digests}):
            if record["locks"].get(lock) != digests.get(lock):
                yield f"{lock} is not the lock of the recorded run"
        names = {client.name for client in self.list_clients()}
        for name in sorted(names ^ record["versions"].keys()):
            yield f"{name} is not both recorded and in a row"
        yield from self.find_version_faults(record["versions"])

    def find_faults(self) -> list[str]:
        """Return what is wrong, each with what to do about it."""
        faults = list(self.find_name_faults())
        if faults or os.environ.get(RENEWED_LATER):
            return faults
        if stale := list(self.find_record_faults()):
            return [*stale, "tests/peers/driven.json is of other locks: run `make test-all`, which writes it"]
        text = self.readme_path.read_text(encoding="utf-8")
        if replace_table(text, self.build_table()) != text:
            return ["README.md: the table of clients is stale: run `python -m checks.clients --write`"]
        return []


def read_client(entry: Mapping[str, Any]) -> DrivenClient:
    return DrivenClient(entry["name"], entry["title"], entry.get("lock", ""), tuple(entry.get("packages", ())))


def read_lock_versions(lock: Path, package: str) -> set[str]:
    """Return the versions of a package in a requirements.txt or a package-lock.json; an npm package by the name of its
    folder. A lock has several where they depend on the Python, or where packages have their own copies."""
    text = lock.read_text(encoding="utf-8")
    if lock.suffix == ".txt":
        return set(re.findall(rf"^{re.escape(package)}==(\S+)", text, re.MULTILINE))
    entries = json.loads(text)["packages"].items()
    return {entry["version"] for path, entry in entries if path.rpartition("node_modules/")[2] == package}


def digest_file(path: Path) -> str:
    # As text: the end of a line depends on the checkout.
    return hashlib.sha256(path.read_text(encoding="utf-8").encode()).hexdigest()[:16]


def find_numbers(texts: Iterable[str]) -> set[str]:
    """Return the version numbers in what tests recorded, such as `pandas 3.1.1 polars 2.1.0`."""
    return {number for text in texts for number in VERSION.findall(text)}


def sort_versions(versions: Iterable[str]) -> list[str]:
    return sorted(set(versions), key=lambda version: [int(part) for part in re.findall(r"\d+", version)])


def replace_table(readme: str, table: str) -> str:
    """Return the README with the table between the marks; raises ValueError where it has not each mark once."""
    if (readme.count(BEGIN), readme.count(END)) != (1, 1):
        raise ValueError(f"README.md needs {BEGIN} and {END}, once each")
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}"


def main(arguments: list[str]) -> int:
    table = ClientTable()
    if "--write" in arguments:
        table.write_table()
    faults = table.find_faults()
    print("\n".join([*faults, f"{len(table.list_clients())} clients, {len(faults)} findings"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
