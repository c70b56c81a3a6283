"""Runs that outlive their client: one task writes a thread's log, every reader follows it by number.

Leaving cancels nothing; stopping is an explicit call; a run that nobody reads for too long is stopped. The
log is this process's own: a store that keeps threads across restarts writes from it and is read before it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from rightseat.assemble import Opened
from rightseat.errors import Conflict, NotFound
from rightseat.events import Event, ReasoningDelta, RunFailed, TextDelta
from rightseat.runtime import Runtime, new_id
from rightseat.streams import closing
from rightseat.turn import Owner, Turn

Key = tuple[str, str]
STOPPED = RunFailed("stopped", "The answer was stopped.", 499, "caller")
TOO_LONG = RunFailed("too_long", "The answer grew beyond what a thread may hold and was stopped.", 500)


class Rules(Struct, frozen=True):
    orphan_seconds: float = 300.0
    run_bytes: int = 8 << 20
    thread_bytes: int = 16 << 20
    threads: int = 1000


class Log:
    """The events of a thread, numbered from 1 across its runs."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.gone = 0
        """How many of the oldest events are kept no longer."""
        self.run = ""
        self.task: asyncio.Task[None] | None = None
        self.size = 0
        self.runs: list[tuple[int, int]] = []
        """Events and bytes of each earlier run."""
        self.readers = 0
        self.orphan: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()

    @property
    def live(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def last(self) -> int:
        return self.gone + len(self.events)

    def begin(self, run: str, most: int) -> None:
        """Start a run's count. The oldest runs go when the thread is over `most` bytes."""
        if self.run:
            self.runs.append((len(self.events) - sum(events for events, _ in self.runs), self.size))
        while self.runs and sum(size for _, size in self.runs) > most:
            events, _ = self.runs.pop(0)
            del self.events[:events]
            self.gone += events
        self.run, self.size = run, 0

    def append(self, event: Event) -> None:
        self.events.append(event)
        self.size += len(event.text) + 32 if isinstance(event, TextDelta | ReasoningDelta) else 256
        self.wake()

    def wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self, after: int) -> AsyncIterator[tuple[int, Event]]:
        """Events with a number greater than `after`; ends with the run that is live now, if one is."""
        number = after
        while True:
            while number < self.last:
                number = max(number, self.gone) + 1
                yield number, self.events[number - self.gone - 1]
            if not self.live:
                return
            await self._changed.wait()


class Detached:
    """The threads of one process. A thread has at most one run at a time."""

    def __init__(self, runtime: Runtime, rules: Rules = Rules()) -> None:
        self.runtime = runtime
        self.rules = rules
        self.logs: OrderedDict[Key, Log] = OrderedDict()

    def start(self, turn: Turn) -> int:
        """Begin a run on its thread and say which number its events come after. The same run twice is one."""
        turn = msgspec.structs.replace(turn, thread=turn.thread or new_id(), run=turn.run or new_id())
        log = self.logs.setdefault((turn.owner.name, turn.thread), Log())
        self.logs.move_to_end((turn.owner.name, turn.thread))
        if log.live:
            if log.run == turn.run:
                return 0
            raise Conflict("Thread already running. Wait for its answer or stop it.")
        self.tidy()
        log.begin(turn.run, self.rules.thread_bytes)
        before = log.last
        log.task = asyncio.create_task(self.consume(turn, log))
        self.watch(log)
        return before

    async def consume(self, turn: Turn, log: Log) -> None:
        opened = Opened()
        cut: RunFailed | None = None
        try:
            async with closing(self.runtime.run(turn)) as events:
                async for event in events:
                    opened.see(event)
                    log.append(event)
                    if log.size > self.rules.run_bytes:
                        cut = TOO_LONG
                        break
        except asyncio.CancelledError:
            # Stopped: what was said so far stays, closed as it should be.
            cut = STOPPED
        for event in [*opened.ends(), cut] if cut else ():
            log.append(event)
        # The task is live until it returns, so the last readers look once more after that.
        asyncio.get_running_loop().call_soon(log.wake)

    async def follow(self, owner: Owner, thread: str, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        """A thread's events after a number, then those of its live run as they come."""
        log = self.find(owner, thread)
        log.readers += 1
        try:
            async with closing(log.follow(after)) as events:
                async for item in events:
                    yield item
        finally:
            log.readers -= 1
            self.watch(log)

    async def stop(self, owner: Owner, thread: str) -> bool:
        """End the thread's run; false when none was live."""
        log = self.find(owner, thread)
        if log.task is None or log.task.done():
            return False
        log.task.cancel()
        await asyncio.wait([log.task])
        return True

    def find(self, owner: Owner, thread: str) -> Log:
        log = self.logs.get((owner.name, thread))
        if log is None:
            raise NotFound("There is no such thread.")
        return log

    def watch(self, log: Log) -> None:
        """A run that nobody reads is an orphan; after a while it is stopped."""
        if log.orphan is not None:
            log.orphan.cancel()
            log.orphan = None
        if log.live and log.readers == 0:
            loop = asyncio.get_running_loop()
            log.orphan = loop.call_later(self.rules.orphan_seconds, self.abandon, log)

    def abandon(self, log: Log) -> None:
        if log.task is not None and log.readers == 0:
            log.task.cancel()

    def tidy(self) -> None:
        """Forget the threads that were used longest ago; a running one is never forgotten."""
        for key in [key for key, log in self.logs.items() if not log.live]:
            if len(self.logs) <= self.rules.threads:
                return
            del self.logs[key]

    async def close(self) -> None:
        tasks = [log.task for log in self.logs.values() if log.task is not None and not log.task.done()]
        for task in tasks:
            task.cancel()
        for log in self.logs.values():
            if log.orphan is not None:
                log.orphan.cancel()
        if tasks:
            await asyncio.wait(tasks)
