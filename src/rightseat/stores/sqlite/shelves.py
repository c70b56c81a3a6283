"""ExpiringTable: continuations, pending questions, tool results and checkpoints, limited in time and size."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Literal

from rightseat.types.turn import Owner

RecordKind = Literal["continuation", "question", "result", "note"]


class ExpiringTable:
    """Rows with an expiry. All methods run in the writer thread."""

    def __init__(
        self, database: sqlite3.Connection, capacity: int, lifetime: float, clock: Callable[[], float]
    ) -> None:
        self.database = database
        self.capacity = capacity
        self.lifetime = lifetime
        self.clock = clock
        self.number = 0
        self.weights: dict[str, int] = {}
        self.recount()

    def recount(self) -> None:
        """Reload the cached totals, at the start and after a rollback."""
        (self.number,) = self.database.execute("SELECT COALESCE(MAX(number), 0) FROM kept").fetchone()
        totals = self.database.execute("SELECT kind, SUM(weight) FROM kept GROUP BY kind")
        self.weights = dict(totals.fetchall())

    def put(
        self, kind: RecordKind, owner: Owner, key: str, body: bytes, seconds: float | None = None
    ) -> None:
        now = self.clock()
        self.drop(kind, owner, key)
        self.number += 1
        row = (kind, owner.name, key, now + (seconds or self.lifetime), len(body), self.number, body)
        self.database.execute(
            "INSERT INTO kept (kind, owner, key, expires, weight, number, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        self.weights[kind] = self.weights.get(kind, 0) + len(body)
        self.evict(kind, now)

    def evict(self, kind: RecordKind, now: float) -> None:
        """Delete the oldest rows that have expired or exceed the capacity."""
        oldest = "SELECT owner, key, expires FROM kept WHERE kind = ? ORDER BY number LIMIT 1"
        while row := self.database.execute(oldest, (kind,)).fetchone():
            owner, key, expires = row
            if self.weights[kind] <= self.capacity and expires >= now:
                return
            self.drop(kind, Owner(owner), key)

    def drop(self, kind: RecordKind, owner: Owner, key: str) -> None:
        where = (owner.name, kind, key)
        row = self.database.execute(
            "SELECT weight FROM kept WHERE owner = ? AND kind = ? AND key = ?", where
        ).fetchone()
        if row:
            self.database.execute("DELETE FROM kept WHERE owner = ? AND kind = ? AND key = ?", where)
            self.weights[kind] -= row[0]

    def drop_prefix(self, kind: RecordKind, owner: Owner, prefix: str) -> None:
        """Delete all rows whose keys have this prefix."""
        rows = self.database.execute(
            "SELECT key FROM kept WHERE owner = ? AND kind = ? AND substr(key, 1, ?) = ?",
            (owner.name, kind, len(prefix), prefix),
        ).fetchall()
        for (key,) in rows:
            self.drop(kind, owner, key)

    def get(self, kind: RecordKind, owner: Owner, key: str) -> bytes | None:
        row = self.database.execute(
            "SELECT body FROM kept WHERE owner = ? AND kind = ? AND key = ? AND expires >= ?",
            (owner.name, kind, key, self.clock()),
        ).fetchone()
        return row[0] if row else None

    def pop(self, kind: RecordKind, owner: Owner, key: str) -> bytes | None:
        body = self.get(kind, owner, key)
        self.drop(kind, owner, key)
        return body

    def get_many(self, kind: RecordKind, owner: Owner, keys: Iterable[str]) -> dict[str, bytes]:
        bodies = ((key, self.get(kind, owner, key)) for key in keys)
        return {key: body for key, body in bodies if body is not None}
