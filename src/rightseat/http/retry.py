"""Retries with backoff, and the Retry-After header."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

from rightseat.errors import RightseatError

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
    exceeds `max_delay` is raised at once: the caller should know rather than hang.
    """
    for number in range(1, tries):
        try:
            return await attempt()
        except RightseatError as error:
            requested = error.retry_after or 0.0
            if not is_retryable(error) or requested > max_delay:
                raise
            backoff = compute_backoff(number, first_delay, max_delay)
        # Half of the delay is random, so that streams that failed together do not retry together.
        await sleep(max(requested, backoff * (0.5 + random_value() / 2)))
    return await attempt()


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
