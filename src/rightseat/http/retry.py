"""The one way in which anything here is tried again."""

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
LONGEST_WAIT = 86_400.0
_NUMBER = re.compile(r"\d{1,9}(\.\d+)?")


async def retrying(
    attempt: Callable[[], Awaitable[T]],
    *,
    again: Callable[[RightseatError], bool],
    tries: int = 3,
    first: float = 0.25,
    ceiling: float = 2.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """Calls `attempt` until it succeeds, at most `tries` times; `again` says which errors are worth it.

    The wait doubles from `first` up to `ceiling` seconds, with jitter. An error that asks for a longer wait
    than `ceiling` (retry_after) is given up at once: whoever asked should know, rather than hang.
    """
    for number in range(1, tries):
        try:
            return await attempt()
        except RightseatError as error:
            asked = error.retry_after or 0.0
            if not again(error) or asked > ceiling:
                raise
            backoff = min(ceiling, first * 2 ** (number - 1))
        # Half of the wait is chance, so that many streams that failed together do not come back together.
        await sleep(max(asked, backoff * (0.5 + chance() / 2)))
    return await attempt()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from a header (its name in lower case) in milliseconds, in seconds or as a date."""
    if _NUMBER.fullmatch(millis := headers.get("retry-after-ms", "").strip()):
        return min(float(millis) / 1000, LONGEST_WAIT)
    if _NUMBER.fullmatch(value := headers.get("retry-after", "").strip()):
        return min(float(value), LONGEST_WAIT)
    try:
        # A date is on the wall clock, here and there.
        seconds = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), LONGEST_WAIT)
