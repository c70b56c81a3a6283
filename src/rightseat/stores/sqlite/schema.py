"""Tables and their migrations. A released migration is never changed; a new one is added at the end and sets
its own version.

An older file is backed up before it is migrated; a newer one is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from rightseat.errors import ConfigError

MIGRATIONS = (
    """
    CREATE TABLE kept (
        kind TEXT NOT NULL,
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        expires REAL NOT NULL,
        weight INTEGER NOT NULL,
        number INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (owner, kind, key)
    );
    CREATE INDEX kept_oldest ON kept (kind, number);

    CREATE TABLE threads (
        owner TEXT NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        assistant TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        archived INTEGER NOT NULL DEFAULT 0,
        last INTEGER NOT NULL DEFAULT 0,
        runs INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (owner, id)
    );
    CREATE INDEX threads_newest ON threads (owner, updated);
    CREATE INDEX threads_oldest ON threads (updated);

    CREATE TABLE entries (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        run INTEGER NOT NULL,
        cuts BLOB NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (owner, thread, last)
    );

    CREATE TABLE leases (
        owner TEXT NOT NULL,
        thread TEXT NOT NULL,
        run TEXT NOT NULL,
        process TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        beat REAL NOT NULL,
        PRIMARY KEY (owner, thread)
    );

    CREATE TABLE epochs (
        epoch INTEGER PRIMARY KEY AUTOINCREMENT,
        process TEXT NOT NULL,
        began REAL NOT NULL
    );

    CREATE VIEW listed AS
        SELECT threads.*, COALESCE(leases.run, '') AS run FROM threads
        LEFT JOIN leases ON leases.owner = threads.owner AND leases.thread = threads.id;
    CREATE VIEW idle AS
        SELECT owner, id, updated FROM threads
        WHERE NOT EXISTS (SELECT 1 FROM leases WHERE leases.owner = threads.owner AND leases.thread = id);
    PRAGMA user_version = 1;
    """,
)


def open_database(path: Path, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Open the database and migrate it to the newest version."""
    try:
        path.touch(mode=0o600)
        # Used by the writer thread only, which is not this one.
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        with ExitStack() as unless_opened:
            unless_opened.callback(database.close)
            _set_pragmas(database)
            migrate(database, path, migrations)
            unless_opened.pop_all()
    except (sqlite3.Error, OSError) as error:
        raise ConfigError(
            f"{path} cannot be used: {error}. Free some room if the disk is full; if the file is broken, "
            "move it away: a new one is made."
        ) from None
    return database


def _set_pragmas(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA busy_timeout = 5000")
    database.execute("PRAGMA journal_mode = WAL")
    # A killed process loses nothing; a power cut may lose the last moments but never corrupts the file.
    database.execute("PRAGMA synchronous = NORMAL")
    # Deleted content must not remain in the file.
    database.execute("PRAGMA secure_delete = ON")


def migrate(database: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise ConfigError(
            f"{path} was written by a newer rightseat (its version is {version}, this one knows "
            f"{len(migrations)}). Use that one, or name another folder in [store] path."
        )
    if 0 < version < len(migrations):
        back_up(database, path.with_name(f"{path.name}.v{version}.bak"))
    for step in migrations[version:]:
        # One transaction including the version: an interrupted migration leaves no trace.
        database.executescript("BEGIN IMMEDIATE;\n" + step + "\nCOMMIT;")


def back_up(database: sqlite3.Connection, path: Path) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path)) as copy:
        database.backup(copy)
