"""Totals: sums over the tables of the file, kept in the file itself. Every process that uses it sees the same ones, and
a rollback takes them back too. They are counted anew whenever the file is opened by a first process."""

from __future__ import annotations

import sqlite3

THREAD_BYTES = "thread_bytes"
RECORD_NUMBER = "record_number"
"""Number of the newest record: the higher, the newer."""
DELETED_FENCE = "deleted_fence"
"""Highest fence of a deleted thread: one that is made anew begins after it."""


class Totals:
    """Named numbers. All methods run in the writer thread, in a transaction."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    def recount(self) -> None:
        # Not a migration: other versions need no such table, and a repaired file gets it here.
        self.database.execute(
            "CREATE TABLE IF NOT EXISTS totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"
        )
        self.database.execute("DELETE FROM totals")
        self.database.execute("INSERT INTO totals SELECT ?, COALESCE(SUM(size), 0) FROM threads", (THREAD_BYTES,))
        self.database.execute("INSERT INTO totals SELECT ?, COALESCE(MAX(number), 0) FROM kept", (RECORD_NUMBER,))
        self.database.execute("INSERT INTO totals SELECT 'kept.' || kind, SUM(weight) FROM kept GROUP BY kind")

    def get(self, name: str) -> int:
        row = self.database.execute("SELECT value FROM totals WHERE name = ?", (name,)).fetchone()
        return row[0] if row else 0

    def add(self, name: str, amount: int) -> None:
        self.database.execute(
            "INSERT INTO totals VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            (name, amount),
        )

    def raise_to(self, name: str, value: int) -> None:
        self.database.execute(
            "INSERT INTO totals VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = MAX(value, excluded.value)",
            (name, value),
        )
