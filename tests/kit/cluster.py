"""A cluster as its operator has it: PostgreSQL, Valkey if asked, and replicas of `rightseat serve` on free ports."""

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import psycopg
from psycopg.sql import SQL, Identifier

from rightseat.stores.postgres.keys import encode_key
from rightseat.stores.postgres.threads import decode_entries
from rightseat.types.threads import EntryRow
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.postgres import get_session_server
from tests.kit.server import POLL_SECONDS, RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.valkey import ValkeyServer

LiveKind = Literal["postgres", "valkey"]
LIVE_KINDS: tuple[LiveKind, ...] = ("postgres", "valkey")
LEASE_SECONDS = 10.0
SHIFTED_CLOCK = Path(__file__).parent / "shifted_clock"
"""Folder whose `sitecustomize` shifts the clock of a Python process by CLOCK_SHIFT seconds."""


class Cluster:
    """`async with Cluster(tables, live="valkey") as cluster:` every replica is ready; after it nothing runs.

    `tables` is the configuration without [store] and [live]. Each cluster has a schema of its own in the session's
    database, and a Valkey server of its own, or those of `beside`. With `has_relays` the replicas reach both by ports
    whose network can fail: such a cluster lives in one event loop. With `cuts_first` only the first replica does: it
    can be cut off while the others are not.
    """

    def __init__(
        self,
        tables: str,
        *,
        replicas: int = 3,
        live: LiveKind = "postgres",
        lease_seconds: float = LEASE_SECONDS,
        has_relays: bool = False,
        cuts_first: bool = False,
        beside: "Cluster | None" = None,
        clock_shifts: Sequence[float] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.tables = tables
        self.count = replicas
        self.live = live
        self.lease_seconds = lease_seconds
        self.has_relays = has_relays or cuts_first
        self.cuts_first = cuts_first
        self.beside = beside
        self.clock_shifts = clock_shifts
        """Seconds by which the clocks of the first replicas are wrong."""
        self.env = env or {}
        self.config = ""
        """Configuration of each replica; `first_config` that of the first."""
        self.first_config = ""
        self.schema = f"cluster_{secrets.token_hex(6)}"
        self.replicas: list[RightseatProcess] = []
        self.valkey: ValkeyServer | None = None
        self.database_relay: FaultyRelay | None = None
        self.live_relay: FaultyRelay | None = None
        self.connection: psycopg.Connection[Any] | None = None
        """Connection of the test."""
        self.stack = contextlib.AsyncExitStack()

    @property
    def urls(self) -> list[str]:
        return [replica.url for replica in self.replicas]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.drop_schema)
            await self.write_configs(stack)
            stack.push_async_callback(self.stop_replicas)
            for index in range(self.count):
                self.replicas.append(await self.start_replica(index))
            self.stack = stack.pop_all()

    async def stop(self) -> None:
        await self.stack.aclose()

    async def stop_replicas(self) -> None:
        """Stop every replica, also one that a test has left paused."""
        async with contextlib.AsyncExitStack() as stack:
            for replica in self.replicas:
                stack.callback(replica.remove_folder)
                stack.push_async_callback(replica.stop)
                if replica.returncode is None:
                    replica.send_signal(signal.SIGCONT)

    async def write_configs(self, stack: contextlib.AsyncExitStack) -> None:
        """Start what the replicas share and write the configuration of each."""
        server = get_session_server()
        database, live = server.url, ""
        if self.live == "valkey":
            self.valkey = self.beside.valkey if self.beside else stack.enter_context(ValkeyServer())
            assert self.valkey is not None
            live = self.valkey.url
        self.config = self.first_config = self.format_config(database, live)
        if not self.has_relays:
            return
        self.database_relay = await stack.enter_async_context(FaultyRelay(server.home / ".s.PGSQL.5432"))
        database = f"postgresql://postgres@127.0.0.1:{self.database_relay.port}/postgres"
        if self.valkey is not None:
            self.live_relay = await stack.enter_async_context(FaultyRelay(self.valkey.port))
            live = f"redis://127.0.0.1:{self.live_relay.port}"
        self.first_config = self.format_config(database, live)
        if not self.cuts_first:
            self.config = self.first_config

    def format_config(self, database: str, live: str) -> str:
        store = f'[store]\nkind = "postgres"\nurl = "{database}"\nschema = "{self.schema}"\n'
        url = f'url = "{live}"\n' if live else ""
        return f"{self.tables}\n{store}[live]\nlease_seconds = {self.lease_seconds}\n{url}"

    # Replicas

    async def kill(self, index: int) -> None:
        """End a replica by SIGKILL, and wait until it has ended."""
        self.replicas[index].send_signal(signal.SIGKILL)
        await self.replicas[index].wait_exit()

    async def restart(self, index: int) -> None:
        """Start a replica in the place of one that has ended."""
        ended = self.replicas[index]
        await ended.wait_exit()
        ended.remove_folder()
        self.replicas[index] = await self.start_replica(index)

    async def start_replica(self, index: int) -> RightseatProcess:
        env = dict(self.env)
        if index < len(self.clock_shifts):
            env |= {"CLOCK_SHIFT": str(self.clock_shifts[index]), "PYTHONPATH": str(SHIFTED_CLOCK)}
        replica = RightseatProcess(config=self.first_config if index == 0 else self.config, env=env)
        await replica.start()
        return replica

    def pause(self, index: int) -> None:
        os.kill(self.replicas[index].pid, signal.SIGSTOP)

    def unpause(self, index: int) -> None:
        os.kill(self.replicas[index].pid, signal.SIGCONT)

    # Database

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement in which `{s}` is the schema."""
        return self.execute(statement, *values).fetchall()

    def execute(self, statement: str, *values: Any) -> psycopg.Cursor[Any]:
        if self.connection is None:
            self.connection = psycopg.connect(get_session_server().url, autocommit=True)
        return self.connection.execute(self.format_statement(statement), values)

    def format_statement(self, statement: str) -> Any:
        # The texts are constants of tests; the schema is quoted.
        return SQL(statement).format(s=Identifier(self.schema))

    def drop_schema(self) -> None:
        self.execute("DROP SCHEMA IF EXISTS {s} CASCADE")
        assert self.connection is not None
        self.connection.close()
        self.connection = None

    def read_entries(self, thread: str) -> list[EntryRow]:
        statement = "SELECT first, last, cuts, body FROM {s}.entries WHERE thread = %s ORDER BY last"
        return decode_entries(self.query(statement, encode_key(thread)))

    def find_worker(self, index: int) -> str:
        """Return the name under which a replica is in the database."""
        ((worker,),) = self.query(
            "SELECT id FROM {s}.replicas WHERE address LIKE %s ORDER BY beat DESC LIMIT 1",
            f"%:{self.replicas[index].pid}",
        )
        return str(worker)

    def find_owner(self, thread: str) -> int | None:
        """Return which replica has a thread; None if none of those that run has."""
        rows = self.query("SELECT worker FROM {s}.threads WHERE id = %s AND run IS NOT NULL", encode_key(thread))
        live = [index for index, replica in enumerate(self.replicas) if replica.returncode is None]
        return next((index for index in live if rows and self.find_worker(index) == rows[0][0]), None)

    def list_busy_threads(self) -> list[str]:
        return [thread for (thread,) in self.query("SELECT id FROM {s}.threads WHERE run IS NOT NULL")]

    async def wait_free(self, thread: str) -> None:
        """Wait until no run has the thread."""
        await self.wait_for(lambda: thread not in self.list_busy_threads())

    async def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds that asks the database."""
        async with asyncio.timeout(HANG_TIMEOUT):
            while True:
                if condition():
                    return
                await asyncio.sleep(POLL_SECONDS)
