"""Configured database: read-only queries from concurrent conversations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from rightseat.plugins.sql.drivers import Driver, Session, driver
from rightseat.plugins.sql.guard import Rules
from rightseat.plugins.sql.query import Limits, Query, Rows
from rightseat.plugins.sql.schema import Schema
from rightseat.tools.thread_pool import Threads

# Seconds before the tables are listed again.
FRESH = 300.0
AT_ONCE = 4
STOPS = 100


class Database:
    def __init__(
        self,
        name: str,
        driver: Driver,
        *,
        description: str = "",
        limits: Limits | None = None,
        tables: Collection[str] = (),
        functions: Collection[str] = (),
        plugins: Collection[str] | None = None,
    ) -> None:
        self.name = name
        self.driver = driver
        self.description = description
        self.limits = limits or Limits()
        self.only = frozenset(tables)
        self.functions = frozenset(one.lower() for one in functions)
        self.plugins = plugins
        self.threads = Threads()
        self.slots = asyncio.Semaphore(AT_ONCE)
        self.reading = asyncio.Lock()
        self.known: tuple[float, Schema] | None = None

    @property
    def dialect(self) -> str:
        return self.driver.dialect

    def serves(self, plugin: str) -> bool:
        """Tell whether a plugin's flows may query the database."""
        return self.plugins is None or plugin in self.plugins

    async def schema(self, fresh: bool = False) -> Schema:
        async with self.reading:
            if self.known is None or fresh or time.monotonic() - self.known[0] > FRESH:
                found = await self.threads.run(self.look)
                self.known = (time.monotonic(), found)
            return self.known[1]

    def look(self) -> Schema:
        tables = [table for table in self.driver.tables() if not self.only or table.name in self.only]
        return Schema(tables, self.dialect)

    def rules(self, schema: Schema) -> Rules:
        return Rules(
            dialect=self.dialect,
            tables=frozenset(schema.tables),
            functions=self.functions,
            rows=self.limits.rows,
        )

    async def query(self, query: Query) -> Rows:
        """Run the query and return its rows; raises QueryFailed. Cancellation stops the query."""
        running = Running(self.driver, self.limits)
        async with self.slots:
            try:
                found: Rows = await self.threads.run(lambda: running.answer(query))
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.to_thread(running.stop))
                raise
            return found


class Running:
    """One query in its thread; `stop` ends it from another thread."""

    def __init__(self, driver: Driver, limits: Limits) -> None:
        self.driver = driver
        self.limits = limits
        self.session: Session | None = None
        self.stopped = False

    def answer(self, query: Query) -> Rows:
        with self.driver.session(self.limits) as session:
            self.session = session
            try:
                if self.stopped:
                    raise InterruptedError
                return session.query(query)
            finally:
                self.session = None

    def stop(self) -> None:
        self.stopped = True
        for _ in range(STOPS):
            if (session := self.session) is None:
                return
            # A stop has no effect before the query has started: repeat it.
            session.stop()
            time.sleep(0.05)


def database(
    name: str,
    url: str,
    folder: Path,
    open_driver: Callable[[str, Path], Driver] = driver,
    **options: Any,
) -> Database:
    return Database(name, open_driver(url, folder), **options)
