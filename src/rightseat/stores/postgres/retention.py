"""RetentionSweep: deletes what exceeds the limits of age, number and size, in batches.

Limits of one owner or thread are applied after a run of that owner has begun. Limits over all owners, and records whose
time is over, are the work of one process at a time, every minute.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from rightseat.errors import StoreFailed
from rightseat.stores.postgres import statements as sql
from rightseat.stores.postgres.database import Parameters, PostgresDatabase, Row
from rightseat.stores.postgres.keys import encode_key
from rightseat.stores.postgres.lease_log import ThreadKey
from rightseat.stores.postgres.threads import BegunRun
from rightseat.types.threads import Retention

log = logging.getLogger(__name__)
SWEEP_SECONDS = 60.0
BATCH_ROWS = 500
DAY_SECONDS = 86400.0
OWNER_SECONDS = 1.0
"""Time from an owner's new thread until the owner's threads are counted."""
REPLICA_SECONDS = 3600.0
"""Time for which a process that ended without a word is still listed."""
Execute = Callable[[str, Parameters], Awaitable[list[Row]]]


class RetentionSweep:
    def __init__(
        self, database: PostgresDatabase, retention: Retention, capacity: int, clock: Callable[[], float] | None
    ) -> None:
        self.database = database
        self.retention = retention
        self.capacity = capacity
        self.clock = clock
        self.timer: asyncio.TimerHandle | None = None
        self.owners: set[str] = set()
        """Those with new threads, who may have too many."""
        self.owner_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to sweep, once in a minute."""
        if self.timer is None:
            # Spread: processes that were started together should not sweep together.
            pause = SWEEP_SECONDS * random.uniform(0.5, 1.5)
            self.timer = asyncio.get_running_loop().call_later(pause, self.sweep_again)

    def sweep_again(self) -> None:
        self.timer = None
        self.database.start(self.sweep_and_restart())

    async def sweep_and_restart(self) -> None:
        try:
            await self.sweep()
        except StoreFailed:
            log.warning("old threads and records are not deleted: the store failed")
        finally:
            if not self.database.is_closed:
                self.start()

    def stop(self) -> None:
        for timer in (self.timer, self.owner_timer):
            if timer is not None:
                timer.cancel()

    def make_values(self, **more: Any) -> dict[str, Any]:
        return {"now": self.clock() if self.clock else None, "limit": BATCH_ROWS, **more}

    # One owner

    def on_begun(self, key: ThreadKey, begun: BegunRun) -> None:
        """Apply the limits of a thread and its owner, in the background."""
        if begun.size > self.retention.thread_bytes:
            self.database.start(self.drop_oldest_runs(key, begun.size))
        if begun.is_new:
            self.owners.add(key[0])
            if self.owner_timer is None:
                # Later: threads are counted once for many new ones, and never while a run waits for its first token.
                self.owner_timer = asyncio.get_running_loop().call_later(OWNER_SECONDS, self.check_owners)

    def check_owners(self) -> None:
        """Begin to delete the oldest threads of owners who have too many."""
        if self.owner_timer is not None:
            self.owner_timer.cancel()
            self.owner_timer = None
        owners, self.owners = self.owners, set()
        for owner in owners:
            self.database.start(self.drop_surplus_threads(owner))

    async def drop_oldest_runs(self, key: ThreadKey, size: int) -> None:
        """Delete the oldest runs of a thread that is over its size; the newest run always stays."""
        values: dict[str, Any] = {"owner": encode_key(key[0]), "thread": encode_key(key[1])}
        surplus, newest = 0, None
        for run, weight in (await self.database.execute(sql.LIST_RUN_SIZES, values, again=True))[:-1]:
            if size - surplus <= self.retention.thread_bytes:
                break
            surplus, newest = surplus + weight, run
        if newest is not None:
            await self.database.execute(sql.DROP_RUNS, {**values, "number": newest, "size": surplus})

    async def drop_surplus_threads(self, owner: str) -> None:
        values = {"owner": encode_key(owner), "threads": self.retention.threads}
        surplus = await self.database.execute(sql.LIST_SURPLUS, values, again=True)
        await delete_threads(surplus, self.database.execute)

    # All owners

    async def sweep(self) -> bool:
        """Delete what is over the limits; returns False if another process does so now."""
        lock = {"schema": self.database.schema}
        async with self.database.session() as session:
            # Held by the connection that deletes: a sweep never waits for a second one. Each batch is committed.
            rows = await session.execute(sql.TRY_SWEEP, lock)
            if not rows[0][0]:
                return False
            try:
                await self.drop_records(session.execute)
                await self.drop_threads(session.execute)
                await self.drop_replicas(session.execute)
            finally:
                await session.execute(sql.END_SWEEP, lock)
        return True

    async def drop_records(self, execute: Execute) -> None:
        while len(await execute(sql.DROP_EXPIRED, self.make_values())) == BATCH_ROWS:
            pass
        values = self.make_values(capacity=self.capacity)
        while len(await execute(sql.DROP_SURPLUS, values)) == BATCH_ROWS:
            pass

    async def drop_replicas(self, execute: Execute) -> None:
        await execute(sql.FORGET_REPLICAS, {"seconds": REPLICA_SECONDS})

    async def drop_threads(self, execute: Execute) -> None:
        if self.retention.days:
            values = self.make_values(seconds=self.retention.days * DAY_SECONDS)
            while await delete_threads(await execute(sql.LIST_EXPIRED, values), execute):
                pass
        values = self.make_values(bytes=self.retention.bytes)
        while await delete_threads(await execute(sql.LIST_OLDEST, values), execute):
            pass


async def delete_threads(keys: Iterable[Row], execute: Execute) -> int:
    """Delete threads that no run has; returns how many."""
    count = 0
    for owner, thread in keys:
        count += len(await execute(sql.DELETE_THREAD, {"owner": owner, "thread": thread, "running": False}))
    return count
