"""DatabaseClock: the time of the database's server, which all processes share, whatever their own clocks say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rightseat.errors import StoreFailed
from rightseat.stores.postgres import statements as sql

if TYPE_CHECKING:
    import psycopg

    from rightseat.stores.postgres.database import PostgresDatabase, Row

MEASURE_SECONDS = 60.0
"""Age of a measurement after which the next one is taken."""
PRECISE_SECONDS = 0.5
"""Longest round trip of a measurement that replaces another."""


class DatabaseClock:
    """Clock that is read without asking: the difference to this process's monotonic clock is measured once a minute."""

    def __init__(self, database: PostgresDatabase, connection: psycopg.Connection[Row]) -> None:
        self.database = database
        self.measured = time.monotonic()
        row = connection.execute(sql.READ_CLOCK).fetchone()
        assert row is not None
        self.offset = float(row[0]) - (self.measured + time.monotonic()) / 2

    def read(self) -> float:
        """Return the seconds since the epoch, and measure again if it is time to."""
        now = time.monotonic()
        if now - self.measured > MEASURE_SECONDS:
            self.measured = now
            self.database.start(self.measure())
        return now + self.offset

    async def measure(self) -> None:
        sent = time.monotonic()
        try:
            ((seconds,),) = await self.database.fetch(sql.READ_CLOCK, {})
        except StoreFailed:
            return
        received = time.monotonic()
        if received - sent < PRECISE_SECONDS:
            self.offset = float(seconds) - (sent + received) / 2
