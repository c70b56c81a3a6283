"""Configured database: read-only queries from concurrent conversations, written by hand or by the model, which answers
a question in natural language; one failure is repaired."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rightseat.engine.structured import generate_structured
from rightseat.plugins.sql.drivers import DatabaseSession, Driver, make_driver
from rightseat.plugins.sql.guard import QueryRefused, QueryRules, guard_query
from rightseat.plugins.sql.processes import DatabaseProcesses
from rightseat.plugins.sql.query import QueryFailed, QueryLimits, Rows, SqlQuery
from rightseat.plugins.sql.schema import DatabaseSchema, index_fields
from rightseat.tools.function import ToolThreadRunner
from rightseat.tools.word_search import SearchField, SearchIndex
from rightseat.types.model import Model

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
        self.dialect = driver.dialect
        self.description = description
        self.limits = limits or QueryLimits()
        self.allowed_tables = frozenset(tables)
        self.functions = frozenset(map(str.lower, functions))
        self.plugins = plugins
        self.threads = ToolThreadRunner()
        self.processes = make_processes(driver, self.limits)
        self.slots = asyncio.Semaphore(MAX_CONCURRENT)
        self.schema_lock = asyncio.Lock()
        self.cached_schema: tuple[float, DatabaseSchema] | None = None

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
            table for table in self.driver.tables() if not self.allowed_tables or table.name in self.allowed_tables
        ]
        return DatabaseSchema(tables, self.dialect)

    async def query(self, query: SqlQuery) -> Rows:
        """Run the query and return its rows; raises QueryFailed. Cancellation stops the query."""
        async with self.slots:
            if self.processes is not None:
                return await self.processes.query(query, self.limits)
            running = RunningQuery(self.driver, self.limits)
            try:
                rows: Rows = await self.threads.run(lambda: running.execute(query))
            except asyncio.CancelledError:
                await asyncio.shield(asyncio.to_thread(running.stop))
                raise
            return rows

    async def close(self) -> None:
        """Stop the processes that wait for queries."""
        if self.processes is not None:
            await self.processes.close()


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


def make_processes(driver: Driver, limits: QueryLimits) -> DatabaseProcesses | None:
    """Make the child processes of a database that is a file; None for one that has a server of its own."""
    return None if driver.file is None else DatabaseProcesses(driver.dialect, driver.file, limits)


def open_database(name: str, url: str, folder: Path, **options: Any) -> Database:
    return Database(name, make_driver(url, folder), **options)


DIALECT_NAMES = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL", "mysql": "MySQL"}

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"sql": {"type": "string", "description": "one SELECT statement"}},
    "required": ["sql"],
    "additionalProperties": False,
}

PROMPT = """\
Write one {dialect} SELECT statement that answers the question from this database{about}.
Use only the tables and columns below, name the columns of the result so that people understand them, and ask
for no more rows than needed.

Tables:
{tables}

{background}Question:
{question}
"""

REPAIR_PROMPT = """
This statement was written before:
{sql}

It failed:
{error}

Write it again so that it works.
"""


class QueryResult(Struct, frozen=True):
    database: str
    sql: str
    rows: Rows


class SqlQuestion(Struct, frozen=True, kw_only=True):
    text: str
    background: str = ""
    """Further context for the model, such as results of earlier steps."""
    budget: int = 8000
    """Tokens for the description of the tables."""


async def answer_question(model: Model, database: Database, question: SqlQuestion) -> QueryResult:
    """Answer a question with rows; QueryFailed or QueryRefused if the repaired query fails too."""
    sql = await write_query(model, database, question)
    try:
        return await run_query(database, sql)
    except (QueryRefused, QueryFailed) as error:
        repair = REPAIR_PROMPT.format(sql=sql[:4000], error=str(error)[:1000])
    # The cached schema may be outdated.
    await database.schema(fresh=True)
    return await run_query(database, await write_query(model, database, question, repair))


async def write_query(model: Model, database: Database, question: SqlQuestion, repair: str = "") -> str:
    schema = await database.schema()
    prompt = PROMPT.format(
        dialect=DIALECT_NAMES[database.dialect],
        about=f" ({database.description})" if database.description else "",
        tables=schema.describe(question.text, question.budget) or "(none)",
        background=f"Background:\n{question.background}\n\n" if question.background else "",
        question=question.text,
    )
    answer = await generate_structured(model, prompt + repair, ANSWER_SCHEMA)
    return str(answer["sql"])


async def run_query(database: Database, sql: str, values: Mapping[str, Any] | None = None) -> QueryResult:
    """Check and run a query, with values for its `:names`."""
    schema = await database.schema()
    rules = QueryRules(
        dialect=database.dialect,
        tables=frozenset(schema.tables),
        functions=database.functions,
        rows=database.limits.rows,
    )
    # Parsing a long query blocks: use a thread.
    query: SqlQuery = await asyncio.to_thread(guard_query, sql, rules, values)
    return QueryResult(database.name, sql if values else query.text, await database.query(query))


async def choose_database(databases: Sequence[Database], question: str) -> Database:
    """Choose the database whose tables match the question best, by word search."""
    if len(databases) == 1:
        return databases[0]
    texts: list[list[SearchField]] = []
    owners: list[Database] = []
    failure: QueryFailed | None = None
    for database in databases:
        try:
            schema = await database.schema()
        except QueryFailed as error:
            # The other databases may still answer.
            failure = error
            continue
        for table in schema.tables.values():
            texts.append([*index_fields(table), SearchField(f"{database.name} {database.description}", 2.0)])
            owners.append(database)
    if failure and not owners:
        raise failure
    ranking = SearchIndex(texts).search(question)
    return owners[ranking[0]] if ranking else (owners or databases)[0]
