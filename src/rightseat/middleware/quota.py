"""Quotas of each owner: requests per minute, concurrent runs, spend and tokens per day.

A Ledger holds the usage and survives a reload; Quotas are the configured limits. Spend and tokens are
charged at the model call, so that a client that leaves during an answer is charged too.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.history import estimate_message_tokens
from rightseat.errors import RateLimited, SpendExceeded, StoreFailed, TooManyRuns, UpstreamError
from rightseat.types.agents import Layer, Responder, make_layer
from rightseat.types.chunks import ModelChunk, ReasoningChunk, RefusalChunk, TextChunk, ToolCallArgs, UsageChunk
from rightseat.types.events import Event, Usage
from rightseat.types.model import ModelInfo, ModelWrapper, Prompt
from rightseat.types.stores import CheckpointStore
from rightseat.types.streams import closing
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
DAY = 86_400.0
USAGE_KEY = "used today"


class Quota(Struct, frozen=True, kw_only=True):
    """Limits of one owner; 0 is no limit."""

    requests_per_minute: float = 0
    concurrent_runs: int = 0
    spend_per_day: float = 0
    tokens_per_day: int = 0

    @property
    def has_daily_limit(self) -> bool:
        return bool(self.spend_per_day or self.tokens_per_day)


class Quotas(Struct, frozen=True):
    """Limits by owner, named as in the configuration: a key by its name, any other in full."""

    default: Quota = Quota()
    owners: Mapping[str, Quota] = {}

    def for_owner(self, owner: Owner) -> Quota:
        return self.owners.get(owner.name.removeprefix("key:")) or self.default

    def __bool__(self) -> bool:
        return any(quota != Quota() for quota in (self.default, *self.owners.values()))


class RequestRate:
    """Leaky bucket of requests: each adds one to its level, which drains with time. A minute's requests may come at
    once."""

    def __init__(self, now: float) -> None:
        self.drained_at = now
        self.level = 0.0

    def count(self, per_minute: float, now: float) -> float:
        """Count a request and return 0; if there is no room for it, return the seconds until there is."""
        per_second = per_minute / 60
        self.level = max(0.0, self.level - (now - self.drained_at) * per_second)
        self.drained_at = now
        excess = self.level + 1 - max(1.0, per_minute)
        # Tolerance: a client that returns exactly after `retry_after` is admitted.
        if excess > 1e-6:
            return excess / per_second
        self.level += 1
        return 0.0


class UsageAccount:
    """Usage of one owner. A day starts with the first use."""

    def __init__(self, now: float) -> None:
        self.running = 0
        self.rate = RequestRate(now)
        self.day_start = now
        self.spent = 0.0
        self.tokens = 0

    def admit(self, quota: Quota, now: float) -> None:
        """Count one more run; raises with `retry_after` if a limit is reached."""
        if now - self.day_start >= DAY:
            self.day_start, self.spent, self.tokens = now, 0.0, 0
        daily = (("spending", self.spent, quota.spend_per_day), ("token", self.tokens, quota.tokens_per_day))
        for name, used, limit in daily:
            if limit and used >= limit:
                text = f"You have reached your {name} limit for a day. Try again later."
                raise SpendExceeded(text, retry_after=self.day_start + DAY - now)
        if quota.concurrent_runs and self.running >= quota.concurrent_runs:
            raise TooManyRuns(
                f"You have {self.running} running answers, the limit for one user. Wait until one ends.", retry_after=1
            )
        per_minute = quota.requests_per_minute
        if per_minute and (wait := self.rate.count(per_minute, now)):
            raise RateLimited(f"More than {per_minute:g} requests in a minute. Slow down.", retry_after=wait)
        self.running += 1

    def charge(self, usage: Usage, info: ModelInfo | None) -> None:
        self.tokens += usage.input + usage.output
        self.spent += info.compute_cost(usage) if info else 0.0


class DailyUsage(Struct):
    """Usage of an owner as stored. Times are wall-clock time. The later fields are those of several workers."""

    began: float
    spent: float = 0.0
    tokens: int = 0
    level: float = 0.0
    """Level of the requests' leaky bucket, at `drained_at`."""
    drained_at: float = 0.0
    running: dict[str, str] = {}
    """Ids of admitted runs, with the workers that have them."""


class Admission(Protocol):
    """A run that was admitted. What it uses is charged to its owner."""

    def charge(self, usage: Usage, info: ModelInfo | None) -> None: ...

    async def close(self) -> None:
        """Note that the run has ended."""
        ...


class Ledger(Protocol):
    """Counts what each owner uses. `middleware/shared_quota` has the one of several workers."""

    async def admit(self, owner: Owner, quota: Quota) -> Admission:
        """Count one more run; raises with `retry_after` if a limit is reached."""
        ...


@dataclass
class UsageTracker:
    """Ledger of one process; the least recently used idle account is evicted first. `store` keeps a day's usage
    across restarts."""

    clock: Callable[[], float] = time.monotonic
    max_accounts: int = 10_000
    store: CheckpointStore | None = None
    wall_clock: Callable[[], float] = time.time
    accounts: OrderedDict[str, UsageAccount] = field(default_factory=OrderedDict)

    async def admit(self, owner: Owner, quota: Quota) -> AccountAdmission:
        account = await self.open_account(owner)
        account.admit(quota, self.clock())
        return AccountAdmission(self, owner, quota, account)

    async def open_account(self, owner: Owner) -> UsageAccount:
        """Return the owner's account, including the stored usage from before a restart."""
        if owner.name in self.accounts:
            return self.get_account(owner)
        day = await self.load_usage(owner)
        # A concurrent request may have opened it meanwhile.
        known = owner.name in self.accounts
        account = self.get_account(owner)
        if day is not None and not known and 0 <= (passed := self.wall_clock() - day.began) < DAY:
            account.day_start, account.spent, account.tokens = self.clock() - passed, day.spent, day.tokens
        return account

    async def load_usage(self, owner: Owner) -> DailyUsage | None:
        try:
            body = None if self.store is None else await self.store.get_checkpoint(owner, USAGE_KEY)
            return None if body is None else msgspec.json.decode(body, type=DailyUsage)
        except (StoreFailed, msgspec.DecodeError):
            log.warning("what %s has used today cannot be read", owner.name)
            return None

    async def save_usage(self, owner: Owner, account: UsageAccount) -> None:
        """Store today's usage. A store failure is logged and does not fail the run."""
        if self.store is None or not account.tokens:
            return
        began = self.wall_clock() - (self.clock() - account.day_start)
        day = DailyUsage(began, account.spent, account.tokens)
        try:
            await self.store.save_checkpoint(owner, USAGE_KEY, msgspec.json.encode(day), DAY)
        except StoreFailed:
            log.warning("what %s has used today cannot be kept", owner.name)

    def get_account(self, owner: Owner) -> UsageAccount:
        if owner.name not in self.accounts:
            if len(self.accounts) >= self.max_accounts:
                idle = (name for name, account in self.accounts.items() if not account.running)
                self.accounts.pop(next(idle, ""), None)
            self.accounts[owner.name] = UsageAccount(self.clock())
        self.accounts.move_to_end(owner.name)
        return self.accounts[owner.name]


@dataclass(frozen=True)
class AccountAdmission:
    tracker: UsageTracker
    owner: Owner
    quota: Quota
    account: UsageAccount

    def charge(self, usage: Usage, info: ModelInfo | None) -> None:
        self.account.charge(usage, info)

    async def close(self) -> None:
        self.account.running -= 1
        if self.quota.has_daily_limit:
            await self.tracker.save_usage(self.owner, self.account)


# The admission of the current task's run.
CURRENT_ADMISSION: ContextVar[Admission | None] = ContextVar("admission", default=None)


def enforce_quotas(quotas: Quotas, ledger: Ledger) -> Layer:
    """Layer that admits or rejects runs. Sub-runs are part of their parent's run and are not counted."""
    return make_layer(lambda turn: not turn.depth, lambda inner, turn: stream_in_quota(inner, turn, quotas, ledger))


async def stream_in_quota(inner: Responder, turn: Turn, quotas: Quotas, ledger: Ledger) -> AsyncIterator[Event]:
    quota = quotas.for_owner(turn.owner)
    if turn.is_taken_over or turn.take_overs:
        # Its request was counted by the worker that has died.
        quota = replace(quota, requests_per_minute=0)
    admission = await ledger.admit(turn.owner, quota)
    before = CURRENT_ADMISSION.get()
    CURRENT_ADMISSION.set(admission)
    try:
        async with closing(inner(turn)) as events:
            async for event in events:
                yield event
                # A reader may interleave two runs.
                CURRENT_ADMISSION.set(admission)
    finally:
        CURRENT_ADMISSION.set(before)
        await admission.close()


class BilledModel(ModelWrapper):
    """A model wrapper that charges the current run's account; unreported usage is estimated."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        admission = CURRENT_ADMISSION.get()
        used: Usage | None = None
        texts: list[str] = []
        is_unserved = False
        try:
            async with closing(self.model.stream(prompt)) as chunks:
                async for chunk in chunks:
                    match chunk:
                        case TextChunk(text) | ReasoningChunk(text) | RefusalChunk(text) | ToolCallArgs(json=text):
                            texts.append(text)
                        case UsageChunk(usage):
                            used = usage
                        case _:
                            pass
                    yield chunk
        except UpstreamError:
            is_unserved = not texts
            raise
        finally:
            if admission is not None and not is_unserved:
                if used is None:
                    prompt_tokens = sum(map(estimate_message_tokens, prompt.messages))
                    used = Usage(prompt_tokens, estimate_tokens("".join(texts)))
                admission.charge(used, self.info)
