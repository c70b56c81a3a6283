"""Schema of the store in PostgreSQL: the steps that lead to it, and how they are applied.

All tables are in one schema of the database, which is the deployment's own: `{s}` in a statement stands for it. The
owner is the first column of every key. Times are seconds of the database's clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import psycopg

from rightseat.errors import ConfigError

Migrate = Literal["auto", "never"]
SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,54}")
MIGRATIONS = (
    """
    CREATE FUNCTION {s}.moment(float8) RETURNS float8 LANGUAGE sql STABLE PARALLEL SAFE AS
        'SELECT COALESCE($1, extract(epoch FROM now())::float8)';
    CREATE TABLE {s}.replicas (
        id text PRIMARY KEY,
        address text NOT NULL,
        version text NOT NULL,
        started timestamptz NOT NULL DEFAULT now(),
        beat timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50);
    CREATE TABLE {s}.threads (
        owner text NOT NULL,
        id text NOT NULL,
        owner_label text,
        id_label text,
        name text NOT NULL,
        assistant text NOT NULL,
        created float8 NOT NULL,
        updated float8 NOT NULL,
        archived boolean NOT NULL DEFAULT false,
        last bigint NOT NULL DEFAULT 0,
        size bigint NOT NULL DEFAULT 0,
        fence bigint NOT NULL,
        run text,
        worker text,
        before bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (owner, id)
    ) WITH (fillfactor = 80);
    CREATE INDEX threads_listed ON {s}.threads (owner, updated DESC);
    CREATE INDEX threads_idle ON {s}.threads (updated) WHERE run IS NULL;
    CREATE INDEX threads_leased ON {s}.threads (worker) WHERE run IS NOT NULL;
    CREATE TABLE {s}.entries (
        owner text NOT NULL,
        thread text NOT NULL,
        last bigint NOT NULL,
        first bigint NOT NULL,
        run bigint NOT NULL,
        cuts text NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (owner, thread, last)
    );
    CREATE TABLE {s}.runs (
        owner text NOT NULL,
        thread text NOT NULL,
        id text NOT NULL,
        digest text NOT NULL,
        number bigint NOT NULL,
        PRIMARY KEY (owner, thread, id, digest)
    );
    CREATE TABLE {s}.owners (
        owner text PRIMARY KEY,
        deleted_fence bigint NOT NULL DEFAULT 0
    );
    CREATE TABLE {s}.kept (
        owner text NOT NULL,
        kind text NOT NULL,
        key text NOT NULL,
        label text,
        expires float8 NOT NULL,
        weight integer NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        assistant text NOT NULL DEFAULT '',
        waits text[] NOT NULL DEFAULT '{{}}',
        claimed text NOT NULL DEFAULT '',
        body bytea NOT NULL,
        PRIMARY KEY (owner, kind, key)
    );
    CREATE INDEX kept_expires ON {s}.kept (expires);
    CREATE INDEX kept_oldest ON {s}.kept (kind, number);
    """,
    # The fence of the lease whose run shall stop: a later run of the thread has another.
    "ALTER TABLE {s}.threads ADD COLUMN IF NOT EXISTS stop bigint",
    # Digest of the process's configuration; empty for one of an older version.
    "ALTER TABLE {s}.replicas ADD COLUMN IF NOT EXISTS config text NOT NULL DEFAULT ''",
)
CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS {s}"
CREATE_VERSION = "CREATE TABLE IF NOT EXISTS {s}.schema_version (version integer NOT NULL)"
FIND_TABLE = "SELECT to_regclass(%(table)s) IS NOT NULL"
GET_VERSION = "SELECT COALESCE(max(version), 0) FROM {s}.schema_version"
SET_VERSION = "INSERT INTO {s}.schema_version VALUES (%(version)s)"
FORGET_VERSIONS = "DELETE FROM {s}.schema_version"
MOVES_TABLE = "moves"
GET_UNFINISHED_MOVE = "SELECT source FROM {s}.moves WHERE finished IS NULL LIMIT 1"
LOCK_SCHEMA = "SELECT pg_advisory_lock(hashtextextended('rightseat schema ' || %(schema)s, 0))"
UNLOCK_SCHEMA = "SELECT pg_advisory_unlock(hashtextextended('rightseat schema ' || %(schema)s, 0))"


def check_schema_name(schema: str) -> str:
    if not SCHEMA_NAME.fullmatch(schema):
        raise ConfigError(
            f"[store] schema is {schema!r}: write a name of small letters, digits and _, at most 55 of them, that "
            "begins with a letter."
        )
    return schema


def name_schema(statement: str, schema: str) -> bytes:
    """Return the statement for the tables of a schema, whose name is checked."""
    return statement.replace("{s}", check_schema_name(schema)).replace("{{}}", "{}").encode()


def has_table(connection: psycopg.Connection[Any], schema: str, table: str) -> bool:
    found = connection.execute(FIND_TABLE, {"table": f"{schema}.{table}"}).fetchone()
    return bool(found and found[0])


def find_unfinished_move(connection: psycopg.Connection[Any], schema: str) -> str:
    """Return the source of a `rightseat store move` into these tables that has not ended; "" if there is none."""
    if not has_table(connection, schema, MOVES_TABLE):
        return ""
    row = connection.execute(name_schema(GET_UNFINISHED_MOVE, schema)).fetchone()
    return str(row[0]) if row else ""


def refuse_unfinished_move(connection: psycopg.Connection[Any], schema: str) -> None:
    """Raise ConfigError if a move into these tables has not ended: a server would work with a part of the data."""
    if source := find_unfinished_move(connection, schema):
        raise ConfigError(
            f"A move from {source} into the tables in {schema} is not finished. Run the same `rightseat store move` "
            "again, which goes on where it stopped; or remove the schema to begin anew."
        )


def read_version(connection: psycopg.Connection[Any], schema: str) -> int:
    """Return the version of the deployment's tables; 0 if there are none."""
    if not has_table(connection, schema, "schema_version"):
        return 0
    row = connection.execute(name_schema(GET_VERSION, schema)).fetchone()
    return int(row[0]) if row else 0


@contextmanager
def lock_schema(connection: psycopg.Connection[Any], schema: str) -> Iterator[None]:
    connection.execute(LOCK_SCHEMA, {"schema": schema})
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute(UNLOCK_SCHEMA, {"schema": schema})


def migrate(
    connection: psycopg.Connection[Any], schema: str, mode: Migrate = "auto", migrations: Sequence[str] = MIGRATIONS
) -> tuple[int, int]:
    """Bring the tables to this version, and return the versions before and after. A database that is one version ahead
    is used as it is: replicas of two releases run together during a roll-out."""
    version, newest = read_version(connection, schema), len(migrations)
    if version > newest + 1:
        raise ConfigError(
            f"The tables in {schema} were made by a newer rightseat (their version is {version}, this one supports up "
            f"to {newest + 1}). Install the newer rightseat, or name another [store] schema."
        )
    if version >= newest:
        return version, version
    if mode == "never":
        raise ConfigError(
            f"The tables in {schema} have version {version}, and this rightseat needs {newest}. Run `rightseat store "
            'migrate`, or write [store] migrate = "auto".'
        )
    # Others that start at the same moment wait here, and find it done. Before the transaction: one that has begun may
    # go on with what it knew of the tables.
    with lock_schema(connection, schema), connection.transaction():
        version = read_version(connection, schema)
        if not version:
            connection.execute(name_schema(CREATE_SCHEMA, schema))
            connection.execute(name_schema(CREATE_VERSION, schema))
        for step in migrations[version:]:
            connection.execute(name_schema(step, schema))
        if version < newest:
            connection.execute(name_schema(FORGET_VERSIONS, schema))
            connection.execute(name_schema(SET_VERSION, schema), {"version": newest})
    return version, max(version, newest)
