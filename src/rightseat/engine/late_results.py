"""Results of calls that the store failed to keep: they are kept when it works again, and the answer goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from rightseat.errors import StoreFailed
from rightseat.http.retry import compute_backoff

log = logging.getLogger(__name__)
RETRY_SECONDS = (0.5, 5.0)
MAX_ATTEMPTS = 240
"""About twenty minutes."""
MAX_WAITING = 1000
"""Answers whose results wait at once; those of further ones are not kept."""
_waiting: set[asyncio.Task[None]] = set()


def get_waiting() -> int:
    """Return how many answers have results that wait for the store."""
    return len(_waiting)


def save_later(save: Callable[[], Awaitable[None]]) -> None:
    """Call `save` until the store works again, without holding the answer."""
    if len(_waiting) >= MAX_WAITING:
        log.warning("results of calls are not kept: the store failed, and too many wait for it")
        return
    log.warning("results of calls wait to be kept: the store failed")
    task = asyncio.create_task(_repeat(save))
    _waiting.add(task)
    task.add_done_callback(_waiting.discard)


async def _repeat(save: Callable[[], Awaitable[None]]) -> None:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        await asyncio.sleep(compute_backoff(attempt, *RETRY_SECONDS))
        try:
            await save()
            return
        except StoreFailed:
            continue
    log.error("results of calls are not kept: the store failed for too long")
