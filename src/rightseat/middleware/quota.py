"""Quotas of each owner: requests per minute, concurrent runs, spend and tokens per day.

UsageTracker holds the usage and survives a reload; Quotas are the configured limits. Spend and tokens are
charged at the model call, so that a client that leaves during an answer is charged too.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar

import msgspec
from msgspec import Struct

from rightseat.engine.history import weight
from rightseat.errors import RateLimited, SpendExceeded, StoreFailed, TooManyRuns, UpstreamError
from rightseat.middleware.model_info import Around, Source
from rightseat.types.chunks import CallArgs, Fragment, Reasoning, Refusal, Text, Used
from rightseat.types.events import Event, Usage
from rightseat.types.model import Prompt
from rightseat.types.responder import Layer, Responder
from rightseat.types.stores import Notes
from rightseat.types.streams import closing
from rightseat.types.tokens import estimate
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
DAY = 86_400.0
MOST = 10_000
NOTE = "used today"


class Quota(Struct, frozen=True, kw_only=True):
    """Limits of one owner; 0 is no limit."""

    requests_per_minute: float = 0
    concurrent_runs: int = 0
    spend_per_day: float = 0
    tokens_per_day: int = 0

    @property
    def daily(self) -> bool:
        return bool(self.spend_per_day or self.tokens_per_day)


class Quotas(Struct, frozen=True):
    """Limits by owner, named as in the configuration: a key by its name, any other in full."""

    default: Quota = Quota()
    owners: Mapping[str, Quota] = {}

    def of(self, owner: Owner) -> Quota:
        return self.owners.get(owner.name.removeprefix("key:")) or self.default

    def __bool__(self) -> bool:
        return any(quota != Quota() for quota in (self.default, *self.owners.values()))


class Account:
    """Usage of one owner. A day starts with the first use; a minute's requests may come at once."""

    def __init__(self, now: float) -> None:
        self.running = 0
        self.asked = 0.0
        """Level of a leaky bucket: each request adds one, and it drains with time."""
        self.leaked = now
        self.day = now
        self.spent = 0.0
        self.tokens = 0

    def admit(self, quota: Quota, now: float) -> None:
        """Count one more run; raises with `retry_after` if a limit is reached."""
        if now - self.day >= DAY:
            self.day, self.spent, self.tokens = now, 0.0, 0
        rest = self.day + DAY - now
        if quota.spend_per_day and self.spent >= quota.spend_per_day:
            raise SpendExceeded("What you may spend in a day is spent. Try again later.", retry_after=rest)
        if quota.tokens_per_day and self.tokens >= quota.tokens_per_day:
            raise SpendExceeded("Your tokens for a day are used. Try again later.", retry_after=rest)
        if quota.concurrent_runs and self.running >= quota.concurrent_runs:
            raise TooManyRuns(
                f"You have {self.running} answers under way, and no more are allowed at once. "
                "Wait for one to end.",
                retry_after=1,
            )
        if quota.requests_per_minute:
            self.ask(quota.requests_per_minute, now)
        self.running += 1

    def charge(self, usage: Usage, source: Source | None) -> None:
        self.tokens += usage.input + usage.output
        self.spent += source.price(usage) if source else 0.0

    def ask(self, most: float, now: float) -> None:
        rate = most / 60
        self.asked = max(0.0, self.asked - (now - self.leaked) * rate)
        self.leaked = now
        over = self.asked + 1 - max(1.0, most)
        # Tolerance: a client that returns exactly after `retry_after` is admitted.
        if over > 1e-6:
            raise RateLimited(f"More than {most:g} requests in a minute. Slow down.", retry_after=over / rate)
        self.asked += 1


class Day(Struct, frozen=True):
    """Usage of a day as stored across restarts; `began` is wall-clock time."""

    began: float
    spent: float
    tokens: int


class Ledger:
    """Accounts by owner; the least recently used idle one is evicted first. `store` keeps a day's usage
    across restarts."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        most: int = MOST,
        notes: Notes | None = None,
        calendar: Callable[[], float] = time.time,
    ) -> None:
        self.clock = clock
        self.most = most
        self.notes = notes
        self.calendar = calendar
        self.accounts: OrderedDict[str, Account] = OrderedDict()

    async def opened(self, owner: Owner) -> Account:
        """Return the owner's account, including the stored usage from before a restart."""
        if owner.name in self.accounts:
            return self.account(owner)
        day = await self.noted(owner)
        # A concurrent request may have opened it meanwhile.
        known = owner.name in self.accounts
        account = self.account(owner)
        if day is not None and not known and 0 <= (passed := self.calendar() - day.began) < DAY:
            account.day, account.spent, account.tokens = self.clock() - passed, day.spent, day.tokens
        return account

    async def noted(self, owner: Owner) -> Day | None:
        try:
            body = None if self.notes is None else await self.notes.noted(owner, NOTE)
            return None if body is None else msgspec.json.decode(body, type=Day)
        except (StoreFailed, msgspec.DecodeError):
            log.warning("what %s has used today cannot be read", owner.name)
            return None

    async def keep(self, owner: Owner, account: Account) -> None:
        """Store today's usage. A store failure is logged and does not fail the run."""
        if self.notes is None or not account.tokens:
            return
        began = self.calendar() - (self.clock() - account.day)
        day = Day(began, account.spent, account.tokens)
        try:
            await self.notes.note(owner, NOTE, msgspec.json.encode(day), DAY)
        except StoreFailed:
            log.warning("what %s has used today cannot be kept", owner.name)

    def account(self, owner: Owner) -> Account:
        account = self.accounts.get(owner.name)
        if account is None:
            self.forget()
            account = self.accounts[owner.name] = Account(self.clock())
        self.accounts.move_to_end(owner.name)
        return account

    def forget(self) -> None:
        if len(self.accounts) >= self.most:
            idle = next((name for name, account in self.accounts.items() if not account.running), None)
            if idle is not None:
                del self.accounts[idle]


# The account of the current task's run.
ACCOUNT: ContextVar[Account | None] = ContextVar("account", default=None)


def limited(quotas: Quotas, ledger: Ledger) -> Layer:
    """Layer that admits or rejects runs. Sub-runs are part of their parent's run and are not counted."""

    def layer(inner: Responder) -> Responder:
        def respond(turn: Turn) -> AsyncIterator[Event]:
            return inner(turn) if turn.depth else within_quota(inner, turn, quotas, ledger)

        return respond

    return layer


async def within_quota(inner: Responder, turn: Turn, quotas: Quotas, ledger: Ledger) -> AsyncIterator[Event]:
    account = await ledger.opened(turn.owner)
    quota = quotas.of(turn.owner)
    account.admit(quota, ledger.clock())
    before = ACCOUNT.get()
    ACCOUNT.set(account)
    try:
        async with closing(inner(turn)) as events:
            async for event in events:
                yield event
                # A reader may interleave two runs.
                ACCOUNT.set(account)
    finally:
        ACCOUNT.set(before)
        account.running -= 1
        if quota.daily:
            await ledger.keep(turn.owner, account)


class Charged(Around):
    """A model wrapper that charges the current run's account; unreported usage is estimated."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        account = ACCOUNT.get()
        used: Usage | None = None
        said: list[str] = []
        unserved = False
        try:
            async with closing(self.model.stream(prompt)) as fragments:
                async for fragment in fragments:
                    match fragment:
                        case Text(text) | Reasoning(text) | Refusal(text) | CallArgs(json=text):
                            said.append(text)
                        case Used(usage):
                            used = usage
                        case _:
                            pass
                    yield fragment
        except UpstreamError:
            unserved = not said
            raise
        finally:
            if account is not None and not unserved:
                usage = used or Usage(sum(map(weight, prompt.messages)), estimate("".join(said)))
                account.charge(usage, self.source)
