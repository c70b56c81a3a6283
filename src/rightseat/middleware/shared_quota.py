"""SharedLedger: usage that several workers count in one store.

Each admission reads, checks and counts in one atomic operation of the store, so that a limit holds over all workers
together. Runs of a worker that died are taken off when they stand in the way.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection
from functools import partial

import msgspec

from rightseat.errors import StoreFailed, TooManyRuns
from rightseat.middleware.quota import DAY, USAGE_KEY, Admission, DailyUsage, Quota, UsageAccount
from rightseat.types.events import Usage
from rightseat.types.live import Presence
from rightseat.types.model import ModelInfo
from rightseat.types.stores import CheckpointStore
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(DailyUsage)


class SharedLedger:
    """Ledger of several workers over the store that they share."""

    def __init__(self, store: CheckpointStore, presence: Presence, wall_clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.presence = presence
        self.wall_clock = wall_clock

    async def admit(self, owner: Owner, quota: Quota) -> Admission:
        run = secrets.token_hex(8)
        admission = SharedAdmission(self, owner, quota, run)
        if quota == Quota():
            return admission
        count = partial(admit_run, run=run, worker=self.presence.worker, quota=quota, now=self.wall_clock())
        try:
            try:
                await self.store.update_checkpoint(owner, USAGE_KEY, count, DAY)
            except TooManyRuns:
                dead_workers = await self.find_dead_workers(owner)
                if not dead_workers:
                    raise
                await self.store.update_checkpoint(owner, USAGE_KEY, partial(count, dead_workers=dead_workers), DAY)
        except StoreFailed:
            log.warning("a run of %s is not counted: the store failed", owner.name)
        except asyncio.CancelledError:
            # The client has left, and its run may be counted.
            await admission.close()
            raise
        return admission

    async def find_dead_workers(self, owner: Owner) -> set[str]:
        """Return the workers that died with runs of this owner."""
        usage = read_usage(await self.store.get_checkpoint(owner, USAGE_KEY), self.wall_clock())
        return await self.presence.find_dead(set(usage.running.values()))


class SharedAdmission:
    """Admission in a shared ledger. What a model call costs is counted at its end, for all workers to see."""

    def __init__(self, ledger: SharedLedger, owner: Owner, quota: Quota, run: str) -> None:
        self.ledger = ledger
        self.owner = owner
        self.quota = quota
        self.run = run
        self.updates: list[asyncio.Task[None]] = []

    def charge(self, usage: Usage, info: ModelInfo | None) -> None:
        if self.quota.has_daily_limit:
            cost = info.compute_cost(usage) if info else 0.0
            self.start_update(partial(add_usage, spent=cost, tokens=usage.input + usage.output))

    async def close(self) -> None:
        if self.quota.concurrent_runs:
            self.start_update(partial(remove_run, run=self.run))
        if self.updates:
            await asyncio.wait(self.updates)

    def start_update(self, update: Callable[..., bytes]) -> None:
        # In a task of its own: the client may be gone and the run cancelled, and what was used counts all the same.
        change = partial(update, now=self.ledger.wall_clock())
        self.updates.append(asyncio.create_task(self.update(change)))

    async def update(self, update: Callable[[bytes | None], bytes]) -> None:
        try:
            await self.ledger.store.update_checkpoint(self.owner, USAGE_KEY, update, DAY)
        except StoreFailed:
            log.warning("what %s has used today cannot be kept", self.owner.name)


def read_usage(body: bytes | None, now: float) -> DailyUsage:
    """Decode an owner's usage; a new day begins with the first use after the last one."""
    try:
        usage = DailyUsage(now) if body is None else _decoder.decode(body)
    except msgspec.DecodeError:
        log.warning("the usage of an owner cannot be read and begins anew")
        usage = DailyUsage(now)
    if not 0 <= now - usage.began < DAY:
        usage.began, usage.spent, usage.tokens = now, 0.0, 0
    return usage


def admit_run(
    body: bytes | None, *, run: str, worker: str, quota: Quota, now: float, dead_workers: Collection[str] = ()
) -> bytes:
    """Count one more run; raises with `retry_after` if a limit is reached."""
    usage = read_usage(body, now)
    usage.running = {id: holder for id, holder in usage.running.items() if holder not in dead_workers}
    account = UsageAccount(now)
    account.day_start, account.spent, account.tokens = usage.began, usage.spent, usage.tokens
    account.running = len(usage.running)
    account.rate.level, account.rate.drained_at = usage.level, min(usage.drained_at, now)
    account.admit(quota, now)
    usage.level, usage.drained_at = account.rate.level, account.rate.drained_at
    if quota.concurrent_runs:
        usage.running[run] = worker
    return msgspec.json.encode(usage)


def add_usage(body: bytes | None, *, spent: float, tokens: int, now: float) -> bytes:
    usage = read_usage(body, now)
    usage.spent += spent
    usage.tokens += tokens
    return msgspec.json.encode(usage)


def remove_run(body: bytes | None, *, run: str, now: float) -> bytes:
    usage = read_usage(body, now)
    usage.running.pop(run, None)
    return msgspec.json.encode(usage)
