"""Runs on threads that several workers share: each is in one worker, and any other follows, stops or deletes it.

The store says who has a thread (LeaseHolder) and has every entry. A run elsewhere is followed by number in the store,
as the live plane tells of new entries. Whoever notices first that a worker is dead goes on with those of its runs that
can go on, and ends the others.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Collection

from msgspec.structs import replace

from rightseat.errors import StoreFailed
from rightseat.runtime.runs import new_id
from rightseat.runtime.takeover import ResumeRecords, StoredPart
from rightseat.runtime.threads import ActiveRun, RunLimits, ThreadRuns
from rightseat.types.agents import Responder
from rightseat.types.events import Event
from rightseat.types.live import POLL_SECONDS, READ_RUN, STOP_REFUSED, STOP_RUN, ControlMessage, LivePlane, Presence
from rightseat.types.stores import CheckpointStore
from rightseat.types.streams import closing
from rightseat.types.threads import (
    Lease,
    LeaseHolder,
    NumberedEntry,
    OrphanedRun,
    ThreadBusy,
    ThreadEntry,
    ThreadStore,
    is_run_end,
)
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
SWEEP_SECONDS = 1.0
START_ATTEMPTS = 3
"""Attempts to begin a run on a thread whose worker turns out to be dead: others may be quicker to take it over."""
STOP_SECONDS = 5.0
"""Longest wait for the end of a run that another worker was asked to stop."""
READ_SECONDS = 60.0
"""Time after which a worker is told again that its run has a reader here."""


class StopRequest:
    """Run elsewhere that a client here has stopped."""

    def __init__(self, owner: Owner, thread: str, run: str) -> None:
        self.owner = owner
        self.thread = thread
        self.run = run
        self.is_refused = False


class SharedRun(ActiveRun):
    """Active run whose stored entries other workers are told of."""

    plane: LivePlane

    def append(self, entry: ThreadEntry) -> None:
        super().append(entry)
        if not self.held:
            self.plane.notify(self.owner, self.thread)

    def on_stored(self, stored: asyncio.Future[None]) -> None:
        super().on_stored(stored)
        self.plane.notify(self.owner, self.thread)


class SharedThreadRuns(ThreadRuns):
    """Active runs of this worker by thread, and those of other workers as the store has them."""

    plane: LivePlane

    def __init__(
        self, store: ThreadStore, limits: RunLimits = RunLimits(), *, plane: LivePlane, presence: Presence
    ) -> None:
        super().__init__(store, limits)
        self.plane = plane
        self.presence = presence
        self.records = ResumeRecords(store) if isinstance(store, CheckpointStore) else None
        self.dead_workers_lock = asyncio.Lock()
        """Held by the task that takes over or ends runs of dead workers."""
        self.context = contextvars.copy_context()
        """Context of runs that are taken over: not that of a request which happens to find a worker dead."""
        self.poll_seconds = POLL_SECONDS
        self.sweeper: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[bool]] = set()
        """Answers to messages of other workers."""
        self.stop_requests: list[StopRequest] = []
        plane.handle(STOP_RUN, self.on_stop_message)
        plane.handle(STOP_REFUSED, self.on_refusal)
        plane.handle(READ_RUN, self.on_reader_message)

    async def open(self) -> None:
        await self.plane.open()
        if self.sweeper is None:
            self.sweeper = asyncio.create_task(self.sweep())

    async def close(self) -> None:
        if self.sweeper is not None:
            self.sweeper.cancel()
            await asyncio.wait([self.sweeper])
        await super().close()
        await self.plane.close()

    def make_run(self, turn: Turn) -> ActiveRun:
        run = SharedRun(turn, self.store, self.limits.ring_size)
        run.plane = self.plane
        return run

    # Start

    async def start(self, turn: Turn, respond: Responder) -> AsyncIterator[NumberedEntry]:
        # Named here: a second attempt is the same run.
        turn = replace(turn, thread=turn.thread or new_id(), run=turn.run or new_id())
        for attempt in range(START_ATTEMPTS):
            try:
                return await super().start(turn, respond)
            except ThreadBusy as busy:
                holder = busy.holder
                if attempt + 1 == START_ATTEMPTS:
                    raise
                if holder.worker == self.store.worker:
                    if holder.run != turn.run:
                        raise
                    # It was taken over meanwhile: the next attempt joins it.
                    continue
                if not await self.settle_dead_workers({holder.worker}):
                    if holder.run != turn.run:
                        raise
                    return self.stream_elsewhere(turn.owner, turn.thread, holder.before, holder)
        raise AssertionError("the last attempt returns or raises")

    # Follow

    def follow(self, owner: Owner, thread: str, after: int = 0) -> AsyncIterator[NumberedEntry]:
        active = self.active_runs.get((owner.name, thread))
        if active is not None and active.is_begun:
            return self.subscribe(active, after)
        return self.follow_anywhere(owner, thread, after)

    async def follow_anywhere(self, owner: Owner, thread: str, after: int) -> AsyncGenerator[NumberedEntry, None]:
        """Stream a thread's entries after a number, and those of the run that has it, wherever it is."""
        active = self.active_runs.get((owner.name, thread))
        if active is not None:
            # It may turn out that another worker has the thread.
            await active.started.wait()
        if active is not None and active.is_begun:
            items = self.subscribe(active, after)
        else:
            items = self.stream_elsewhere(owner, thread, after, await self.store.get_lease_holder(owner, thread))
        async with closing(items):
            async for item in items:
                yield item

    async def stream_elsewhere(
        self, owner: Owner, thread: str, after: int, holder: LeaseHolder | None
    ) -> AsyncGenerator[NumberedEntry, None]:
        """Stream what the store has after a number, and what it gets up to the end of the holder's run."""
        is_over = holder is None
        tell_after = 0.0
        with self.plane.watch(owner, thread) as watch:
            while True:
                before = after
                async with closing(self.replay(owner, thread, after)) as items:
                    async for item in items:
                        after = item[0]
                        yield item
                        if holder is not None and after > holder.before and is_run_end(item[1]):
                            return
                if is_over or holder is None:
                    return
                if after == before:
                    current = await self.store.get_lease_holder(owner, thread)
                    if current is None or current.run != holder.run:
                        # Its last entries may have come after the look.
                        is_over = True
                        continue
                    holder = current
                now = asyncio.get_running_loop().time()
                if now >= tell_after:
                    tell_after = now + min(READ_SECONDS, self.limits.orphan_seconds / 3)
                    await self.plane.send(holder.worker, ControlMessage(READ_RUN, owner.name, thread, holder.run))
                await watch.wait(self.poll_seconds)

    def on_reader_message(self, message: ControlMessage) -> None:
        """Keep a run that is read elsewhere from being stopped as one without readers."""
        active = self.active_runs.get((message.owner, message.thread))
        if active is not None and active.run == message.run:
            self.update_orphan_timer(active)

    # Stop

    async def stop(self, owner: Owner, thread: str) -> bool:
        if await super().stop(owner, thread):
            return True
        holder = await self.store.get_lease_holder(owner, thread)
        if holder is None or holder.worker == self.store.worker:
            return False
        request = StopRequest(owner, thread, holder.run)
        self.stop_requests.append(request)
        try:
            return await self.stop_elsewhere(request, holder)
        finally:
            self.stop_requests.remove(request)

    async def stop_elsewhere(self, request: StopRequest, holder: LeaseHolder) -> bool:
        """Ask a worker to stop its run, and wait for the run's end in the store."""
        clock = asyncio.get_running_loop().time
        owner, thread = request.owner, request.thread
        deadline, send_after = clock() + STOP_SECONDS, 0.0
        with self.plane.watch(owner, thread) as watch:
            while clock() < deadline:
                if clock() >= send_after:
                    # Again each time: a message may be lost, and a worker may die before it has read it.
                    send_after = clock() + self.poll_seconds
                    if await self.end_run_of_dead(request, holder):
                        return True
                    await self.plane.send(holder.worker, ControlMessage(STOP_RUN, owner.name, thread, request.run))
                await watch.wait(self.poll_seconds)
                current = await self.store.get_lease_holder(owner, thread)
                if current is None or current.run != request.run:
                    return True
                if request.is_refused:
                    return False
                holder = current
        log.warning("another worker has not stopped a run within %g seconds", STOP_SECONDS)
        return True

    async def delete(self, owner: Owner, thread: str) -> bool:
        """Delete a thread after the end of its run. Raise ThreadBusy if the run does not end: its worker would go on
        writing to the thread."""
        if await self.stop(owner, thread) and (holder := await self.store.get_lease_holder(owner, thread)):
            raise ThreadBusy(holder)
        return await self.store.delete_thread(owner, thread)

    def on_stop_message(self, message: ControlMessage) -> None:
        active = self.active_runs.get((message.owner, message.thread))
        is_here = active is not None and active.run == message.run
        answer = replace(message, kind=STOP_REFUSED)
        # A run whose client is connected to it directly ends with that client only.
        job = self.stop_run(active) if active is not None and is_here else self.plane.send(message.sender, answer)
        task = asyncio.create_task(job)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def on_refusal(self, message: ControlMessage) -> None:
        for request in self.stop_requests:
            if (request.owner.name, request.thread, request.run) == (message.owner, message.thread, message.run):
                request.is_refused = True

    # Dead workers

    async def sweep(self) -> None:
        """Go on with the runs of dead workers, or end them, every second."""
        while True:
            # Spread: workers that were started together should not look together.
            await asyncio.sleep(SWEEP_SECONDS * random.uniform(0.5, 1.5))
            # A task of its own: whatever fails in it, the next one looks again.
            task = asyncio.create_task(self.sweep_once())
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("runs of dead workers could not be ended", exc_info=error)

    async def sweep_once(self) -> None:
        try:
            await self.settle_dead_workers(await self.store.list_lease_workers())
        except StoreFailed:
            log.warning("runs of dead workers cannot be looked for: the store failed")

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        others = set(workers) - {self.store.worker}
        return await self.presence.find_dead(others) if others else set()

    async def settle_dead_workers(self, workers: Collection[str]) -> bool:
        """Go on with the runs of those workers that are dead, or end them; return whether there are any. A worker that
        leaves does neither: another one will."""
        if self.is_leaving or not await self.find_dead(workers):
            return False
        async with self.dead_workers_lock:
            dead = await self.find_dead(workers)
            resumable = [run for run in await self.store.list_orphaned_runs(dead) if await self.take_over(run)]
            await self.end_orphaned_runs(dead, resumable)
        return True

    async def end_orphaned_runs(self, dead: Collection[str], keep: Collection[OrphanedRun]) -> None:
        for run in await self.store.end_orphaned_runs(dead, keep):
            log.warning("a run of a worker that has ended was ended as restarted")
            self.plane.notify(run.owner, run.thread)

    async def end_run_of_dead(self, request: StopRequest, holder: LeaseHolder) -> bool:
        """End the run that a client has stopped, if its worker is dead; return whether it is."""
        dead = await self.find_dead({holder.worker})
        if not dead:
            return False
        stopped = OrphanedRun(request.owner, request.thread, request.run)
        async with self.dead_workers_lock:
            others = [run for run in await self.store.list_orphaned_runs(dead) if run != stopped]
            await self.end_orphaned_runs(dead, others)
            current = await self.store.get_lease_holder(request.owner, request.thread)
        return current is None or current.run != request.run

    # Take-over

    async def take_over(self, run: OrphanedRun) -> bool:
        """Go on with the run of a dead worker, unless another worker is faster; return whether it can go on."""
        loaded = await self.records.load(run) if self.records is not None else None
        if self.records is None or self.get_runner is None or loaded is None:
            return False
        record, body = loaded
        runner = self.get_runner(record.turn)
        if runner is None:
            return False
        holder = await self.store.get_lease_holder(run.owner, run.thread)
        if holder is None or holder.run != run.run or not await self.find_dead({holder.worker}):
            return True
        if not await self.records.count_take_over(run, record, body):
            return True
        lease = await self.store.take_over_run(run.owner, run.thread, holder)
        if lease is not None:
            log.warning("a run of a worker that has ended goes on here")
            self.resume(record.turn, runner, lease)
        return True

    def resume(self, turn: Turn, runner: Responder, lease: Lease) -> None:
        """Go on with a run whose thread this worker has taken over."""

        async def go_on(turn: Turn) -> AsyncIterator[Event]:
            part = StoredPart(await self.read_run_part(turn, lease))
            if not part.has_input:
                self.append_user_input(turn, active)
            async with closing(part.go_on(runner, turn)) as events:
                async for event in events:
                    yield event

        active = self.active_runs[turn.owner.name, turn.thread] = self.make_run(turn)
        active.lease = lease
        active.task = asyncio.create_task(self.record_run(turn, active, go_on), context=self.context.copy())
        self.update_orphan_timer(active)

    async def read_run_part(self, turn: Turn, lease: Lease) -> list[ThreadEntry]:
        """Return the entries of a run that its earlier workers have stored."""
        items = self.replay(turn.owner, turn.thread, lease.before, lease.last)
        return [entry async for _, entry in items]

    async def begin_run(self, turn: Turn, active: ActiveRun) -> None:
        await super().begin_run(turn, active)
        can_go_on = active.is_stored and self.get_runner is not None and self.get_runner(turn) is not None
        if can_go_on and active.lease is None and self.records is not None:
            active.is_recorded = await self.records.save(turn)

    async def record_run(self, turn: Turn, active: ActiveRun, respond: Responder) -> None:
        await super().record_run(turn, active, respond)
        is_recorded = active.is_recorded or active.lease is not None
        if is_recorded and not active.is_lost and self.records is not None:
            await self.records.delete(turn)
