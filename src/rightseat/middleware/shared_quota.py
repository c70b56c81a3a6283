"""SharedLedger: usage that several workers count in one store.

Each admission reads, checks and counts in one atomic operation of the store, so that a limit holds over all workers
together. Runs of a worker that died are taken off when they stand in the way. While the store is away each worker
counts for itself, and what it could not write is written when the store is back.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection
from functools import partial
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from rightseat.config.settings import WithoutStore
from rightseat.errors import StoreFailed, TooManyRuns
from rightseat.middleware.quota import DAY, USAGE_KEY, Admission, DailyUsage, Quota, UsageAccount
from rightseat.types.events import Usage
from rightseat.types.live import Presence, ReplicaCount
from rightseat.types.model import ModelInfo
from rightseat.types.stores import CheckpointStore
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(DailyUsage)
T = TypeVar("T")
UsageUpdate = Callable[[bytes | None], bytes]
MAX_ACCOUNTS = 10_000
MAX_UNSAVED = 20_000
"""Owners whose usage is known here, and updates that wait for the store."""
RETRY_SECONDS = 1.0


class SharedLedger:
    """Ledger of several workers over the store that they share. `without_store` says what a worker grants while the
    store is away: its share of each limit, all, or nothing."""

    def __init__(
        self,
        store: CheckpointStore,
        presence: Presence,
        wall_clock: Callable[[], float] = time.time,
        without_store: WithoutStore = "share",
    ) -> None:
        self.store = store
        self.presence = presence
        self.wall_clock = wall_clock
        self.without_store = without_store
        self.seen: OrderedDict[str, DailyUsage] = OrderedDict()
        """Usage of owners as this worker last saw it in the store."""
        self.accounts: OrderedDict[str, UsageAccount] = OrderedDict()
        """The same with what they have used here since the store is away."""
        self.running: Counter[str] = Counter()
        """Runs of owners in this worker, where their number is limited."""
        self.unsaved: deque[tuple[Owner, UsageUpdate]] = deque(maxlen=MAX_UNSAVED)
        self.saving: asyncio.Task[None] | None = None

    async def admit(self, owner: Owner, quota: Quota) -> Admission:
        admission = SharedAdmission(self, owner, quota, secrets.token_hex(8))
        if quota != Quota():
            await self.count_run(admission)
            admission.begin()
        return admission

    async def count_run(self, admission: SharedAdmission) -> None:
        owner, quota, run = admission.owner, admission.quota, admission.run
        seen = partial(self.remember, owner)
        count = partial(admit_run, run=run, worker=self.presence.worker, quota=quota, now=self.wall_clock(), seen=seen)
        try:
            try:
                await self.store.update_checkpoint(owner, USAGE_KEY, count, DAY)
            except TooManyRuns:
                dead_workers = await self.find_dead_workers(owner)
                if not dead_workers:
                    raise
                await self.store.update_checkpoint(owner, USAGE_KEY, partial(count, dead_workers=dead_workers), DAY)
            self.accounts.pop(owner.name, None)
        except StoreFailed:
            self.admit_without_store(owner, quota)
        except asyncio.CancelledError:
            # The client has left, and its run may be counted.
            await admission.close()
            raise

    def admit_without_store(self, owner: Owner, quota: Quota) -> None:
        """Count a run by what this worker knows; raises if its share of a limit is used up, or nothing is granted."""
        if self.without_store == "refuse":
            raise StoreFailed("Limits cannot be counted: the store is away. Try again.", retry_after=5)
        log.warning("a run of %s is not counted in the store: it failed", owner.name)
        if self.without_store == "share":
            replicas = self.presence.replicas if isinstance(self.presence, ReplicaCount) else 1
            usage = self.seen.get(owner.name) or DailyUsage(self.wall_clock())
            account = self.accounts.get(owner.name) or make_account(usage, replicas)
            put_newest(self.accounts, owner, account)
            account.running = self.running[owner.name]
            account.admit(divide_quota(quota, replicas, usage), self.wall_clock())

    def remember(self, owner: Owner, usage: DailyUsage) -> None:
        put_newest(self.seen, owner, replace(usage, running={}))

    def keep_update(self, owner: Owner, update: UsageUpdate) -> None:
        """Write an update later, when the store is back."""
        if len(self.unsaved) == MAX_UNSAVED:
            log.warning("what owners have used is not kept: the store has been away for too long")
        self.unsaved.append((owner, update))
        if self.saving is None:
            self.saving = asyncio.create_task(self.save_updates())

    async def save_updates(self) -> None:
        try:
            while self.unsaved:
                owner, update = self.unsaved[0]
                try:
                    await self.store.update_checkpoint(owner, USAGE_KEY, update, DAY)
                except StoreFailed:
                    await asyncio.sleep(RETRY_SECONDS)
                else:
                    self.unsaved.popleft()
        finally:
            self.saving = None

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
        self.is_begun = False

    def begin(self) -> None:
        if self.quota.concurrent_runs:
            self.is_begun = True
            self.ledger.running[self.owner.name] += 1

    def charge(self, usage: Usage, info: ModelInfo | None) -> None:
        if self.quota.has_daily_limit:
            if account := self.ledger.accounts.get(self.owner.name):
                account.charge(usage, info)
            cost = info.compute_cost(usage) if info else 0.0
            self.start_update(partial(add_usage, spent=cost, tokens=usage.input + usage.output))

    async def close(self) -> None:
        if self.is_begun:
            self.is_begun = False
            self.ledger.running[self.owner.name] -= 1
            # Removes those that are 0.
            self.ledger.running += Counter()
        if self.quota.concurrent_runs:
            self.start_update(partial(remove_run, run=self.run))
        if self.updates:
            await asyncio.wait(self.updates)

    def start_update(self, update: Callable[..., bytes]) -> None:
        # In a task of its own: the client may be gone and the run cancelled, and what was used counts all the same.
        change = partial(update, now=self.ledger.wall_clock())
        self.updates.append(asyncio.create_task(self.update(change)))

    async def update(self, update: UsageUpdate) -> None:
        try:
            await self.ledger.store.update_checkpoint(self.owner, USAGE_KEY, update, DAY)
        except StoreFailed:
            log.warning("what %s has used cannot be written yet: the store failed", self.owner.name)
            self.ledger.keep_update(self.owner, update)


def put_newest(table: OrderedDict[str, T], owner: Owner, value: T) -> None:
    """Put an owner's value into a table that holds the newest ones."""
    table[owner.name] = value
    table.move_to_end(owner.name)
    if len(table) > MAX_ACCOUNTS:
        table.popitem(last=False)


def make_account(usage: DailyUsage, replicas: int = 1) -> UsageAccount:
    """Make an account of stored usage, with a worker's share of the recent requests."""
    account = UsageAccount(usage.began)
    account.spent, account.tokens, account.running = usage.spent, usage.tokens, len(usage.running)
    account.rate.level, account.rate.drained_at = usage.level / replicas, usage.drained_at or usage.began
    return account


def divide_quota(quota: Quota, replicas: int, usage: DailyUsage) -> Quota:
    """Return a worker's share of what is left of a quota. A limit that is there stays one."""
    money, tokens = quota.spend_per_day - usage.spent, quota.tokens_per_day - usage.tokens
    return replace(
        quota,
        requests_per_minute=quota.requests_per_minute / replicas,
        concurrent_runs=quota.concurrent_runs and max(1, quota.concurrent_runs // replicas),
        spend_per_day=usage.spent + money / replicas if quota.spend_per_day and money > 0 else quota.spend_per_day,
        tokens_per_day=usage.tokens + max(1, tokens // replicas)
        if quota.tokens_per_day and tokens > 0
        else quota.tokens_per_day,
    )


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
    body: bytes | None,
    *,
    run: str,
    worker: str,
    quota: Quota,
    now: float,
    dead_workers: Collection[str] = (),
    seen: Callable[[DailyUsage], None] = lambda usage: None,
) -> bytes:
    """Count one more run; raises with `retry_after` if a limit is reached. `seen` gets the usage."""
    usage = read_usage(body, now)
    usage.running = {id: holder for id, holder in usage.running.items() if holder not in dead_workers}
    account = make_account(usage)
    account.rate.drained_at = min(usage.drained_at, now)
    seen(usage)
    account.admit(quota, now)
    usage.level, usage.drained_at = account.rate.level, account.rate.drained_at
    seen(usage)
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
