"""PostgresStore: a store in PostgreSQL that any number of processes on any machines share.

Nothing that another process changes is cached, and every entry is logged before it is shown. The database's clock and
locks decide; the clocks of the processes do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack

from rightseat.stores.postgres.clock import DatabaseClock
from rightseat.stores.postgres.database import PostgresDatabase, connect
from rightseat.stores.postgres.health import UNREACHABLE
from rightseat.stores.postgres.lease_log import LeaseLog
from rightseat.stores.postgres.presence import ReplicaPresence
from rightseat.stores.postgres.records import RecordTable, Update
from rightseat.stores.postgres.refusals import explain_refusals
from rightseat.stores.postgres.retention import RetentionSweep
from rightseat.stores.postgres.row_security import check_row_security
from rightseat.stores.postgres.schema import Migrate, check_schema_name, migrate, refuse_unfinished_move
from rightseat.stores.postgres.threads import PostgresThreads
from rightseat.stores.postgres.writer import EntryWriter
from rightseat.types.live import EngineState, make_engine_state
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, PendingQuestion
from rightseat.types.threads import (
    ANY_FENCE,
    Lease,
    LeaseHolder,
    NumberedEntry,
    OrphanedRun,
    RequestedStop,
    Retention,
    StoredListener,
    Thread,
    ThreadEntry,
    make_resume_key,
)
from rightseat.types.turn import Owner

DEFAULT_SCHEMA = "rightseat"
OTHER_CONNECTIONS = 2
"""Connections besides the pool: presence, and notifications."""


class PostgresStore:
    """Store of one process. It connects, migrates and joins when it is made; the pool opens with its first use."""

    def __init__(
        self,
        url: str,
        *,
        schema: str = DEFAULT_SCHEMA,
        pool: int = 8,
        migrate_tables: Migrate = "auto",
        row_security: bool = False,
        capacity: int = 256 << 20,
        lifetime: float = CONTINUATION_SECONDS,
        clock: Callable[[], float] | None = None,
        retention: Retention = Retention(),
        lease_seconds: float = 10,
        window_seconds: float = 0.025,
    ) -> None:
        connections = max(pool - OTHER_CONNECTIONS, 2)
        self.database = PostgresDatabase(url, check_schema_name(schema), connections, row_security=row_security)
        self.presence = ReplicaPresence(self.database, lease_seconds)
        with ExitStack() as unless_joined:
            connection = connect(url)
            unless_joined.callback(connection.close)
            unless_joined.enter_context(explain_refusals(connection, schema))
            migrate(connection, schema, migrate_tables)
            check_row_security(connection, schema, row_security=row_security)
            refuse_unfinished_move(connection, schema)
            self.server_clock = DatabaseClock(self.database, connection)
            self.presence.join(connection)
            unless_joined.pop_all()
        self.records = RecordTable(self.database, lifetime, clock, self.worker, self.find_dead)
        self.threads = PostgresThreads(self.database, clock, self.worker)
        self.writer = EntryWriter(self.database, window_seconds, clock)
        self.lost_listeners = self.writer.lost_listeners
        self.sweep = RetentionSweep(self.database, retention, capacity, clock)

    # MonitoredStore

    @property
    def failure(self) -> str:
        return self.database.health.failure or (UNREACHABLE if self.writer.is_away else "")

    @property
    def usable(self) -> bool:
        # A database that is away comes back: answers go on meanwhile, and this process stays in service.
        return True

    # RemoteEngine

    def get_state(self) -> EngineState:
        health, writer = self.database.health, self.writer
        # A connection that is replaced at once is no outage.
        since = health.since if health.failure or health.is_away or writer.is_away else None
        if since is None and writer.is_away:
            since = writer.away_since
        return make_engine_state("PostgreSQL", since, waiting=writer.count, not_kept=writer.dropped)

    # SharedStore

    @property
    def worker(self) -> str:
        return self.presence.worker

    @property
    def replicas(self) -> int:
        return self.presence.replicas

    # ConfigRegistry

    def set_config(self, digest: str) -> None:
        self.presence.config = digest

    @property
    def other_configs(self) -> int:
        return self.presence.other_configs

    @property
    def is_shared(self) -> bool:
        return True

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return await self.presence.find_dead(workers)

    def read_clock(self) -> float:
        return self.server_clock.read()

    # FencedStore

    @property
    def lapses(self) -> int:
        return self.presence.lapses

    @property
    def is_confirmed(self) -> bool:
        return self.presence.is_confirmed

    async def holds_claim(self, owner: Owner, resume_token: str) -> bool:
        return await self.records.holds_claim(owner, resume_token)

    async def confirm_presence(self) -> int:
        return await self.presence.confirm()

    async def leave(self) -> None:
        """Count as dead for the other processes from now on."""
        await self.presence.close()

    # Store

    async def save_continuation(self, continuation: Continuation) -> None:
        await self.records.save_continuation(continuation)

    async def get_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        return await self.records.get_continuation(owner, resume_token)

    async def claim_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        return await self.records.claim_continuation(owner, resume_token, assistant, answered_ids)

    async def settle_continuation(self, owner: Owner, resume_token: str) -> None:
        await self.records.settle_continuation(owner, resume_token)

    async def release_continuation(self, owner: Owner, resume_token: str) -> None:
        await self.records.release_continuation(owner, resume_token)

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None:
        await self.records.save_pending_question(owner, conversation, question)

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        return await self.records.get_pending_question(owner, conversation)

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        return await self.records.take_pending_question(owner, conversation)

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        await self.records.save_results(owner, results)

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        return await self.records.get_results(owner, call_ids)

    # CheckpointStore

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        await self.records.save_checkpoint(owner, key, body, seconds)

    async def update_checkpoint(self, owner: Owner, key: str, update: Update, seconds: float | None = None) -> None:
        await self.records.update_checkpoint(owner, key, update, seconds)

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None:
        return await self.records.get("note", owner, key)

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        await self.records.delete_checkpoint(owner, key)

    # ThreadStore

    async def wait_written(self, owner: Owner, thread: str) -> None:
        """Wait for entries of a thread that were appended here before."""
        key = (owner.name, thread)
        await self.writer.wait_written(lambda written: written == key)

    async def has_thread(self, owner: Owner, thread: str) -> bool:
        return await self.threads.has_thread((owner.name, thread))

    async def begin_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str = ""
    ) -> Lease:
        return await self.begin_leased(owner, thread, run, assistant, name, digest, None)

    async def begin_recorded_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str, record: bytes
    ) -> Lease:
        return await self.begin_leased(owner, thread, run, assistant, name, digest, record)

    async def begin_leased(
        self, owner: Owner, thread: str, run: str, assistant: str, name: str, digest: str, body: bytes | None
    ) -> Lease:
        await self.wait_written(owner, thread)
        self.sweep.start()
        key = (owner.name, thread)
        record = self.records.make_run_record(owner, make_resume_key(thread, run), body)
        begun = await self.threads.begin_run(key, run, assistant, name, digest, record)
        self.sweep.on_begun(key, begun)
        if body is not None:
            self.writer.get_log(key, begun.fence).record = record["key"]
        return Lease(begun.before, begun.fence)

    async def get_lease_holder(self, owner: Owner, thread: str) -> LeaseHolder | None:
        await self.wait_written(owner, thread)
        return await self.threads.get_lease_holder((owner.name, thread))

    async def request_stop(self, owner: Owner, thread: str, run: str) -> bool:
        return await self.threads.request_stop((owner.name, thread), run)

    async def list_stop_requests(self) -> list[RequestedStop]:
        return await self.threads.list_stop_requests()

    async def list_lease_workers(self) -> set[str]:
        return await self.threads.list_lease_workers()

    async def list_orphaned_runs(self, dead_workers: Collection[str]) -> list[OrphanedRun]:
        return await self.threads.list_orphaned_runs(dead_workers)

    async def take_over_run(self, owner: Owner, thread: str, holder: LeaseHolder) -> Lease | None:
        await self.wait_written(owner, thread)
        return await self.threads.take_over_run((owner.name, thread), holder)

    async def end_orphaned_runs(
        self, dead_workers: Collection[str], keep: Collection[OrphanedRun] = ()
    ) -> list[OrphanedRun]:
        await self.writer.wait_written(lambda _: self.worker in dead_workers)
        return await self.threads.end_orphaned_runs(dead_workers, keep)

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None]:
        return self.writer.append((owner.name, thread), first, entries, fence)

    def open_entry_log(self, owner: Owner, thread: str, fence: int, listener: StoredListener) -> LeaseLog:
        return self.writer.open_entry_log((owner.name, thread), fence, listener)

    async def read_entries(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[NumberedEntry]:
        await self.wait_written(owner, thread)
        return await self.threads.read_entries((owner.name, thread), after, until)

    async def run_start(self, owner: Owner, thread: str, number: int) -> int:
        await self.wait_written(owner, thread)
        return await self.threads.run_start((owner.name, thread), number)

    async def get_thread(self, owner: Owner, thread: str) -> Thread | None:
        await self.wait_written(owner, thread)
        return await self.threads.get_thread((owner.name, thread))

    async def list_threads(
        self, owner: Owner, *, assistant: str | None = None, archived: bool = False, limit: int = 100, offset: int = 0
    ) -> list[Thread]:
        await self.writer.wait_written(lambda key: key[0] == owner.name)
        return await self.threads.list_threads(owner.name, assistant, archived, limit, offset)

    async def update_thread(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None:
        await self.wait_written(owner, thread)
        return await self.threads.update_thread((owner.name, thread), name, archived)

    async def delete_thread(self, owner: Owner, thread: str) -> bool:
        await self.wait_written(owner, thread)
        return await self.threads.delete_thread((owner.name, thread))

    async def wait_idle(self) -> None:
        """Wait for what goes on in the background: limits of owners, and what callers that left have begun."""
        self.sweep.check_owners()
        await self.database.wait_idle()

    async def close(self) -> None:
        self.sweep.stop()
        await self.writer.close()
        await self.database.close()
        await self.presence.close()
