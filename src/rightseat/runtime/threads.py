"""Runs that outlive their client: one task writes a thread's log, readers follow it by entry number.

A disconnect cancels nothing; stopping is an explicit call; a run without readers is stopped after a while.
Readers follow an active run in an in-memory ring; older entries come from the ThreadStore.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator

import msgspec
from msgspec import Struct

from rightseat.engine.assembler import Opened
from rightseat.errors import Conflict, RightseatError, StoreFailed
from rightseat.runtime.runtime import new_id
from rightseat.types.events import ReasoningDelta, RunFailed, TextDelta
from rightseat.types.responder import Responder
from rightseat.types.streams import Offered, closing
from rightseat.types.threads import Entry, Journal, Numbered, ends, posted, title
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
Key = tuple[str, str]
STOPPED = RunFailed("stopped", "The answer was stopped.", 499, "caller")
TOO_LONG = RunFailed("too_long", "The answer grew beyond what a thread may hold and was stopped.", 500)
SPOKEN = (TextDelta, ReasoningDelta)
# `ring_start` of a run that has not started.
NOTHING = sys.maxsize
BUSY = "Thread already running. Wait for its answer or stop it."


class Rules(Struct, frozen=True):
    orphan_seconds: float = 300.0
    run_bytes: int = 8 << 20
    ring: int = 4096
    """Entries kept in memory."""


class Reader:
    """Reader of a run: the last `number` it has, and the future that wakes it."""

    __slots__ = ("news", "number", "stream")

    def __init__(self, stream: Offered[Numbered], number: int) -> None:
        self.stream = stream
        self.number = number
        self.news: asyncio.Future[None] | None = None

    def hears(self, number: int, entry: Entry) -> bool:
        """Push a text delta directly to the stream's `on_item`; return False if the reader must be woken.
        Waking a task for each delta would double the cost."""
        taken = self.stream.taken
        if taken is None or type(entry) is not TextDelta or not taken((number, entry)):
            return False
        self.number = number
        return True

    def wake(self) -> None:
        if self.news is not None and not self.news.done():
            self.news.set_result(None)


class Live:
    """Active run with the newest entries of its thread."""

    def __init__(self, turn: Turn, journal: Journal, ring: int) -> None:
        self.owner = turn.owner
        self.thread = turn.thread
        self.run = turn.run
        self.journal = journal
        self.ring: deque[Entry] = deque(maxlen=ring)
        self.before = self.last = 0
        self.gone = NOTHING
        """The number before the first entry in the ring."""
        self.size = 0
        self.readers = 0
        self.kept = True
        self.over = False
        self.refused: RightseatError | None = None
        self.begun = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.orphan: asyncio.TimerHandle | None = None
        self.waiting: list[Reader] = []
        """Readers that have all entries."""
        self.future = asyncio.get_running_loop().create_future

    def begin(self, before: int) -> None:
        self.before = self.last = self.gone = before
        self.begun.set()

    def append(self, entry: Entry) -> None:
        ring = self.ring
        ring.append(entry)
        self.last = last = self.last + 1
        self.gone = last - len(ring)
        self.size += len(entry.text) + 32 if isinstance(entry, SPOKEN) else 256
        if self.kept:
            self.journal.append(self.owner, self.thread, last, (entry,))
        for reader in tuple(self.waiting):
            if not reader.hears(last, entry):
                self.waiting.remove(reader)
                reader.wake()

    def end(self) -> None:
        self.over = True
        self.begun.set()
        waiting, self.waiting = self.waiting, []
        for reader in waiting:
            reader.wake()

    def after(self, number: int) -> Numbered:
        """Return the ring's next entry after a number; text deltas that a slow reader missed are merged, as
        in the ThreadStore."""
        ring, gone, last = self.ring, self.gone, self.last
        entry = ring[number - gone]
        number += 1
        if type(entry) is not TextDelta or entry.logprobs is not None:
            return number, entry
        texts = [entry.text]
        while number < last:
            more = ring[number - gone]
            if type(more) is not TextDelta or more.id != entry.id or more.logprobs is not None:
                break
            texts.append(more.text)
            number += 1
        return number, TextDelta(entry.id, "".join(texts))


class Detached:
    """Active runs of this process by thread. A thread has at most one run at a time."""

    def __init__(self, journal: Journal, rules: Rules = Rules()) -> None:
        self.journal = journal
        self.rules = rules
        self.live: dict[Key, Live] = {}

    async def start(self, turn: Turn, respond: Responder) -> AsyncIterator[Numbered]:
        """Start a run on its thread and return its entries, from the user input to the end. The same run id
        joins the active run; another one on a busy thread raises Conflict."""
        turn = msgspec.structs.replace(
            turn, thread=turn.thread or new_id(), run=turn.run or new_id(), keep="never"
        )
        key = (turn.owner.name, turn.thread)
        live = self.live.get(key)
        if live is None:
            live = self.live[key] = Live(turn, self.journal, self.rules.ring)
            # A task of its own: the client may disconnect at any time.
            live.task = asyncio.create_task(self.consume(turn, live, respond))
            self.watch(live)
        elif live.run != turn.run:
            raise Conflict(BUSY)
        await live.begun.wait()
        if live.refused is not None:
            raise live.refused
        return self.heard(live, live.before)

    async def consume(self, turn: Turn, live: Live, respond: Responder) -> None:
        opened = Opened()
        cut: RunFailed | None = None
        try:
            await self.begin(turn, live)
            async with closing(respond(turn)) as events:
                async for event in events:
                    if type(event) is not TextDelta:
                        opened.see(event)
                    live.append(event)
                    if live.size > self.rules.run_bytes:
                        cut = TOO_LONG
                        break
        except Conflict as error:
            live.refused = error
        except asyncio.CancelledError:
            # Stopped: the entries so far stay, and open messages are ended.
            cut = STOPPED
        finally:
            if cut is not None and not (live.ring and ends(live.ring[-1])):
                for event in (*opened.ends(), cut):
                    live.append(event)
            live.end()
            del self.live[turn.owner.name, turn.thread]
            self.watch(live)

    async def begin(self, turn: Turn, live: Live) -> None:
        """Lease the thread and append the user input. If the store fails, the run goes on unstored."""
        try:
            before = await self.journal.begin(
                turn.owner, turn.thread, turn.run, assistant=turn.assistant or "", name=title(turn.messages)
            )
        except StoreFailed:
            log.warning("the answer in a thread is not kept: the store failed")
            live.kept = False
            before = 0
        live.begin(before)
        said = posted(turn, new=before == 0)
        if said.messages or said.state:
            live.append(said)

    def follow(self, owner: Owner, thread: str, after: int = 0) -> AsyncIterator[Numbered]:
        """Stream a thread's entries after a number, then those of its active run as they come."""
        live = self.live.get((owner.name, thread))
        return self.told(owner, thread, after) if live is None else self.heard(live, after)

    async def told(self, owner: Owner, thread: str, after: int) -> AsyncIterator[Numbered]:
        """Stream the stored entries after a number."""
        while page := await self.journal.read(owner, thread, after):
            for item in page:
                yield item
            after = page[-1][0]

    def heard(self, live: Live, after: int) -> AsyncIterator[Numbered]:
        """Return a stream of the thread after a number, up to the end of its active run."""
        found = Offered[Numbered]()
        found.stream = self.listen(live, Reader(found, after))
        return found

    async def listen(self, live: Live, reader: Reader) -> AsyncGenerator[Numbered, None]:
        live.readers += 1
        self.watch(live)
        try:
            while True:
                # Inlined: a function or generator of its own would cost time for every token.
                while (number := reader.number) >= live.gone:
                    if number + 1 == live.last:
                        reader.number = number = number + 1
                        yield number, live.ring[-1]
                    elif number < live.last:
                        item = live.after(number)
                        reader.number = item[0]
                        yield item
                    elif live.over:
                        return
                    else:
                        reader.news = news = live.future()
                        live.waiting.append(reader)
                        await news
                page = await self.journal.read(live.owner, live.thread, number)
                for item in page:
                    reader.number = item[0]
                    yield item
                if not page:
                    await live.begun.wait()
                    # Entries that the store failed to keep are lost: continue with the ring.
                    reader.number = max(number, live.gone)
        finally:
            if reader in live.waiting:
                live.waiting.remove(reader)
            live.readers -= 1
            self.watch(live)

    async def earlier(self, owner: Owner, thread: str, number: int) -> list[Entry]:
        """Return the entries of a run up to a number, for the run that this number belongs to."""
        after = await self.journal.opening(owner, thread, number)
        found: list[Entry] = []
        while after < number and (page := await self.journal.read(owner, thread, after, number)):
            found += [entry for _, entry in page]
            after = page[-1][0]
        return found

    async def stop(self, owner: Owner, thread: str) -> bool:
        """Stop the thread's run; return False if none was active."""
        live = self.live.get((owner.name, thread))
        return live is not None and await self.halt(live)

    async def halt(self, live: Live) -> bool:
        # Wait for the lease: otherwise it would never be released.
        await live.begun.wait()
        if live.over or live.task is None:
            return False
        live.task.cancel()
        await asyncio.wait([live.task])
        return True

    async def delete(self, owner: Owner, thread: str) -> bool:
        await self.stop(owner, thread)
        return await self.journal.delete(owner, thread)

    def watch(self, live: Live) -> None:
        """Start or cancel the timer that stops a run without readers."""
        if live.orphan is not None:
            live.orphan.cancel()
            live.orphan = None
        if not live.over and live.readers == 0:
            loop = asyncio.get_running_loop()
            live.orphan = loop.call_later(self.rules.orphan_seconds, self.abandon, live)

    def abandon(self, live: Live) -> None:
        if not live.begun.is_set():
            self.watch(live)
        elif live.task is not None and live.readers == 0:
            live.task.cancel()

    async def close(self) -> None:
        """Stop all active runs."""
        await asyncio.gather(*(self.halt(live) for live in list(self.live.values())))
