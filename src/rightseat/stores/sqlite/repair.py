"""Repair of a damaged database file: rows that have their checksums are carried over to a new file, and the damaged
one is kept aside.

Rows that keep an effect from happening twice get particular care. A run whose entries are lost is known by its id and
refused; an open question is carried over only if all of them are readable, since a lost row may be its answer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

from rightseat.errors import ConfigError
from rightseat.stores.encoding import LOST_RUN
from rightseat.stores.sqlite.database import (
    CHECK_SUFFIX,
    COVERED_COLUMNS,
    TABLES_WITH_BODY,
    DamagedFile,
    StoreHealth,
    check_file,
    checksum_row,
    describe_damage,
    find_damaged_row,
    find_structural_damage,
    is_damage,
    open_database,
    open_read_only,
)
from rightseat.stores.sqlite.pages import PageFile, Value, WriteAheadLog
from rightseat.stores.sqlite.threads import ThreadKey
from rightseat.types.text import pluralize
from rightseat.types.threads import RUN_NUMBERS

log = logging.getLogger(__name__)
NEW_SUFFIX = ".new"
SIDE_FILES = ("", "-wal", "-shm")
# A larger file is checked in the background, after the start.
CHECKED_AT_START = 32 << 20
# Steps of SQLite between two looks whether a background check shall end, and how often one begins.
CHECK_STEPS, MAX_CHECKS = 10_000, 20
PAUSE_SECONDS = 1.0
REAL_COLUMNS = {"expires", "created", "updated", "beat"}
COLUMNS = {
    "kept": ("kind", "owner", "key", "expires", "weight", "number", "body"),
    "threads": ("owner", "id", "name", "assistant", "created", "updated", "archived", "last", "runs", "size"),
    "entries": ("owner", "thread", "first", "last", "run", "cuts", "body"),
    "leases": ("owner", "thread", "run", "process", "epoch", "beat", "reserved"),
    "runs": ("owner", "thread", "id", "number", "digest"),
}
KEYS = {
    "kept": ("owner", "kind", "key"),
    "threads": ("owner", "id"),
    "entries": ("owner", "thread", "last"),
    "leases": ("owner", "thread"),
    "runs": ("owner", "thread", "id", "digest"),
}
# Types of an index's columns, by which its keys are known; the row's number follows them.
INDEX_TYPES = {"kept": (str, str, str), "entries": (str, str, int), "runs": (str, str, str, str)}
KIND_NAMES = {
    "continuation": "open question",
    "question": "pending question",
    "result": "tool result",
    "note": "checkpoint",
}
OLD_LENGTHS = (7, 10)
MAX_NUMBER = 1 << 52
Row = dict[str, Value]
Key = tuple[Value, ...]


@dataclass
class SalvagedRows:
    """Rows of a damaged file that have their checksums, and the keys that its indexes have."""

    write_entry: Callable[[Row], None]
    rows: dict[str, dict[Key, Row]] = field(default_factory=lambda: {table: {} for table in COLUMNS})
    keys: dict[str, set[Key]] = field(default_factory=lambda: {table: set() for table in INDEX_TYPES})
    damaged_rows: int = 0
    old_rows: int = 0
    """Rows of a version before there were checksums."""
    log_problem: str = ""

    def missing(self, table: str) -> set[Key]:
        """Return the keys of rows that were in the file and cannot be read."""
        return {key for key in self.keys[table] if key not in self.rows[table]}


@dataclass
class RepairReport:
    """What a repair found and did."""

    reason: str
    kept_aside: Path | None = None
    carried: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        carried = ", ".join(pluralize(count, name) for name, count in self.carried.items() if count)
        lost = ", ".join(pluralize(count, name) for name, count in self.lost.items() if count)
        aside = [f"The damaged file is kept as {self.kept_aside}."] if self.kept_aside else []
        return [
            f"The store's file is damaged: {self.reason}.",
            *aside,
            f"Carried over: {carried or 'nothing'}.",
            f"Lost: {lost or 'nothing that is known of'}.",
            *self.notes,
        ]


def salvage_rows(path: Path, write_entry: Callable[[Row], None]) -> SalvagedRows:
    """Read all rows of the file and its write-ahead log that have their checksums. Entries are the most of a file:
    they are written at once and returned without their bodies."""
    salvaged = SalvagedRows(write_entry)
    with closing(PageFile(path)) as pages:
        salvaged.log_problem = pages.log.problem
        for number in range(1, pages.page_count + 1):
            for is_row, values in pages.read_records(number):
                if is_row:
                    add_row(salvaged, values)
                else:
                    add_key(salvaged, values)
        salvaged.damaged_rows += pages.damaged_cells
    return salvaged


def add_row(salvaged: SalvagedRows, values: list[Value]) -> None:
    tables = [table for table, columns in COLUMNS.items() if len(columns) + 1 == len(values)]
    for table in tables:
        row = {
            name: float(value) if name in REAL_COLUMNS and isinstance(value, int) else value
            for name, value in zip(COLUMNS[table], values, strict=False)
        }
        body = row["body"] if table in TABLES_WITH_BODY else b""
        covered = (row[name] for name in COVERED_COLUMNS[table])
        if isinstance(body, bytes) and checksum_row(table, body, *covered) == values[-1]:
            key = tuple(row[name] for name in KEYS[table])
            if table == "entries":
                row["run"] = row["run"] if isinstance(row["run"], int) and 0 < row["run"] < MAX_NUMBER else 1
                salvaged.write_entry(row)
                row |= {"body": b"", "size": len(body)}
            earlier = salvaged.rows[table].get(key)
            # Twice only if the log is damaged: the newer one counts.
            if earlier is None or table != "kept" or cast(int, row["number"]) > cast(int, earlier["number"]):
                salvaged.rows[table][key] = row
            return
    salvaged.damaged_rows += bool(tables)
    salvaged.old_rows += len(values) in OLD_LENGTHS


def add_key(salvaged: SalvagedRows, values: list[Value]) -> None:
    for table, types in INDEX_TYPES.items():
        if tuple(map(type, values)) == (*types, int):
            key = tuple(values[:-1])
            if table != "kept" or key[1] in KIND_NAMES:
                salvaged.keys[table].add(key)
                return


def carry_over(damaged: Path, path: Path, report: RepairReport) -> None:
    """Write the rows that can be read of a damaged file to a new one and count them in the report."""
    with closing(open_database(path)) as database, database:
        database.execute("BEGIN IMMEDIATE")
        salvaged = salvage_rows(damaged, lambda row: insert(database, "entries", [row]))
        lost_entries = salvaged.missing("entries")
        threads = collect_threads(salvaged)
        insert(database, "threads", threads.values())
        # Epoch 0 is no process's: the start ends these runs.
        leases = [{**row, "epoch": 0} for row in salvaged.rows["leases"].values()]
        insert(database, "leases", [row for row in leases if (row["owner"], row["thread"]) in threads])
        incomplete = {cast(ThreadKey, key[:2]) for key in lost_entries}
        runs = collect_runs(salvaged, incomplete)
        insert(database, "runs", runs)
        records = collect_records(salvaged, report)
        insert(database, "kept", records)
    report.carried |= Counter({"thread": len(threads), "event": len(salvaged.rows["entries"])})
    report.carried += Counter(KIND_NAMES[cast(str, row["kind"])] for row in records)
    report.lost += Counter({"event": len(lost_entries)})
    # A damaged row that an index knows is counted by its key.
    others = salvaged.damaged_rows - sum(len(salvaged.missing(table)) for table in INDEX_TYPES)
    report.lost += Counter({"other row": max(others, 0)})
    lost_runs = sum(row["number"] == LOST_RUN for row in runs)
    if lost_runs:
        report.notes.append(
            f"{pluralize(lost_runs, 'run')} of incomplete threads cannot be replayed; posted again under the same id, "
            "such a run is refused and not run twice."
        )
    if salvaged.old_rows:
        report.lost["unverified row"] = salvaged.old_rows
        report.notes.append("An older version wrote rows without checksums: what they say cannot be trusted.")
    if salvaged.log_problem:
        report.notes.append("The last changes before the damage are lost; what they were is not known.")


def collect_threads(salvaged: SalvagedRows) -> dict[Key, Row]:
    """Return the threads, with those that only their entries tell of, and numbers behind all that were used."""
    threads: dict[Key, Row] = {key: dict(row) for key, row in salvaged.rows["threads"].items()}
    now = time.time()
    for row in threads.values():
        for name in ("last", "runs", "size", "archived"):
            value = row[name]
            row[name] = value if isinstance(value, int) and 0 <= value < MAX_NUMBER else 0
        row["size"] = 0
        row["updated"] = row["updated"] if isinstance(row["updated"], float) else now
    for entry in salvaged.rows["entries"].values():
        thread = threads.setdefault(
            (entry["owner"], entry["thread"]),
            {"owner": entry["owner"], "id": entry["thread"], "name": "", "assistant": "", "created": now}
            | {"updated": now, "archived": 0, "last": 0, "runs": 0, "size": 0},
        )
        thread["last"] = max(cast(int, thread["last"]), cast(int, entry["last"]))
        thread["runs"] = max(cast(int, thread["runs"]), cast(int, entry["run"]))
        thread["size"] = cast(int, thread["size"]) + cast(int, entry["size"])
    incomplete = {key[:2] for key in salvaged.missing("entries")}
    for key, row in threads.items():
        if salvaged.log_problem or salvaged.damaged_rows or key in incomplete or key not in salvaged.rows["threads"]:
            # Clients may have seen the numbers of lost entries: none is used again.
            row["last"] = cast(int, row["last"]) + RUN_NUMBERS
    return threads


def collect_runs(salvaged: SalvagedRows, incomplete: set[ThreadKey]) -> list[Row]:
    """Return the ids of runs. A run of an incomplete thread, or one that only the index has, is marked as lost."""
    runs = [dict(row) for row in salvaged.rows["runs"].values()]
    runs += [dict(zip(KEYS["runs"], key, strict=True)) for key in salvaged.missing("runs")]
    known = {(entry["owner"], entry["thread"], entry["run"]) for entry in salvaged.rows["entries"].values()}
    for row in runs:
        thread = (row["owner"], row["thread"])
        if thread in incomplete or (*thread, row.get("number")) not in known:
            row["number"] = LOST_RUN
    return runs


def collect_records(salvaged: SalvagedRows, report: RepairReport) -> list[Row]:
    """Return the rows of `kept`; open questions only if no row that may be their answer is lost."""
    records = list(salvaged.rows["kept"].values())
    lost = salvaged.missing("kept")
    report.lost += Counter(KIND_NAMES[cast(str, key[1])] for key in lost)
    if not lost and not salvaged.log_problem and not salvaged.damaged_rows:
        return records
    questions = [row for row in records if row["kind"] in ("continuation", "question")]
    if questions:
        report.notes.append(
            f"{pluralize(len(questions), 'open question')} not carried over: it is not known whether they were "
            "answered, and an answer must not take effect twice. People ask again."
        )
    if any(key[1] == "note" for key in lost) or salvaged.log_problem or salvaged.damaged_rows:
        report.notes.append(
            "A flow that was under way may begin at an earlier step when it is asked for again: "
            "look at what it has done before."
        )
    return [row for row in records if row["kind"] not in ("continuation", "question")]


def insert(database: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    columns = COLUMNS[table]
    names, places = ", ".join(columns), ", ".join("?" * len(columns))
    statement = f"INSERT OR REPLACE INTO {table} ({names}, checksum) VALUES ({places}, ?)"  # noqa: S608 - our own names
    values = []
    for row in rows:
        body = row["body"] if table in TABLES_WITH_BODY else b""
        covered = (row[name] for name in COVERED_COLUMNS[table])
        values.append((*(row[name] for name in columns), checksum_row(table, cast(bytes, body), *covered)))
    database.executemany(statement, values)


def repair_file(path: Path, reason: str) -> RepairReport:
    """Build a new file from what is readable, keep the damaged one aside and put the new one in its place."""
    report = RepairReport(reason)
    draft = path.with_name(f"{path.name}.draft")
    remove_files(draft)
    try:
        carry_over(path, draft, report)
        # Complete from here on: a start that finds it puts it in its place.
        draft.replace(path.with_name(path.name + NEW_SUFFIX))
    except (OSError, sqlite3.Error) as error:
        remove_files(draft)
        raise ConfigError(
            f"{path} is damaged ({reason}) and cannot be repaired: {error}. If the disk is full, free some space."
        ) from None
    report.kept_aside = install_new_file(path)
    return report


def install_new_file(path: Path, label: str = "damaged") -> Path | None:
    """Put a complete new file in its place, the old one aside; returns where that is. Goes on where a killed process
    stopped."""
    new = path.with_name(path.name + NEW_SUFFIX)
    if not new.exists():
        return None
    aside = choose_aside(path, label, new.stat().st_mtime)
    # The log goes with its file: it must not be applied to the new one.
    for suffix in SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{aside}{suffix}")
    new.replace(path)
    path.with_name(path.name + CHECK_SUFFIX).unlink(missing_ok=True)
    return aside


def choose_aside(path: Path, label: str, at: float) -> Path:
    """Return a free name with the date, or the one to which a killed process has moved the file."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.{label}-{stamp}{'' if number == 1 else f'-{number}'}")
        if not path.exists() or not any(Path(f"{aside}{suffix}").exists() for suffix in SIDE_FILES):
            return aside
    raise ConfigError(f"There are too many damaged files beside {path}: move them away.")


def remove_files(path: Path) -> None:
    for suffix in SIDE_FILES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def copy_database(path: Path, target: Path) -> None:
    """Copy a database, also one in use, to a single file; raises ConfigError if it cannot be read or written, or if
    the copy is damaged."""
    draft = target.with_name(f"{target.name}.draft")
    try:
        remove_files(draft)
        draft.touch(mode=0o600)
        with closing(open_read_only(path)) as database, closing(sqlite3.connect(draft)) as copy:
            database.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        if problem := check_file(draft, whole=True):
            raise ConfigError(f"{path} is damaged: {problem}. Stop the server, then run: rightseat store repair")
        draft.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"{path} cannot be copied to {target}: {error}.") from None
    finally:
        remove_files(draft)


def install_backup(file: Path, path: Path) -> Path | None:
    """Put a copy of a backup in the store's place, without its open questions: they may have been answered since.
    Returns where the present file is kept."""
    new = path.with_name(path.name + NEW_SUFFIX)
    copy = path.with_name(f"{path.name}.restored")
    try:
        copy_database(file, copy)
        with closing(open_database(copy)) as database:
            database.execute("DELETE FROM kept WHERE kind IN ('continuation', 'question')")
        existed = path.exists()
        copy.replace(new)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"{file} cannot be restored to {path}: {error}.") from None
    except DamagedFile as error:
        raise ConfigError(f"{file} is damaged: {error}. Take another backup.") from None
    finally:
        remove_files(copy)
    aside = install_new_file(path, "replaced")
    return aside if existed else None


def find_file_damage(path: Path, *, whole: bool) -> str:
    """Return what is damaged in a file that nobody uses, or in its log; empty if nothing is."""
    try:
        problem = WriteAheadLog(path.with_name(f"{path.name}-wal")).problem
        # Read-only: a damaged file stays as it was found.
        return problem or check_file(path, whole=whole)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except sqlite3.Error as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None


def open_checked(path: Path) -> sqlite3.Connection:
    """Open the database; raises DamagedFile if it or its log is damaged, as far as a start may take to find out."""
    marked = path.with_name(path.name + CHECK_SUFFIX)
    size = path.stat().st_size if path.exists() else 0
    if not size and WriteAheadLog(path.with_name(f"{path.name}-wal")).pages:
        raise DamagedFile("it is empty, and its write-ahead log is not")
    if size and (problem := find_file_damage(path, whole=marked.exists() or size <= CHECKED_AT_START)):
        raise DamagedFile(problem)
    marked.unlink(missing_ok=True)
    return open_database(path)


def open_or_repair(path: Path, *, refuse: bool) -> tuple[sqlite3.Connection, RepairReport | None]:
    """Open the database. A damaged one is refused with a sentence, or repaired; then the log has the report."""
    install_new_file(path)
    try:
        return open_checked(path), None
    except DamagedFile as error:
        reason = str(error)
    return repair_or_refuse(path, reason, refuse=refuse)


def require_damage(path: Path, error: sqlite3.Error) -> str:
    """Return what is damaged by an error of opening; raises ConfigError if it says something else."""
    if not is_damage(error):
        raise ConfigError(f"{path} cannot be used: {error}. If the disk is full, free some space.") from None
    return describe_damage(error)


def repair_or_refuse(path: Path, reason: str, *, refuse: bool) -> tuple[sqlite3.Connection, RepairReport]:
    if refuse:
        raise ConfigError(
            f'{path} is damaged: {reason}. With [store] damaged = "refuse" the server does not start with it. '
            "Repair it with `rightseat store repair`, or bring back a backup with `rightseat store restore FILE`."
        )
    report = repair_file(path, reason)
    for line in report.lines():
        log.error("%s", line)
    return open_database(path), report


class BackgroundCheck:
    """Check of a large file while the server answers. `give_way` begins it anew: a reader keeps deleted content in the
    write-ahead log."""

    def __init__(self, path: Path, health: StoreHealth, deletion_file: Path | None = None) -> None:
        self.path = path
        self.health = health
        self.deletion_file = deletion_file
        """File that another process touches to make the check give way."""
        self.interrupted = False
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, name="rightseat-store-check", daemon=True)
        self.thread.start()

    def run(self) -> None:
        for _ in range(MAX_CHECKS):
            self.interrupted = False
            begun = self.get_deletion_time()
            try:
                with closing(open_read_only(self.path)) as database:
                    database.set_progress_handler(partial(self.must_pause, begun), CHECK_STEPS)
                    if problem := find_structural_damage(database):
                        self.health.report_damage(problem, structural=True)
                    elif problem := find_damaged_row(database):
                        self.health.report_damage(problem, structural=False)
                return
            except sqlite3.Error as error:
                # A moment for the writer, before it begins again.
                if not self.interrupted or self.stopped.wait(PAUSE_SECONDS):
                    log.debug("the store's file was not checked: %s", error)
                    return

    def must_pause(self, begun: int) -> bool:
        self.interrupted = self.interrupted or self.get_deletion_time() != begun
        return self.interrupted or self.stopped.is_set()

    def get_deletion_time(self) -> int:
        """Return when another process has deleted something; 0 if none has."""
        try:
            return self.deletion_file.stat().st_mtime_ns if self.deletion_file is not None else 0
        except OSError:
            return 0

    def give_way(self) -> None:
        self.interrupted = True

    def close(self) -> None:
        self.stopped.set()
        self.thread.join()
