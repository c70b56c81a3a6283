"""SQLiteRowSource and SQLiteRowTarget: the file of a data folder as the source or the target of a transfer.

The source is opened for reading only, while the folder is locked. The target is a new file beside the place of the
store's: it becomes the store's file when all rows are in it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec

from rightseat.errors import ConfigError
from rightseat.stores.encoding import LOST_RUN
from rightseat.stores.sqlite.database import (
    MIGRATIONS,
    DamagedFile,
    FolderLock,
    check_schema,
    checksum_row,
    find_structural_damage,
    open_database,
    open_read_only,
)
from rightseat.stores.sqlite.pages import Value, WriteAheadLog
from rightseat.stores.sqlite.repair import NEW_SUFFIX, insert, remove_files
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.stores.transfer import (
    RECORD_KINDS,
    Place,
    RowKey,
    RowKind,
    SourceItem,
    StoredEntry,
    StoredRecord,
    StoredRow,
    StoredRun,
    StoredThread,
    TransferState,
)
from rightseat.types.threads import RUN_NUMBERS

MOVING_SUFFIX = ".moving"
WRONG_CHECKSUM = "is damaged: it does not have its checksum"
UNREADABLE = "is damaged: it has no values that belong there"
DAMAGED_LEASE = "has a damaged lease: whether a run of it was under way is not known"
REPAIR_FIRST = "Run `rightseat store repair` with the configuration of that folder, then move again."
Line = tuple[Any, ...]

READ_THREADS = """
SELECT t.owner, t.id, t.name, t.assistant, t.created, t.checksum, t.updated, t.archived, t.last, t.runs, t.size,
    l.run, l.process, l.epoch, l.beat, l.reserved, l.checksum
FROM threads AS t LEFT JOIN leases AS l ON l.owner = t.owner AND l.thread = t.id
WHERE ?1 OR (t.owner, t.id) > (?2, ?3) ORDER BY t.owner, t.id
"""
READ_ENTRIES = """
SELECT owner, thread, first, last, cuts, run, body, checksum FROM entries
WHERE ?1 OR (owner, thread, last) > (?2, ?3, ?4) ORDER BY owner, thread, last
"""
READ_RUNS = """
SELECT owner, thread, id, number, digest, checksum FROM runs
WHERE ?1 OR (owner, thread, id, digest) > (?2, ?3, ?4, ?5) ORDER BY owner, thread, id, digest
"""
READ_RECORDS = """
SELECT kind, owner, key, expires, weight, number, body, checksum FROM kept
WHERE kind = ?1 AND (?2 OR (number, owner, key) > (?3, ?4, ?5)) ORDER BY number, owner, key
"""
COUNT_STRAY_RECORDS = "SELECT count(*) FROM kept WHERE kind NOT IN ('continuation', 'question', 'result', 'note')"
COUNT_STRAY_LEASES = """
SELECT count(*) FROM leases WHERE NOT EXISTS (
    SELECT 1 FROM threads WHERE threads.owner = leases.owner AND threads.id = leases.thread
)
"""
FETCH = {
    "thread": READ_THREADS.partition("WHERE")[0] + "WHERE t.owner = ? AND t.id = ?",
    "entry": READ_ENTRIES.partition("WHERE")[0] + "WHERE owner = ? AND thread = ? AND last = ?",
    "run": READ_RUNS.partition("WHERE")[0] + "WHERE owner = ? AND thread = ? AND id = ? AND digest = ?",
    "record": READ_RECORDS.partition("WHERE")[0] + "WHERE owner = ? AND kind = ? AND key = ?",
}
COUNT = {
    "thread": "SELECT count(*) FROM threads",
    "entry": "SELECT count(*) FROM entries",
    "run": "SELECT count(*) FROM runs",
    **dict.fromkeys(RECORD_KINDS, "SELECT count(*) FROM kept WHERE kind = ?"),
}


def is_intact(table: str, checksum: object, body: object, *covered: object) -> bool:
    return isinstance(body, bytes) and checksum_row(table, body, *covered) == checksum


def decode_thread(line: Line) -> SourceItem:
    owner, id, name, assistant, created, checksum, updated, archived, last, runs, size, *lease = line
    place = [owner, id]
    if not is_intact("threads", checksum, b"", owner, id, name, assistant, created):
        return SourceItem(place, None, WRONG_CHECKSUM, (owner, id))
    run, process, epoch, beat, reserved, lease_checksum = lease
    problem = ""
    if lease_checksum is None:
        run, reserved = "", RUN_NUMBERS
    elif not is_intact("leases", lease_checksum, b"", owner, id, run, process, epoch, beat, reserved):
        run, reserved, problem = "", RUN_NUMBERS, DAMAGED_LEASE
    values = (owner, id, name, assistant, created, updated, archived, last, runs, size, run)
    return make_item(place, StoredThread, (*values, reserved - RUN_NUMBERS), (owner, id), problem)


def decode_entry_line(line: Line) -> SourceItem:
    owner, thread, first, last, cuts, run, body, checksum = line
    key = (owner, thread, last)
    if not is_intact("entries", checksum, body, owner, thread, first, last, cuts):
        return SourceItem(list(key), None, WRONG_CHECKSUM, key)
    return make_item(list(key), StoredEntry, (owner, thread, first, last, run, cuts, body), key)


def decode_run(line: Line) -> SourceItem:
    owner, thread, id, number, digest, checksum = line
    key, problem = (owner, thread, id, digest), ""
    if not is_intact("runs", checksum, b"", owner, thread, id, number, digest):
        # Where the run's entries are is not known: it must not run again.
        number, problem = LOST_RUN, f"{WRONG_CHECKSUM}; a run of this id is refused"
    return make_item(list(key), StoredRun, (*key, number), key, problem)


def decode_record_line(line: Line) -> SourceItem:
    kind, owner, key_text, expires, weight, number, body, checksum = line
    key = (owner, kind, key_text)
    if not is_intact("kept", checksum, body, kind, owner, key_text, expires, weight, number):
        return SourceItem([number, owner, key_text], None, WRONG_CHECKSUM, key)
    return make_item([number, owner, key_text], StoredRecord, (owner, kind, key_text, expires, body), key)


def make_item(place: Place, row_type: type[StoredRow], values: Line, key: RowKey, problem: str = "") -> SourceItem:
    """Make the row of these values; columns without a checksum may have values of other types."""
    named = dict(zip(row_type.__struct_fields__, values, strict=True))
    try:
        row: StoredRow = msgspec.convert(named, row_type, strict=False, builtin_types=(bytes,))
    except msgspec.ValidationError:
        return SourceItem(place, None, UNREADABLE, key)
    return SourceItem(place, row, problem, key)


DECODERS: dict[str, Callable[[Line], SourceItem]] = {
    "thread": decode_thread,
    "entry": decode_entry_line,
    "run": decode_run,
    **dict.fromkeys(RECORD_KINDS, decode_record_line),
}


def decode_text(content: bytes) -> str:
    # A text that is damaged is a row that is damaged, and not the end of the query.
    return content.decode("utf-8", "surrogateescape")


class SQLiteRowSource:
    clock_offset = 0.0

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE_FILE
        self.name = f"sqlite:{folder.resolve()}"
        if not self.path.is_file():
            raise ConfigError(f"There is no store in {folder}: {DATABASE_FILE} is missing. Name the data folder.")
        with ExitStack() as unless_opened:
            self.lock = FolderLock(folder)
            unless_opened.callback(self.lock.close)
            self.check()
            self.database = self.open()
            unless_opened.callback(self.database.close)
            if problem := find_structural_damage(self.database):
                raise ConfigError(f"{self.path} is damaged: {problem}. {REPAIR_FIRST}")
            self.database.text_factory = decode_text
            unless_opened.pop_all()

    def check(self) -> None:
        """Raise ConfigError for a file that needs a repair or another version first."""
        if self.path.with_name(self.path.name + NEW_SUFFIX).exists():
            raise ConfigError(f"A repair of {self.path} is not finished: start its server once, and stop it.")
        problem = WriteAheadLog(Path(f"{self.path}-wal")).problem
        version = 0
        try:
            with closing(self.open()) as database:
                check_schema(database, MIGRATIONS)
                (version,) = database.execute("PRAGMA user_version").fetchone()
        except (DamagedFile, sqlite3.Error) as error:
            problem = problem or str(error)
        if problem:
            raise ConfigError(f"{self.path} is damaged: {problem}. {REPAIR_FIRST}")
        if version != len(MIGRATIONS):
            other = "newer" if version > len(MIGRATIONS) else "older"
            advice = "Install that one." if version > len(MIGRATIONS) else "Start this version's server with it once."
            raise ConfigError(
                f"{self.path} was written by a{'n' if other == 'older' else ''} {other} rightseat (its version is "
                f"{version}, needed is {len(MIGRATIONS)}). {advice}"
            )

    def open(self) -> sqlite3.Connection:
        log_file = Path(f"{self.path}-wal")
        if log_file.exists() and log_file.stat().st_size:
            return open_read_only(self.path)
        # Without a log nothing is created beside the file.
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)

    def read(self, kind: RowKind, after: Place | None = None) -> Iterator[SourceItem]:
        cursor = [after is None, *(after or [None] * 4)]
        if kind in RECORD_KINDS:
            lines = self.database.execute(READ_RECORDS, (kind, *cursor[:4]))
        elif kind == "thread":
            lines = self.database.execute(READ_THREADS, cursor[:3])
        elif kind == "entry":
            lines = self.database.execute(READ_ENTRIES, cursor[:4])
        else:
            lines = self.database.execute(READ_RUNS, cursor[:5])
        try:
            yield from map(DECODERS[kind], lines)
        except sqlite3.Error as error:
            raise ConfigError(f"{self.path} cannot be read: {error}. {REPAIR_FIRST}") from None

    def find_stray_rows(self) -> list[str]:
        found = []
        for query, what in ((COUNT_STRAY_RECORDS, "records of no known kind"), (COUNT_STRAY_LEASES, "leases")):
            (count,) = self.database.execute(query).fetchone()
            if count:
                found.append(f"Not moved: {count} {what} that belong to nothing.")
        return found

    def close(self) -> None:
        self.database.close()
        self.lock.close()


class SQLiteRowTarget:
    """New file of a data folder. It has the state of the transfer in a table, also after its end: the same transfer is
    not made twice."""

    clock_offset = 0.0

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE_FILE
        self.draft = self.path.with_name(f"{DATABASE_FILE}{MOVING_SUFFIX}")
        self.name = f"sqlite:{folder.resolve()}"
        with ExitStack() as unless_opened:
            self.lock = FolderLock(folder)
            unless_opened.callback(self.lock.close)
            self.is_new = not self.draft.exists()
            try:
                self.database = open_database(self.draft)
            except DamagedFile as error:
                raise ConfigError(f"{self.draft} is damaged: {error}. Remove it, and move again.") from None
            unless_opened.pop_all()
        self.is_installed = False

    def load_state(self) -> TransferState | None:
        if has_table_of_move(self.database) or not self.path.exists():
            return read_state(self.database)
        with closing(open_read_only(self.path)) as installed:
            try:
                state = read_state(installed)
            except sqlite3.DatabaseError:
                # Whatever this file is, it is no end of a transfer.
                return None
        # It became the store's file as the last step but one.
        return None if state is None else msgspec.structs.replace(state, is_finished=True)

    def has_rows(self) -> bool:
        return self.path.exists() or any(self.count(kind) for kind in ("thread", *RECORD_KINDS))

    def save_state(self, state: TransferState) -> None:
        with self.database:
            self.database.execute("BEGIN IMMEDIATE")
            self.put_state(state)

    def put_state(self, state: TransferState) -> None:
        self.database.execute("CREATE TABLE IF NOT EXISTS moves (state BLOB NOT NULL)")
        self.database.execute("DELETE FROM moves")
        self.database.execute("INSERT INTO moves VALUES (?)", (msgspec.json.encode(state),))

    def write(self, kind: RowKind, rows: Sequence[StoredRow], state: TransferState) -> None:
        with self.database:
            self.database.execute("BEGIN IMMEDIATE")
            for row in rows:
                self.insert(row)
            self.put_state(state)

    def insert(self, row: StoredRow) -> None:
        values: dict[str, Value] = {name: getattr(row, name) for name in row.__struct_fields__}
        match row:
            case StoredThread():
                insert(self.database, "threads", [{**values, "runs": row.fence, "archived": int(row.archived)}])
                if row.run:
                    # Epoch 0 is no process's: the next start ends the run, or goes on with it.
                    lease: dict[str, Value] = {"owner": row.owner, "thread": row.id, "run": row.run, "process": "moved"}
                    reserved = row.before + RUN_NUMBERS
                    insert(self.database, "leases", [{**lease, "epoch": 0, "beat": row.updated, "reserved": reserved}])
            case StoredEntry():
                insert(self.database, "entries", [values])
            case StoredRun():
                insert(self.database, "runs", [values])
            case StoredRecord():
                (number,) = self.database.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM kept").fetchone()
                more: dict[str, Value] = {"key": row.key_text, "weight": len(row.body), "number": number}
                insert(self.database, "kept", [{**values, **more}])

    def fetch(self, kind: RowKind, rows: Sequence[StoredRow]) -> dict[RowKey, StoredRow]:
        query = FETCH["record" if kind in RECORD_KINDS else kind]
        stored: dict[RowKey, StoredRow] = {}
        for row in rows:
            line = self.database.execute(query, row.key).fetchone()
            if line is not None and (item := DECODERS[kind](line)).row is not None and not item.problem:
                stored[row.key] = item.row
        return stored

    def count(self, kind: RowKind) -> int:
        values = (kind,) if kind in RECORD_KINDS else ()
        (count,) = self.database.execute(COUNT[kind], values).fetchone()
        return int(count)

    def find_obstacle(self, row: StoredRow) -> str:
        try:
            for value in msgspec.structs.astuple(row):
                if isinstance(value, str):
                    value.encode()
        except UnicodeEncodeError:
            return "has a character that SQLite does not hold"
        return ""

    def finish(self, state: TransferState) -> None:
        """Make the draft the store's file."""
        if self.path.exists():
            raise ConfigError(f"{self.path} was made meanwhile. Move it away, and move again.")
        self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.database.close()
        self.draft.replace(self.path)
        self.database = open_database(self.path)
        self.is_installed = True
        # Last: the file is complete all the same.
        self.save_state(state)

    def close(self) -> None:
        self.database.close()
        if self.is_new and not self.is_installed and self.draft.exists() and not is_draft_of_move(self.draft):
            # Nothing was begun: nothing stays.
            remove_files(self.draft)
        self.lock.close()


def is_draft_of_move(path: Path) -> bool:
    with closing(open_read_only(path)) as database:
        return has_table_of_move(database)


def has_table_of_move(database: sqlite3.Connection) -> bool:
    return bool(database.execute("SELECT 1 FROM sqlite_master WHERE name = 'moves'").fetchone())


def read_state(database: sqlite3.Connection) -> TransferState | None:
    """Return the state of the transfer that a file is the target of."""
    row = database.execute("SELECT state FROM moves").fetchone() if has_table_of_move(database) else None
    return msgspec.json.decode(row[0], type=TransferState) if row else None
