"""Configured database: read-only queries from concurrent conversations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from rightseat.plugins.sql.drivers import DatabaseSession, Driver, make_driver
from rightseat.plugins.sql.guard import QueryRules
from rightseat.plugins.sql.query import QueryLimits, Rows, SqlQuery
from rightseat.plugins.sql.schema import DatabaseSchema
from rightseat.tools.thread_pool import ToolThreadRunner

# Seconds before the tables are listed again.
SCHEMA_TTL = 300.0
MAX_CONCURRENT = 4
MAX_STOP_ATTEMPTS = 100


class Database:
    def __init__(
        self,
        name: str,
        driver: Driver,
        *,
        description: str = "",
        limits: QueryLimits | None = None,
        tables: Collection[str] = (),
        functions: Collection[str] = (),
        plugins: Collection[str] | None = None,
    ) -> None:
        self.name = name
        self.driver = driver
        self.description = description
        self.limits = limits or QueryLimits()
        self.allowed_tables = frozenset(tables)
        self.functions = frozenset(one.lower() for one in functions)
        self.plugins = plugins
        self.threads = ToolThreadRunner()
        self.slots = asyncio.Semaphore(MAX_CONCURRENT)
        self.schema_lock = asyncio.Lock()
        self.cached_schema: tuple[float, DatabaseSchema] | None = None

    @property
    def dialect(self) -> str:
        return self.driver.dialect

    def is_available_to(self, plugin: str) -> bool:
        """Tell whether a plugin's flows may query the database."""
        return self.plugins is None or plugin in self.plugins

    async def schema(self, fresh: bool = False) -> DatabaseSchema:
        async with self.schema_lock:
            if self.cached_schema is None or fresh or time.monotonic() - self.cached_schema[0] > SCHEMA_TTL:
                schema = await self.threads.run(self.load_schema)
                self.cached_schema = (time.monotonic(), schema)
            return self.cached_schema[1]

    def load_schema(self) -> DatabaseSchema:
        tables = [
            table
            for table in self.driver.tables()
            if not self.allowed_tables or table.name in self.allowed_tables
        ]
        return DatabaseSchema(tables, self.dialect)

    def query_rules(self, schema: DatabaseSchema) -> QueryRules:
        return QueryRules(
            dialect=self.dialect,
            tables=frozenset(schema.tables),
            functions=self.functions,
            rows=self.limits.rows,
        )

    async def query(self, query: SqlQuery) -> Rows:
        """Run the query and return its rows; raises QueryFailed. Cancellation stops the query."""
        running = RunningQuery(self.driver, self.limits)
        async with self.slots:
            try:
                rows: Rows = await self.threads.run(lambda: running.execute(query))
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.to_thread(running.stop))
                raise
            return rows


class RunningQuery:
    """One query in its thread; `stop` ends it from another thread."""

    def __init__(self, driver: Driver, limits: QueryLimits) -> None:
        self.driver = driver
        self.limits = limits
        self.session: DatabaseSession | None = None
        self.stopped = False

    def execute(self, query: SqlQuery) -> Rows:
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
        for _ in range(MAX_STOP_ATTEMPTS):
            if (session := self.session) is None:
                return
            # A stop has no effect before the query has started: repeat it.
            session.stop()
            time.sleep(0.05)


def open_database(
    name: str,
    url: str,
    folder: Path,
    open_driver: Callable[[str, Path], Driver] = make_driver,
    **options: Any,
) -> Database:
    return Database(name, open_driver(url, folder), **options)
