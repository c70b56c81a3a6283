"""Every Store, made with a clock, a capacity and a folder of the test's own."""

import asyncio
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

from rightseat.stores.memory import MemoryStore
from rightseat.stores.postgres.lease_log import LeaseLog
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.stores import CheckpointStore, Continuation, SharedStore, Store
from rightseat.types.threads import ANY_FENCE, EntryLog, Lease, LeaseHolder, StoredListener, ThreadEntry, ThreadStore
from rightseat.types.turn import Owner


class FullStore(Store, ThreadStore, CheckpointStore, SharedStore, Protocol):
    """A Store that keeps threads and notes too: both of ours do."""


class MakeStore(Protocol):
    def __call__(self, folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore: ...


def make_memory_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    return MemoryStore(clock=clock, **options)


def make_sqlite_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    return SQLiteStore(folder, clock=clock, **options)


class AlternatingStore:
    """Two stores on one folder, as two workers have them; each operation is for the other one, but a run is written by
    the one that began it. Nothing that one of them remembers may be wrong after what the other has done."""

    def __init__(self, stores: Sequence[Any]) -> None:
        self.stores = stores
        self.count = 0
        self.stored: list[asyncio.Future[None]] = []
        """Entries that readers are not shown yet."""
        self.worker = stores[0].worker
        self.writers: dict[tuple[Owner, str], Any] = {}
        self.claimants: dict[str, Any] = {}

    def next_store(self) -> Any:
        self.count += 1
        return self.stores[self.count % len(self.stores)]

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None]:
        writer = self.writers.get((owner, thread)) or self.next_store()
        stored: asyncio.Future[None] | None = writer.append_entries(owner, thread, first, entries, fence)
        assert stored is not None, "every entry is logged before it is shown"
        self.stored.append(stored)
        return stored

    async def begin_run(self, owner: Owner, thread: str, run: str, **options: str) -> Lease:
        await self.wait_stored()
        store = self.next_store()
        try:
            lease: Lease = await store.begin_run(owner, thread, run, **options)
        except asyncio.CancelledError:
            # The other one sees the thread free as soon as that is committed.
            await self.wait_undone(store)
            raise
        self.worker, self.writers[owner, thread] = store.worker, store
        return lease

    async def take_over_run(self, owner: Owner, thread: str, holder: LeaseHolder) -> Lease | None:
        """As another worker than the one that began the run."""
        await self.wait_stored()
        store = next(store for store in self.stores if store is not self.writers.get((owner, thread)))
        lease: Lease | None = await store.take_over_run(owner, thread, holder)
        if lease is not None:
            self.worker, self.writers[owner, thread] = store.worker, store
        return lease

    async def wait_undone(self, store: Any) -> None:
        await store.writer.run(lambda: None)

    async def claim_continuation(self, *args: Any) -> Continuation | None:
        store = self.next_store()
        continuation: Continuation | None = await store.claim_continuation(*args)
        if continuation is not None:
            self.claimants[continuation.ticket] = store
            self.worker = store.worker
        return continuation

    async def settle_continuation(self, owner: Owner, resume_token: str) -> None:
        """As its claimant: a claim is of one worker."""
        await self.claimants.get(resume_token, self.stores[0]).settle_continuation(owner, resume_token)

    async def release_continuation(self, owner: Owner, resume_token: str) -> None:
        await self.claimants.get(resume_token, self.stores[0]).release_continuation(owner, resume_token)

    async def wait_stored(self) -> None:
        stored, self.stored = self.stored, []
        if stored:
            await asyncio.wait(stored)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self.stores[0], name):
            raise AttributeError(name)

        async def call(*args: Any, **options: Any) -> Any:
            await self.wait_stored()
            return await getattr(self.next_store(), name)(*args, **options)

        return call

    async def close(self) -> None:
        for store in self.stores:
            await store.close()


def make_shared_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    from rightseat.stores.sqlite.shared import SharedSQLiteStore

    run_folder = folder / "run"
    run_folder.mkdir()
    stores = [SharedSQLiteStore(folder, run_folder, clock=clock, **options) for _ in range(2)]
    return cast(FullStore, AlternatingStore(stores))


class WaitedLog:
    """Log whose entries the store of another process can be asked for."""

    def __init__(self, log: LeaseLog, store: AlternatingStore) -> None:
        self.log = log
        self.store = store

    def append(self, number: int, entry: ThreadEntry) -> None:
        self.log.append(number, entry)
        self.store.stored.append(self.log.get_stored())


class AlternatingPostgresStore(AlternatingStore):
    """Two processes' stores in one database. What is deleted in the background is deleted before the next operation."""

    def open_entry_log(self, owner: Owner, thread: str, fence: int, listener: StoredListener) -> EntryLog:
        return WaitedLog(self.writers[owner, thread].open_entry_log(owner, thread, fence, listener), self)

    async def begin_run(self, owner: Owner, thread: str, run: str, **options: str) -> Lease:
        lease = await super().begin_run(owner, thread, run, **options)
        await self.sweep()
        return lease

    async def wait_undone(self, store: Any) -> None:
        await store.wait_idle()

    async def sweep(self) -> None:
        for store in self.stores:
            await store.wait_idle()
        await self.stores[0].sweep.sweep()

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)

        async def call_and_sweep(*args: Any, **options: Any) -> Any:
            result = await call(*args, **options)
            if name.startswith("save_"):
                await self.sweep()
            return result

        return call_and_sweep


schema_numbers = itertools.count()


def make_schema_name() -> str:
    """Make a name that no other test has."""
    return f"test_{os.getpid()}_{next(schema_numbers)}"


def make_postgres_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    from rightseat.stores.postgres.store import PostgresStore
    from tests.kit.postgres import get_session_server

    url, schema = get_session_server().url, make_schema_name()
    stores = [PostgresStore(url, schema=schema, pool=4, clock=clock, **options) for _ in range(2)]
    return cast(FullStore, AlternatingPostgresStore(stores))


def make_protected_store(folder: Path, *, clock: Callable[[], float], **options: Any) -> FullStore:
    """Stores of a plain account, on tables with row security."""
    from contextlib import closing

    from rightseat.stores.postgres.database import connect
    from rightseat.stores.postgres.row_security import protect_tables
    from rightseat.stores.postgres.store import PostgresStore
    from tests.kit.postgres import get_session_server

    url, schema = get_session_server().plain_url, make_schema_name()
    make = partial(PostgresStore, url, schema=schema, pool=4, clock=clock, row_security=True, **options)
    stores = [make()]
    with closing(connect(url)) as connection:
        protect_tables(connection, schema)
    return cast(FullStore, AlternatingPostgresStore([*stores, make()]))


MEMBERS: dict[str, MakeStore] = {"memory": make_memory_store, "sqlite": make_sqlite_store}
if sys.platform != "win32":
    MEMBERS["sqlite shared"] = make_shared_store
    MEMBERS["postgres"] = make_postgres_store
    MEMBERS["postgres protected"] = make_protected_store
MEMBER_PARAMS = [
    pytest.param(make, id=name, marks=[pytest.mark.io] if name.startswith("postgres") else [])
    for name, make in MEMBERS.items()
]
