"""Runs on threads that several workers share: each is in one worker, and any other follows, stops or deletes it.

The store says who has a thread (LeaseHolder) and has every entry. A run elsewhere is followed by number in the store,
as the live plane tells of new entries. Whoever notices first that a worker is dead goes on with those of its runs that
can go on, and ends the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Coroutine
from typing import Any, Literal

from msgspec.structs import replace

from rightseat.errors import StoreDamaged, StoreFailed
from rightseat.runtime.runs import new_id
from rightseat.runtime.takeover import ResumeRecords, StoredCheckpoints, StoredPart, encode_record
from rightseat.runtime.threads import ActiveRun, RunLimits, ThreadRuns, describe_run
from rightseat.runtime.worker_log import WorkerLog
from rightseat.types.agents import Responder
from rightseat.types.checkpoints import CURRENT_CHECKPOINTS
from rightseat.types.events import CallResult, CallStart, Event, StepEnd, StepStart
from rightseat.types.fencing import RunLease, current_lease
from rightseat.types.live import (
    PING,
    POLL_SECONDS,
    PONG,
    READ_RUN,
    STOP_REFUSED,
    STOP_RUN,
    WORKER_LEFT,
    ControlMessage,
    LeavingPresence,
    LivePlane,
    Presence,
)
from rightseat.types.stores import CheckpointStore
from rightseat.types.streams import closing
from rightseat.types.threads import (
    RUN_RESTARTED,
    Lease,
    LeaseHolder,
    LeaseWatch,
    NumberedEntry,
    OrphanedRun,
    RecordedLeases,
    StopPending,
    StopRecords,
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
LEAVE_SECONDS = 1.0
"""Longest wait for a run that is left to another worker: what it calls may be slow to end."""
READ_SECONDS = 10.0
"""Time after which a worker is told again that its run has a reader here."""
FOLLOWED_SECONDS = 3 * READ_SECONDS
"""Time for which a worker tells of each token after it was told of a reader elsewhere."""


class StopRequest:
    """Run elsewhere that a client here has stopped."""

    def __init__(self, owner: Owner, thread: str, run: str) -> None:
        self.owner = owner
        self.thread = thread
        self.run = run
        self.is_refused = False
        self.is_kept = False
        """Whether the store has the request: the run's worker finds it there if no message comes."""


class SharedRun(ActiveRun):
    """Active run whose stored entries other workers are told of: deltas while one of them follows, all others always.
    A follower that this worker has not heard of yet reads deltas once a second."""

    plane: LivePlane
    worker_log: WorkerLog

    def stop_lost(self) -> None:
        if not self.is_lost:
            self.worker_log.note_lost(self.thread, self.run)
        super().stop_lost()

    def tell(self, number: int) -> None:
        if self.told < self.news <= number or self.is_lost or self.is_followed:
            self.told = number
            self.plane.notify(self.owner, self.thread)

    @property
    def is_followed(self) -> bool:
        """Whether another worker has a reader of this run."""
        return self.followed_until > 0 and asyncio.get_running_loop().time() < self.followed_until

    def follow_elsewhere(self) -> None:
        """Note a reader of another worker, and tell it what it has not been told."""
        is_new = not self.is_followed
        self.followed_until = asyncio.get_running_loop().time() + FOLLOWED_SECONDS
        if is_new:
            self.plane.notify(self.owner, self.thread)


class SharedThreadRuns(ThreadRuns):
    """Active runs of this worker by thread, and those of other workers as the store has them."""

    plane: LivePlane

    def __init__(
        self,
        store: ThreadStore,
        limits: RunLimits = RunLimits(),
        *,
        plane: LivePlane,
        presence: Presence,
        after_crash: Literal["resume", "end"] = "resume",
    ) -> None:
        super().__init__(store, limits)
        self.plane = plane
        self.worker_log = WorkerLog(log)
        self.presence = presence
        self.stop_records = store if isinstance(store, StopRecords) else None
        goes_on = after_crash == "resume" and isinstance(store, CheckpointStore)
        self.records = ResumeRecords(store) if goes_on and isinstance(store, CheckpointStore) else None
        self.recorded_leases = store if goes_on and isinstance(store, RecordedLeases) else None
        self.dead_workers_lock = asyncio.Lock()
        """Held by the task that takes over or ends runs of dead workers."""
        self.context = contextvars.copy_context()
        """Context of runs that are taken over: not that of a request which happens to find a worker dead."""
        self.poll_seconds = POLL_SECONDS
        self.sweeper: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[bool]] = set()
        """Answers to messages of other workers."""
        self.stop_requests: list[StopRequest] = []
        self.is_handing_over = False
        """Whether runs that can go on elsewhere are left to other workers, each at the end of its step."""
        self.handed_over = 0
        """Runs that this worker, which is about to end, has left to others."""
        self.lease_watch = store if isinstance(store, LeaseWatch) else None
        if self.lease_watch is not None:
            self.lease_watch.lost_listeners.append(self.on_lease_lost)
        plane.handle(STOP_RUN, self.on_stop_message)
        plane.handle(STOP_REFUSED, self.on_refusal)
        plane.handle(READ_RUN, self.on_reader_message)
        plane.handle(PING, self.on_ping)
        plane.handle(WORKER_LEFT, self.on_worker_left)

    async def open(self) -> None:
        await self.plane.open()
        if self.sweeper is None:
            self.sweeper = asyncio.create_task(self.sweep())

    async def close(self) -> None:
        if self.sweeper is not None:
            self.sweeper.cancel()
            await asyncio.wait([self.sweeper])
        if self.lease_watch is not None and self.on_lease_lost in self.lease_watch.lost_listeners:
            self.lease_watch.lost_listeners.remove(self.on_lease_lost)
        await super().close()
        self.worker_log.say_lost()
        await self.plane.close()

    def on_lease_lost(self, owner: str, thread: str, fence: int) -> None:
        """Stop a run that went on here while the store was away, and that another worker has by now."""
        active = self.active_runs.get((owner, thread))
        if active is not None and active.fence == fence and not active.is_lost:
            active.stop_lost()

    def make_run(self, turn: Turn) -> SharedRun:
        run = SharedRun(turn, self.store, self.limits.ring_size)
        run.plane, run.worker_log = self.plane, self.worker_log
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
        """Stream what the store has after a number, and what it gets up to the end of the holder's run. While the store
        is away the stream waits."""
        is_over = holder is None
        is_told = True
        is_reading = False
        tell_after = 0.0
        with self.plane.watch(owner, thread) as watch:
            while True:
                before = after
                try:
                    async with closing(self.replay(owner, thread, after)) as items:
                        async for item in items:
                            after, is_reading = item[0], True
                            yield item
                            if holder is not None and after > holder.before and is_run_end(item[1]):
                                return
                    if is_over or holder is None:
                        return
                    is_reading = True
                    if after == before or not is_told:
                        current = await self.store.get_lease_holder(owner, thread)
                        if current is None or current.run != holder.run:
                            # Its last entries may have come after the look.
                            is_over = True
                            continue
                        holder = current
                except StoreFailed as error:
                    # At the beginning the reader is told so: another process may reach the store.
                    if not is_reading or isinstance(error, StoreDamaged) or holder is None:
                        raise
                    await watch.wait(self.poll_seconds)
                    continue
                now = asyncio.get_running_loop().time()
                # Entries without a word of them: its worker may not know of this reader, or is another one by now.
                if now >= tell_after or (after != before and not is_told):
                    tell_after = now + min(READ_SECONDS, self.limits.orphan_seconds / 3)
                    await self.plane.send(holder.worker, ControlMessage(READ_RUN, owner.name, thread, holder.run))
                is_told = await watch.wait(self.poll_seconds)

    async def stream_lost(self, active: ActiveRun, after: int) -> AsyncGenerator[NumberedEntry, None]:
        holder = await self.store.get_lease_holder(active.owner, active.thread)
        if holder is None or holder.run != active.run:
            items = super().stream_lost(active, after)
        else:
            items = self.stream_elsewhere(active.owner, active.thread, after, holder)
        async with closing(items):
            async for item in items:
                yield item

    def on_reader_message(self, message: ControlMessage) -> None:
        """Tell other workers of each token of a run that is read there, and do not stop it as one without readers."""
        active = self.active_runs.get((message.owner, message.thread))
        if active is not None and active.run == message.run:
            self.update_orphan_timer(active)
            if isinstance(active, SharedRun):
                active.follow_elsewhere()

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
        if self.stop_records is not None:
            request.is_kept = await self.stop_records.request_stop(owner, thread, request.run)
        is_sent = False
        deadline, send_after = clock() + STOP_SECONDS, 0.0
        with self.plane.watch(owner, thread) as watch:
            while clock() < deadline:
                if clock() >= send_after:
                    # Again each time: a message may be lost, and a worker may die before it has read it.
                    send_after = clock() + self.poll_seconds
                    if await self.end_run_of_dead(request, holder):
                        return True
                    message = ControlMessage(STOP_RUN, owner.name, thread, request.run)
                    is_sent = await self.plane.send(holder.worker, message) or is_sent
                await watch.wait(self.poll_seconds)
                current = await self.store.get_lease_holder(owner, thread)
                if current is None or current.run != request.run:
                    return True
                if request.is_refused:
                    return False
                holder = current
        log.warning("another worker has not stopped a run within %g seconds", STOP_SECONDS)
        raise StopPending(request.is_kept or is_sent)

    async def delete(self, owner: Owner, thread: str) -> bool:
        """Delete a thread after the end of its run. Raise ThreadBusy if the run does not end: its worker would go on
        writing to the thread."""
        with contextlib.suppress(StopPending):
            if not await self.stop(owner, thread):
                return await self.store.delete_thread(owner, thread)
        if holder := await self.store.get_lease_holder(owner, thread):
            raise ThreadBusy(holder)
        return await self.store.delete_thread(owner, thread)

    def on_stop_message(self, message: ControlMessage) -> None:
        active = self.active_runs.get((message.owner, message.thread))
        is_here = active is not None and active.run == message.run
        answer = replace(message, kind=STOP_REFUSED)
        # A run whose client is connected to it directly ends with that client only.
        self.start_answer(
            self.stop_run(active) if active is not None and is_here else self.plane.send(message.sender, answer)
        )

    def on_ping(self, message: ControlMessage) -> None:
        answer = ControlMessage(PONG, run=message.run, body={"config": self.config_digest})
        self.start_answer(self.plane.send(message.sender, answer))

    def start_answer(self, job: Coroutine[Any, Any, bool]) -> None:
        task = asyncio.create_task(job)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def stop_requested_runs(self) -> None:
        """Stop the runs of this worker whose stop is in the store: no message may have told of it."""
        for request in await self.stop_records.list_stop_requests() if self.stop_records is not None else ():
            active = self.active_runs.get((request.owner.name, request.thread))
            if active is not None and active.run == request.run:
                self.start_answer(self.stop_run(active))

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
            await self.stop_requested_runs()
            await self.settle_dead_workers(await self.store.list_lease_workers())
        except StoreFailed:
            self.worker_log.note_sweep(has_failed=True)
        else:
            self.worker_log.note_sweep(has_failed=False)

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
            self.worker_log.say_of_run(run.thread, run.run, "a run of a worker that has ended was ended as restarted")
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
            self.worker_log.say_of_run(run.thread, run.run, "a run of a worker that has ended is taken over here")
            self.resume(replace(record.turn, take_overs=record.take_overs + 1), runner, lease)
        return True

    def resume(self, turn: Turn, runner: Responder, lease: Lease) -> None:
        """Go on with a run whose thread this worker has taken over."""

        async def go_on(turn: Turn) -> AsyncIterator[Event]:
            part = StoredPart(await self.read_run_part(turn, lease))
            if not part.has_input:
                self.append_user_input(turn, active)
            checkpoints = active.checkpoints
            is_readable = checkpoints is None or await checkpoints.take_over(turn.take_overs, part.logged)
            last_events = await part.list_pause_events(self.store, turn.owner) if is_readable else [RUN_RESTARTED]
            if last_events:
                for event in (*part.end_events(), *last_events):
                    self.note_outcome(turn, event)
                    yield event
                return
            async with closing(part.go_on(runner, turn)) as events:
                async for event in events:
                    self.note_outcome(turn, event)
                    yield event

        turn = replace(turn, has_displaced_worker=True)
        active = self.active_runs[turn.owner.name, turn.thread] = self.make_run(turn)
        # Its readers have told the worker before.
        active.follow_elsewhere()
        active.lease = lease
        active.task = asyncio.create_task(self.record_run(turn, active, go_on), context=self.context.copy())
        self.update_orphan_timer(active)

    def note_outcome(self, turn: Turn, event: Event) -> None:
        """Say of a run that was taken over that it cannot go on."""
        if event == RUN_RESTARTED:
            text = "a run that was taken over cannot go on, and was ended as restarted"
            self.worker_log.say_of_run(turn.thread, turn.run, text)

    async def read_run_part(self, turn: Turn, lease: Lease) -> list[ThreadEntry]:
        """Return the entries of a run that its earlier workers have stored."""
        items = self.replay(turn.owner, turn.thread, lease.before, lease.last)
        return [entry async for _, entry in items]

    def can_go_on(self, turn: Turn) -> bool:
        return self.get_runner is not None and self.get_runner(turn) is not None

    async def lease_thread(self, turn: Turn, active: ActiveRun) -> Lease:
        """Lease the thread, with the run's record where the store writes both in one operation."""
        store = self.recorded_leases
        record = await encode_record(turn) if store is not None and self.can_go_on(turn) else None
        if store is None or record is None:
            return await super().lease_thread(turn, active)
        lease = await store.begin_recorded_run(
            turn.owner, turn.thread, turn.run, **await describe_run(turn), record=record
        )
        active.recording, active.has_recorded_lease = active.create_future(), True
        active.recording.set_result(True)
        return lease

    async def begin_run(self, turn: Turn, active: ActiveRun) -> None:
        await super().begin_run(turn, active)
        if active.is_stored:
            current_lease.set(RunLease(active.owner, active.thread, active.fence))
        if not active.is_stored or self.records is None or not self.can_go_on(turn):
            return
        if active.lease is None and active.recording is None:
            # Beside the run: the first token does not wait for it.
            active.recording = asyncio.create_task(self.records.save(turn))
        active.checkpoints = StoredCheckpoints(self.records.store, turn, active.recording)
        CURRENT_CHECKPOINTS.set(active.checkpoints)

    async def settle_progress(self, turn: Turn, active: ActiveRun) -> None:
        recording = active.recording
        is_recorded = active.lease is not None or (recording is not None and await asyncio.shield(recording))
        if not is_recorded or active.is_lost or self.records is None:
            return
        if active.is_handed_over:
            active.lose()
            await self.records.hand_over(turn)
        else:
            await self.records.delete(turn, active.checkpoints, with_record=not active.has_recorded_lease)

    # Hand-over

    def can_hand_over(self, active: ActiveRun) -> bool:
        """Whether another worker can go on with a run from what is stored of it."""
        recording = active.recording
        is_recorded = active.lease is not None or (
            recording is not None and recording.done() and not recording.cancelled() and recording.result()
        )
        return is_recorded and active.is_begun and active.is_stored and not (active.is_lost or active.ended)

    def check_leaving(self, active: ActiveRun, event: Event) -> None:
        if not self.is_handing_over or type(event) is not StepEnd or not self.can_hand_over(active):
            return
        # Not inside another step.
        kinds = Counter(map(type, active.ring))
        is_in_call = kinds[CallStart] > kinds[CallResult]
        if kinds[StepStart] - kinds[StepEnd] == 1 and not is_in_call:
            active.append(event)
            active.is_handed_over = True
            raise asyncio.CancelledError

    async def hand_over(self, seconds: float) -> None:
        """Leave runs to other workers: each at the end of its step, and after some seconds wherever it is."""
        self.is_handing_over = True
        begins = [asyncio.ensure_future(active.started.wait()) for active in self.active_runs.values()]
        if begins:
            _, late_begins = await asyncio.wait(begins, timeout=LEAVE_SECONDS)
            for begin in late_begins:
                begin.cancel()
        tasks = {active.task: active for active in self.active_runs.values() if self.can_hand_over(active)}
        if not tasks:
            return
        _, late = await asyncio.wait([task for task in tasks if task is not None], timeout=seconds)
        for task in late:
            if self.can_hand_over(tasks[task]):
                tasks[task].is_handed_over = True
                task.cancel()
        if late:
            await asyncio.wait(late, timeout=LEAVE_SECONDS)
        self.handed_over += sum(active.is_handed_over for active in tasks.values())

    async def leave(self) -> None:
        if self.handed_over:
            log.info("%d runs are handed over to other workers", self.handed_over)
        if isinstance(self.presence, LeavingPresence):
            await self.presence.leave()
            await self.plane.broadcast(ControlMessage(WORKER_LEFT))

    def on_worker_left(self, message: ControlMessage) -> None:
        """Go on at once with what another worker has left."""
        self.start_answer(self.settle_left_worker(message.sender))

    async def settle_left_worker(self, worker: str) -> bool:
        try:
            return await self.settle_dead_workers({worker})
        except StoreFailed:
            # The sweep looks again.
            return False
