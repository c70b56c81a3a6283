"""PostgresDatabase: the connections of one process to PostgreSQL, and what is said where it cannot be used.

No statement is cancelled half-way: a caller that leaves does not leave a connection in an unknown state.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from rightseat.config.remedies import UnusableServer, advise_postgres
from rightseat.errors import ConfigError, RightseatError, StoreFailed
from rightseat.stores.postgres.health import (
    LOST,
    REFUSED,
    RETRY_AFTER,
    RETRY_SECONDS,
    UNREACHABLE,
    DatabaseHealth,
    describe_error,
    is_connection_lost,
)
from rightseat.stores.postgres.prepared import PreparedStatement, TextRow
from rightseat.stores.postgres.row_security import ALL_OWNERS, SET_SCOPE, get_scope
from rightseat.stores.postgres.schema import name_schema
from rightseat.types.threads import LeaseLost, RunEnded

log = logging.getLogger(__name__)
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
T = TypeVar("T")
Row = tuple[Any, ...]
Parameters = Mapping[str, Any]
RETRY_PAUSE = 0.02
WAIT_SECONDS = 30.0
"""Longest wait for a connection while all of them are in use."""
AWAY_SECONDS = 1.0
"""Longest wait for one while the database cannot be reached."""
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 8.0
"""Longest wait for the answer to a statement. After it the connection counts as lost."""
SESSION_SECONDS = 60.0
"""The same for a statement among several, which may delete much."""
CLOSED = "The store is closed: the server is stopping."
PORTS = re.compile(r"[0-9,]*")
# A peer that is gone without a word is noticed by the system within seconds.
DEFAULT_OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": 5000,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "application_name": "rightseat",
}


def make_connection_info(url: str) -> str:
    """Check a URL and add our settings to it; the error repeats nothing of it."""
    try:
        given = conninfo_to_dict(url)
        # A password that is not encoded may end up in another part, which errors would repeat.
        is_split = any("@" in str(given.get(name) or "") for name in ("host", "dbname"))
        if not is_split and PORTS.fullmatch(str(given.get("port") or "")):
            return make_conninfo("", **{**DEFAULT_OPTIONS, **given})
    except psycopg.Error:
        pass
    raise ConfigError(
        "[store] url is no address of PostgreSQL. Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with "
        "special characters of the password percent-encoded, in a variable that env:NAME refers to."
    ) from None


def connect(url: str, **options: Any) -> psycopg.Connection[Row]:
    """Connect at once; raises ConfigError that says where the database was looked for, without the password."""
    info = make_connection_info(url)
    try:
        connection = psycopg.connect(info, autocommit=True, **options)
        # Such a connection is a command's or that of this process's presence, about no owner in particular.
        connection.execute(SET_SCOPE, {"scope": ALL_OWNERS})
        return connection
    except psycopg.Error as error:
        parts = {name: str(value) for name, value in conninfo_to_dict(info).items() if value is not None}
        raise UnusableServer(
            f"PostgreSQL cannot be used: {describe_error(error, info)} It was looked for at {describe_place(info)}.",
            advise_postgres(str(error), "[store] url", parts),
        ) from None


def describe_place(url: str) -> str:
    """Describe where a database is, without the password."""
    given = conninfo_to_dict(url)
    host, port = given.get("host") or "the local socket", given.get("port")
    name = given.get("dbname") or given.get("user") or "the user's database"
    return f"{host}{f':{port}' if port else ''}, database {name}"


def make_failure(error: Exception) -> StoreFailed:
    is_lost = isinstance(error, LOST)
    return StoreFailed(UNREACHABLE if is_lost else REFUSED, retry_after=RETRY_AFTER if is_lost else None)


class PostgresDatabase:
    def __init__(self, url: str, schema: str, connections: int, *, row_security: bool = False) -> None:
        self.url = make_connection_info(url)
        self.schema = schema
        self.row_security = row_security
        """Whether each statement is preceded by one that says whose rows it is about."""
        self.health = DatabaseHealth(self.url, self.drop_idle)
        self.connections = connections
        self.pool: AsyncConnectionPool[psycopg.AsyncConnection[Row]] | None = None
        self.opening: asyncio.Task[None] | None = None
        self.is_closed = False
        self.statements: dict[str, bytes] = {}
        self.prepared: dict[tuple[psycopg.AsyncConnection[Row], str], PreparedStatement] = {}
        """Statements that run without a cursor, each on its connection."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """Statements under way, also of callers that have left."""

    def get_statement(self, text: str) -> bytes:
        """Return a statement for this deployment's schema."""
        statement = self.statements.get(text)
        if statement is None:
            statement = self.statements[text] = name_schema(text, self.schema)
        return statement

    async def get_pool(self) -> AsyncConnectionPool[psycopg.AsyncConnection[Row]]:
        if self.is_closed:
            raise StoreFailed(CLOSED)
        if self.pool is None:
            # Made here: it belongs to the event loop of its first use.
            self.pool = AsyncConnectionPool(
                self.url,
                # Planning the statement of a lease takes longer than running it.
                kwargs={"autocommit": True, "prepare_threshold": 0},
                configure=self.configure,
                min_size=1,
                max_size=max(self.connections, 2),
                timeout=WAIT_SECONDS,
                # Each request makes an attempt of its own: those of the pool would come later and later.
                reconnect_timeout=0.05,
                max_idle=60,
                open=False,
                name="rightseat",
            )
            self.opening = asyncio.create_task(self.pool.open())
        if self.opening is not None:
            await asyncio.shield(self.opening)
            self.opening = None
        return self.pool

    async def configure(self, connection: psycopg.AsyncConnection[Row]) -> None:
        """Plan each statement once: every one finds its rows by a key, whatever its parameters. Without an answer in
        time the connection is given up: the pool makes no other one meanwhile."""
        with self.health.limit(connection, CONNECT_SECONDS):
            await connection.execute("SET plan_cache_mode = force_generic_plan")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Row]]:
        """Lend a connection; errors of the database become StoreFailed."""
        connection = await self.lend()
        try:
            async with connection:
                yield connection
        except psycopg.Error as error:
            raise self.make_failure(error) from error
        finally:
            await self.give_back(connection)

    async def lend(self) -> psycopg.AsyncConnection[Row]:
        """Lend a connection until `give_back`; raises StoreFailed, at once while the database is known to be away."""
        pool = await self.get_pool()
        try:
            if self.health.is_away:
                raise PoolTimeout("the database has been away for a while")
            return await wait_connection(pool)
        except PoolClosed:
            raise StoreFailed(CLOSED) from None
        except (psycopg.Error, PoolTimeout) as error:
            raise self.make_failure(error) from error

    async def lend_for_all(self) -> psycopg.AsyncConnection[Row]:
        """Lend a connection for a statement about rows of all owners."""
        connection = await self.lend()
        if self.row_security:
            try:
                with self.health.limit(connection, STATEMENT_SECONDS):
                    await connection.execute(SET_SCOPE, {"scope": ALL_OWNERS})
            except psycopg.Error as error:
                await self.give_back(connection)
                raise self.make_failure(error) from error
        return connection

    def make_failure(self, error: Exception) -> StoreFailed:
        """Make the failure of an error, which may begin an outage."""
        if is_connection_lost(error) and not self.is_closed:
            self.health.note_lost()
        return make_failure(error)

    async def drop_idle(self) -> None:
        """Close connections that nobody has in use: after an outage they may be half-open."""
        if self.pool is not None:
            await self.pool.drain()

    async def give_back(self, connection: psycopg.AsyncConnection[Row]) -> None:
        if self.pool is not None:
            await self.pool.putconn(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        async with self.connection() as connection, self.limit_transaction(connection):
            yield Session(self, connection)
        self.health.clear()

    @asynccontextmanager
    async def limit_transaction(self, connection: psycopg.AsyncConnection[Row]) -> AsyncIterator[None]:
        """Begin a transaction, and end it; each counts as a statement that must have an answer in time."""
        transaction = connection.transaction()
        with self.health.limit(connection, STATEMENT_SECONDS):
            await transaction.__aenter__()
        try:
            yield
        except BaseException as error:
            with self.health.limit(connection, STATEMENT_SECONDS):
                await transaction.__aexit__(type(error), error, error.__traceback__)
            raise
        with self.health.limit(connection, STATEMENT_SECONDS):
            await transaction.__aexit__(None, None, None)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Lend a connection for several statements, each committed by itself."""
        async with self.connection() as connection:
            yield Session(self, connection)
        self.health.clear()

    async def fetch(self, text: str, parameters: Parameters) -> list[Row]:
        """Run one statement, committed when this returns, and return its rows."""
        async with self.connection() as connection:
            rows = await self.fetch_rows(connection, text, parameters)
        self.health.clear()
        return rows

    async def fetch_prepared(self, text: str, parameters: Parameters) -> list[TextRow]:
        """Run one statement as `fetch` does, but without a cursor: its columns are texts."""
        connection = await self.lend()
        try:
            with self.health.limit(connection, STATEMENT_SECONDS):
                if self.row_security:
                    await connection.execute(SET_SCOPE, {"scope": get_scope(text, parameters)})
                rows = await self.get_prepared(connection, text).run_once(parameters)
        except psycopg.Error as error:
            raise self.make_failure(error) from error
        finally:
            await self.give_back(connection)
        self.health.clear()
        return rows

    def get_prepared(self, connection: psycopg.AsyncConnection[Row], text: str) -> PreparedStatement:
        """Return the statement of a connection, made at its first use. Those of closed connections are forgotten."""
        statement = self.prepared.get((connection, text))
        if statement is None:
            self.prepared = {key: each for key, each in self.prepared.items() if not key[0].closed}
            statement = self.prepared[connection, text] = PreparedStatement(connection, self.get_statement(text))
        return statement

    async def fetch_rows(
        self,
        connection: psycopg.AsyncConnection[Row],
        text: str,
        parameters: Parameters,
        seconds: float = STATEMENT_SECONDS,
    ) -> list[Row]:
        """Run a statement and return its rows. If it has no answer in time, the connection counts as lost."""
        with self.health.limit(connection, seconds):
            if self.row_security:
                await connection.execute(SET_SCOPE, {"scope": get_scope(text, parameters)})
            cursor = await connection.execute(self.get_statement(text), parameters, binary=True)
            return await cursor.fetchall() if cursor.description is not None else [()] * max(cursor.rowcount, 0)

    async def execute(
        self, text: str, parameters: Parameters, *, again: bool = False, seconds: float = RETRY_SECONDS
    ) -> list[Row]:
        """Run one statement to its end, also if the caller leaves. With `again` it is repeated if its connection
        breaks: such a statement may run twice."""
        job = partial(self.fetch, text, parameters)
        return await self.finish(self.watch(self.repeat(job, seconds) if again else job()))

    async def repeat(self, job: Callable[[], Awaitable[T]], seconds: float = RETRY_SECONDS) -> T:
        """Run a job, again while connections break."""
        deadline = time.monotonic() + seconds
        pause = RETRY_PAUSE
        while True:
            try:
                return await job()
            except StoreFailed as error:
                is_late = self.health.is_away or time.monotonic() > deadline
                if not isinstance(error.__cause__, LOST) or self.is_closed or is_late:
                    raise
            await asyncio.sleep(pause)
            pause *= 2

    async def watch(self, job: Awaitable[T]) -> T:
        """Run a job and note whether the database failed."""
        try:
            return await job
        except StoreFailed as error:
            if error.__cause__ is not None:
                self.health.note(error.__cause__)
            raise

    async def finish(self, job: Coroutine[Any, Any, T]) -> T:
        """Wait for a job, which goes on to its end if the caller leaves."""
        return await asyncio.shield(self.start(job))

    def start(self, job: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(job)
        self.tasks.add(task)
        task.add_done_callback(self.on_done)
        return task

    def on_done(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        # Retrieved: its caller may have left.
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, RightseatError | LeaseLost | RunEnded):
            # A fault of this program, which nobody else may tell of.
            log.error("a statement was not run, and what it keeps is lost", exc_info=error)

    async def wait_idle(self) -> None:
        """Wait for all that was started."""
        while self.tasks:
            await asyncio.wait(self.tasks)

    async def close(self) -> None:
        if not self.is_closed:
            await self.wait_idle()
            self.is_closed = True
            await self.health.close()
            if self.pool is not None:
                await self.pool.close(timeout=CONNECT_SECONDS)


async def wait_connection(pool: AsyncConnectionPool[psycopg.AsyncConnection[Row]]) -> psycopg.AsyncConnection[Row]:
    """Wait for a free connection; raises PoolTimeout soon if none can be made."""
    try:
        return await pool.getconn(AWAY_SECONDS)
    except PoolTimeout:
        deadline = time.monotonic() + WAIT_SECONDS
    errors = pool.get_stats().get("connections_errors", 0)
    while True:
        try:
            return await pool.getconn(AWAY_SECONDS)
        except PoolTimeout:
            if pool.get_stats().get("connections_errors", 0) > errors or time.monotonic() > deadline:
                raise


class Session:
    """Statements on one connection."""

    def __init__(self, database: PostgresDatabase, connection: psycopg.AsyncConnection[Row]) -> None:
        self.database = database
        self.connection = connection

    async def execute(self, text: str, parameters: Parameters) -> list[Row]:
        return await self.database.fetch_rows(self.connection, text, parameters, SESSION_SECONDS)
