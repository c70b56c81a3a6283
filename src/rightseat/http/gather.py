"""Many answers at once: what arrives for them within a moment is handled by one wake-up.

To wake a process costs far more than a word does: the kernel's part, and caches that have gone cold. While
many answers come in, whoever owns the loop may therefore let it rest, so that the words of several answers
wait for it together. It rests only when nothing is left to do, and never longer than until `seconds` after
the last time: a loop that is busy never rests, and neither does one that little comes to.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

# Fewer answers than this have little to gather, and their readers would wait for nothing.
MANY = 8
# An answer counts once this much has come of it: one that is over at once should not be held up.
STEADY = 4
# How often the loop must come round without news: an event goes through a few tasks before it is written.
ROUNDS = 3


def gather(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """From now on, in this loop. Only for a loop that serves nothing else: all of it rests."""
    _gatherings[loop] = Gathering(seconds)


def gathering(loop: asyncio.AbstractEventLoop) -> Gathering | None:
    return _gatherings.get(loop)


class Gathering:
    """`answers` is how many come in now, and have for a while. It holds no loop: none could end then."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.answers = 0
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._rested = 0.0
        self._rounds = 0

    def heard(self, times: int) -> None:
        """Something has come in of an answer, for the how many-th time."""
        if times == STEADY:
            self.answers += 1
        if self.answers < MANY:
            return
        if not self._rounds:
            asyncio.get_running_loop().call_soon(self._round)
        self._rounds = ROUNDS

    def forget(self, times: int) -> None:
        """An answer is over that was heard so often."""
        if times >= STEADY:
            self.answers -= 1

    def _round(self) -> None:
        self._rounds -= 1
        if self._rounds:
            asyncio.get_running_loop().call_soon(self._round)
            return
        now = self._clock()
        left = self._rested + self._seconds - now
        if left > 0:
            self._sleep(left)
            now += left
        self._rested = now


_gatherings: WeakKeyDictionary[asyncio.AbstractEventLoop, Gathering] = WeakKeyDictionary()
