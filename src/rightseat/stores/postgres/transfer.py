"""PostgresRowSource and PostgresRowTarget: the tables of a deployment as the source or the target of a transfer.

The state of a transfer is in a table of its own, which only a database that was moved into has: no server starts with
the tables until the transfer is finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import msgspec
import psycopg

from rightseat.errors import ConfigError
from rightseat.stores.encoding import continuation_decoder, decode_record
from rightseat.stores.postgres.database import Row, connect, describe_place, make_connection_info
from rightseat.stores.postgres.keys import HASHED, encode_key, escape_text, label_key, unescape_text
from rightseat.stores.postgres.presence import list_open_replicas
from rightseat.stores.postgres.records import list_awaited_ids
from rightseat.stores.postgres.refusals import FindObstacle, explain_refusals, find_any_obstacle, find_read_obstacle
from rightseat.stores.postgres.schema import (
    MIGRATIONS,
    MOVES_TABLE,
    check_schema_name,
    has_table,
    migrate,
    name_schema,
    read_version,
)
from rightseat.stores.transfer import (
    RECORD_KINDS,
    ROW_KINDS,
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

MOVED_WORKER = "moved"
"""Holder of leases whose processes have ended: no process has this name, so that their runs are taken over."""
READ_THREADS = """
SELECT owner, id, COALESCE(owner_label, owner), COALESCE(id_label, id), name, assistant, created, updated, archived,
    last, fence, size, COALESCE(run, ''), CASE WHEN run IS NULL THEN 0 ELSE before END
FROM {s}.threads WHERE %(all)s OR (owner, id) > (%(a)s, %(b)s) ORDER BY owner, id
"""
READ_ENTRIES = """
SELECT owner, thread, first, last, run, cuts, body
FROM {s}.entries WHERE %(all)s OR (owner, thread, last) > (%(a)s, %(b)s, %(c)s) ORDER BY owner, thread, last
"""
READ_RUNS = """
SELECT owner, thread, id, digest, number
FROM {s}.runs WHERE %(all)s OR (owner, thread, id, digest) > (%(a)s, %(b)s, %(c)s, %(d)s)
ORDER BY owner, thread, id, digest
"""
READ_RECORDS = """
SELECT number, owner, kind, COALESCE(label, key), expires, body
FROM {s}.kept WHERE kind = %(kind)s AND (%(all)s OR number > %(a)s) ORDER BY number
"""
READ_LABELS = "SELECT DISTINCT owner, owner_label FROM {s}.threads WHERE owner_label IS NOT NULL"
READS: dict[str, str] = {
    "thread": READ_THREADS,
    "entry": READ_ENTRIES,
    "run": READ_RUNS,
    **dict.fromkeys(RECORD_KINDS, READ_RECORDS),
}
COUNTS: dict[str, str] = {
    "thread": "SELECT count(*) FROM {s}.threads",
    "entry": "SELECT count(*) FROM {s}.entries",
    "run": "SELECT count(*) FROM {s}.runs",
    **dict.fromkeys(RECORD_KINDS, "SELECT count(*) FROM {s}.kept WHERE kind = %(kind)s"),
}
PUT_THREAD = """
INSERT INTO {s}.threads (owner, id, owner_label, id_label, name, assistant, created, updated, archived, last, fence,
    size, run, worker, before)
VALUES (%(owner)s, %(id)s, %(owner_label)s, %(id_label)s, %(name)s, %(assistant)s, %(created)s, %(updated)s,
    %(archived)s, %(last)s, %(fence)s, %(size)s, %(run)s, %(worker)s, %(before)s) ON CONFLICT DO NOTHING
"""
PUT_ENTRY = """
INSERT INTO {s}.entries (owner, thread, first, last, run, cuts, body)
VALUES (%(owner)s, %(thread)s, %(first)s, %(last)s, %(run)s, %(cuts)s, %(body)s) ON CONFLICT DO NOTHING
"""
PUT_RUN = """
INSERT INTO {s}.runs (owner, thread, id, digest, number)
VALUES (%(owner)s, %(thread)s, %(id)s, %(digest)s, %(number)s) ON CONFLICT DO NOTHING
"""
PUT_RECORD = """
INSERT INTO {s}.kept (owner, kind, key, label, expires, weight, assistant, waits, body)
VALUES (%(owner)s, %(kind)s, %(key)s, %(label)s, %(expires)s, %(weight)s, %(assistant)s, %(waits)s, %(body)s)
ON CONFLICT DO NOTHING
"""
FETCH_THREADS = """
SELECT t.owner, t.id, COALESCE(owner_label, owner), COALESCE(id_label, id), name, assistant, created, updated, archived,
    last, fence, size, COALESCE(run, ''), CASE WHEN run IS NULL THEN 0 ELSE before END
FROM unnest(%(a)s::text[], %(b)s::text[]) AS k (a, b) JOIN {s}.threads AS t ON t.owner = k.a AND t.id = k.b
"""
FETCH_ENTRIES = """
SELECT t.owner, t.thread, first, last, run, cuts, body
FROM unnest(%(a)s::text[], %(b)s::text[], %(c)s::bigint[]) AS k (a, b, c)
JOIN {s}.entries AS t ON t.owner = k.a AND t.thread = k.b AND t.last = k.c
"""
FETCH_RUNS = """
SELECT t.owner, t.thread, t.id, t.digest, number
FROM unnest(%(a)s::text[], %(b)s::text[], %(c)s::text[], %(d)s::text[]) AS k (a, b, c, d)
JOIN {s}.runs AS t ON t.owner = k.a AND t.thread = k.b AND t.id = k.c AND t.digest = k.d
"""
FETCH_RECORDS = """
SELECT number, t.owner, t.kind, t.key, expires, body
FROM unnest(%(a)s::text[], %(b)s::text[], %(c)s::text[]) AS k (a, b, c)
JOIN {s}.kept AS t ON t.owner = k.a AND t.kind = k.b AND t.key = k.c
"""
FETCHES: dict[str, str] = {
    "thread": FETCH_THREADS,
    "entry": FETCH_ENTRIES,
    "run": FETCH_RUNS,
    **dict.fromkeys(RECORD_KINDS, FETCH_RECORDS),
}
CREATE_MOVES = """
CREATE TABLE IF NOT EXISTS {s}.moves (
    source text PRIMARY KEY, begun timestamptz NOT NULL DEFAULT now(), finished timestamptz, state text NOT NULL
)
"""
GET_STATE = "SELECT state FROM {s}.moves ORDER BY finished IS NULL DESC, finished DESC LIMIT 1"
PUT_STATE = """
INSERT INTO {s}.moves (source, state) VALUES (%(source)s, %(state)s)
ON CONFLICT (source) DO UPDATE SET state = excluded.state, finished = CASE WHEN %(done)s THEN now() END
"""
LOCK_TARGET = "SELECT pg_try_advisory_lock(hashtextextended('rightseat move ' || %(schema)s, 0))"
GET_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
BATCH_FETCH = 200


def read_clock_offset(connection: psycopg.Connection[Row]) -> float:
    """Return by how many seconds the database's clock is ahead of this machine's."""
    before = time.time()
    row = connection.execute(GET_CLOCK).fetchone()
    assert row is not None
    return float(row[0]) - (before + time.time()) / 2


def require_stopped_servers(connection: psycopg.Connection[Row], schema: str, role: str) -> None:
    replicas = list_open_replicas(connection, schema)
    if replicas:
        names = ", ".join(f"{replica.address} (rightseat {replica.version})" for replica in replicas[:5])
        raise ConfigError(
            f"Servers use the {role}, schema {schema}: {names}. Stop all of them, then move. One that was killed is "
            "noticed after 3 seconds."
        )


class PostgresRows:
    """Connection to the tables of a deployment."""

    find_refusal: FindObstacle = staticmethod(find_any_obstacle)

    def __init__(self, url: str, schema: str, role: str) -> None:
        self.schema = check_schema_name(schema)
        self.name = f"postgresql:{describe_place(make_connection_info(url))}, schema {schema}"
        with ExitStack() as unless_opened:
            self.connection = connect(url)
            unless_opened.callback(self.connection.close)
            unless_opened.enter_context(self.explain())
            self.prepare()
            require_stopped_servers(self.connection, schema, role)
            self.clock_offset = read_clock_offset(self.connection)
            unless_opened.pop_all()

    def prepare(self) -> None:
        """Raise ConfigError if the tables cannot be used."""

    def explain(self) -> AbstractContextManager[None]:
        return explain_refusals(self.connection, self.schema, self.find_refusal)

    def execute(self, text: str, parameters: dict[str, Any] | None = None) -> psycopg.Cursor[Row]:
        with self.explain():
            return self.connection.execute(name_schema(text, self.schema), parameters, binary=True)

    def count(self, kind: RowKind) -> int:
        row = self.execute(COUNTS[kind], {"kind": kind}).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        self.connection.close()


class PostgresRowSource(PostgresRows):
    find_refusal = staticmethod(find_read_obstacle)

    def __init__(self, url: str, schema: str) -> None:
        super().__init__(url, schema, "source")
        self.owner_labels: dict[str, str] = {
            owner: unescape_text(label) for owner, label in self.execute(READ_LABELS).fetchall()
        }

    def prepare(self) -> None:
        version = read_version(self.connection, self.schema)
        if version != len(MIGRATIONS):
            raise ConfigError(
                f"The tables in {self.schema} have version {version}, and this rightseat needs {len(MIGRATIONS)}. "
                "Run `rightseat store migrate`, or name the schema with --schema."
            )

    def read(self, kind: RowKind, after: Place | None = None) -> Iterator[SourceItem]:
        cursor = [*(after or []), *[None] * 4]
        values = {"kind": kind, "all": after is None, **dict(zip("abcd", cursor, strict=False))}
        # A cursor of the server: rows may be large.
        with self.explain(), self.connection.transaction(), self.connection.cursor("move", binary=True) as rows:
            rows.itersize = BATCH_FETCH
            rows.execute(name_schema(READS[kind], self.schema), values)
            for line in rows:
                yield self.decode(kind, line)

    def decode(self, kind: RowKind, line: Row) -> SourceItem:
        row = DECODERS[kind](line)
        place = [line[0]] if kind in RECORD_KINDS else list(line[:2])
        place += [line[3]] if kind == "entry" else list(line[2:4]) if kind == "run" else []
        owner = self.owner_labels.get(row.owner, row.owner)
        names = [owner, *(value for value in row.key[1:] if isinstance(value, str))]
        if any(name.startswith(HASHED) for name in names):
            return SourceItem(place, None, "has a long name that the database holds as a hash only", row.key)
        return SourceItem(place, msgspec.structs.replace(row, owner=owner))

    def find_stray_rows(self) -> list[str]:
        return []


class PostgresRowTarget(PostgresRows):
    def __init__(self, url: str, schema: str) -> None:
        super().__init__(url, schema, "target")

    def prepare(self) -> None:
        row = self.connection.execute(LOCK_TARGET, {"schema": self.schema}).fetchone()
        if not row or not row[0]:
            raise ConfigError(f"Another move into the schema {self.schema} is under way. Wait for its end.")
        migrate(self.connection, self.schema)

    def load_state(self) -> TransferState | None:
        row = self.execute(GET_STATE).fetchone() if has_table(self.connection, self.schema, MOVES_TABLE) else None
        return msgspec.json.decode(row[0], type=TransferState) if row else None

    def has_rows(self) -> bool:
        return any(map(self.count, ROW_KINDS))

    def save_state(self, state: TransferState) -> None:
        self.execute(CREATE_MOVES)
        self.put_state(state)

    def put_state(self, state: TransferState) -> None:
        values = {"source": state.source, "state": msgspec.json.encode(state).decode(), "done": state.is_finished}
        self.execute(PUT_STATE, values)

    def write(self, kind: RowKind, rows: Sequence[StoredRow], state: TransferState) -> None:
        statement, encode = ENCODERS[kind]
        with self.explain(), self.connection.transaction():
            if rows:
                with self.connection.cursor() as cursor:
                    cursor.executemany(name_schema(statement, self.schema), [encode(row) for row in rows])
            self.put_state(state)

    def fetch(self, kind: RowKind, rows: Sequence[StoredRow]) -> dict[RowKey, StoredRow]:
        by_key = {encode_row_key(row.key): row.key for row in rows}
        columns = dict(zip("abcd", map(list, zip(*by_key, strict=True)), strict=False))
        lines = self.execute(FETCHES[kind], columns).fetchall() if by_key else []
        stored: dict[RowKey, StoredRow] = {}
        for line in lines:
            row = DECODERS[kind](line)
            key = by_key[encode_row_key(row.key) if kind == "thread" else escape_row_key(row.key)]
            stored[key] = restore_key(row, key)
        return stored

    def find_obstacle(self, row: StoredRow) -> str:
        if isinstance(row, StoredEntry):
            try:
                if "\0" in row.body.decode() + row.cuts.decode():
                    return "has a character that PostgreSQL does not hold"
            except UnicodeDecodeError:
                return "is no text"
        return ""

    def finish(self, state: TransferState) -> None:
        self.put_state(state)


def encode_row_key(key: RowKey) -> RowKey:
    """Return a key as the tables have it."""
    return tuple(encode_key(part) if isinstance(part, str) else part for part in key)


def escape_row_key(key: RowKey) -> RowKey:
    """Return a key that was read, and whose escapes were restored, as the tables have it."""
    return tuple(part if not isinstance(part, str) or part.startswith(HASHED) else escape_text(part) for part in key)


def restore_key(row: StoredRow, key: RowKey) -> StoredRow:
    """Return the row with the names of a key that the tables may have as hashes."""
    match row:
        case StoredEntry() | StoredRun():
            names = {"owner": key[0], "thread": key[1]} | ({"id": key[2]} if isinstance(row, StoredRun) else {})
        case StoredRecord():
            names = {"owner": key[0], "key_text": key[2]}
        case _:
            names = {}
    return msgspec.structs.replace(row, **names)


def decode_thread_line(line: Row) -> StoredRow:
    owner, id, name, assistant = map(unescape_text, line[2:6])
    created, updated, archived, last, fence, size, run, before = line[6:]
    times = (created, updated, archived)
    return StoredThread(owner, id, name, assistant, *times, last, fence, size, unescape_text(run), before)


def decode_entry_line(line: Row) -> StoredRow:
    owner, thread, first, last, run, cuts, body = line
    names = (unescape_name(owner), unescape_name(thread))
    return StoredEntry(*names, first, last, run, cuts.encode(), body.encode())


def decode_run_line(line: Row) -> StoredRow:
    owner, thread, id, digest, number = line
    return StoredRun(unescape_name(owner), unescape_name(thread), unescape_name(id), digest, number)


def decode_record_line(line: Row) -> StoredRow:
    _, owner, kind, key, expires, body = line
    return StoredRecord(unescape_name(owner), kind, unescape_name(key), expires, bytes(body))


def unescape_name(name: str) -> str:
    return name if name.startswith(HASHED) else unescape_text(name)


DECODERS: dict[str, Callable[[Row], StoredRow]] = {
    "thread": decode_thread_line,
    "entry": decode_entry_line,
    "run": decode_run_line,
    **dict.fromkeys(RECORD_KINDS, decode_record_line),
}


def encode_thread(row: Any) -> dict[str, Any]:
    names = {"owner": encode_key(row.owner), "id": encode_key(row.id)}
    labels = {"owner_label": label_key(row.owner), "id_label": label_key(row.id)}
    texts = {"name": escape_text(row.name), "assistant": escape_text(row.assistant)}
    lease = {"run": escape_text(row.run) or None, "worker": MOVED_WORKER if row.run else None}
    return {**msgspec.structs.asdict(row), **names, **labels, **texts, **lease}


def encode_entry(row: Any) -> dict[str, Any]:
    names = {"owner": encode_key(row.owner), "thread": encode_key(row.thread)}
    return {**msgspec.structs.asdict(row), **names, "cuts": row.cuts.decode(), "body": row.body.decode()}


def encode_run(row: Any) -> dict[str, Any]:
    names = {"owner": encode_key(row.owner), "thread": encode_key(row.thread), "id": encode_key(row.id)}
    return {**msgspec.structs.asdict(row), **names}


def encode_record(row: Any) -> dict[str, Any]:
    continuation = decode_record(row.body, continuation_decoder) if row.kind == "continuation" else None
    return {
        "owner": encode_key(row.owner),
        "kind": row.kind,
        "key": encode_key(row.key_text),
        "label": label_key(row.key_text),
        "expires": row.expires,
        "weight": len(row.body),
        "assistant": escape_text(continuation.assistant) if continuation else "",
        "waits": list_awaited_ids(continuation) if continuation else [],
        "body": row.body,
    }


ENCODERS: dict[str, tuple[str, Callable[[StoredRow], dict[str, Any]]]] = {
    "thread": (PUT_THREAD, encode_thread),
    "entry": (PUT_ENTRY, encode_entry),
    "run": (PUT_RUN, encode_run),
    **dict.fromkeys(RECORD_KINDS, (PUT_RECORD, encode_record)),
}
