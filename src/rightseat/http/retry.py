"""Retries with backoff, a budget that nested retries share, and the Retry-After header."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from typing import TypeVar

from rightseat.errors import RightseatError
from rightseat.types.streams import closing

T = TypeVar("T")
MAX_RETRY_AFTER = 86_400.0
_NUMBER = re.compile(r"\d{1,20}(\.\d+)?")


async def call_with_retry(
    attempt: Callable[[], Awaitable[T]],
    *,
    is_retryable: Callable[[RightseatError], bool],
    tries: int = 3,
    first_delay: float = 0.25,
    max_delay: float = 2.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    random_value: Callable[[], float] = random.random,
) -> T:
    """Call `attempt` until it succeeds, at most `tries` times, while `is_retryable(error)`.

    The delay doubles from `first_delay` up to `max_delay` seconds, with jitter. An error whose `retry_after`
    exceeds `max_delay` is raised at once: the caller should know rather than hang. Inside `with_retry_budget`
    each retry is taken from the budget.
    """
    budget = current_retry_budget()
    for number in range(1, tries):
        try:
            return await attempt()
        except RightseatError as error:
            requested = error.retry_after or 0.0
            if not is_retryable(error) or requested > max_delay or (budget is not None and not budget.take()):
                raise
            backoff = compute_backoff(number, first_delay, max_delay)
        # Half of the delay is random, so that streams that failed together do not retry together.
        await sleep(max(requested, backoff * (0.5 + random_value() / 2)))
    return await attempt()


class RetryBudget:
    """Retries of one piece of work, such as a step: whatever is tried again in it takes from the same number.

    A part, such as a step within a loop, has a budget of the same size. It is kept while the whole is tried again,
    so that retries of the whole and of a part do not multiply.
    """

    def __init__(self, retries: int) -> None:
        self.retries = self.left = retries
        self.has_failed = False
        self.parts: dict[str, RetryBudget] = {}

    def take(self) -> bool:
        """Use one retry; False if none is left."""
        if self.left <= 0:
            return False
        self.left -= 1
        return True

    def enter_part(self, key: str) -> RetryBudget:
        """Return the budget of a part. Entering it again is one of its retries."""
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = RetryBudget(self.retries)
        else:
            part.take()
        return part

    @property
    def is_spent(self) -> bool:
        """Whether a part has failed with all its retries, so that the whole cannot succeed."""
        return any(part.has_failed and (part.left <= 0 or part.is_spent) for part in self.parts.values())


_RETRY_BUDGET: ContextVar[RetryBudget | None] = ContextVar("retry budget", default=None)


def current_retry_budget() -> RetryBudget | None:
    return _RETRY_BUDGET.get()


async def with_retry_budget(stream: AsyncIterator[T], budget: RetryBudget | None) -> AsyncIterator[T]:
    """Yield the items of a stream; retries inside it are taken from the budget."""
    async with closing(stream):
        while True:
            # Set for one item at a time: between two items the consumer's own code runs.
            token = _RETRY_BUDGET.set(budget)
            try:
                item = await anext(stream)
            except StopAsyncIteration:
                return
            finally:
                _RETRY_BUDGET.reset(token)
            yield item


def compute_backoff(failures: int, first_delay: float, max_delay: float) -> float:
    """Return the delay after so many failures: it doubles from `first_delay` up to `max_delay`."""
    return min(max_delay, first_delay * 2.0 ** min(failures - 1, 64))


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of Retry-After-Ms or Retry-After (number or date), or None; names are lower case."""
    if _NUMBER.fullmatch(millis := headers.get("retry-after-ms", "").strip()):
        return min(float(millis) / 1000, MAX_RETRY_AFTER)
    if _NUMBER.fullmatch(value := headers.get("retry-after", "").strip()):
        return min(float(value), MAX_RETRY_AFTER)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), MAX_RETRY_AFTER)
