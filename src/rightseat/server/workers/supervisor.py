"""The supervisor of `rightseat serve --workers N`: it serves no client and opens no store.

A worker that ends is replaced, at once the first time and later each time it ends soon after its start. One whose
beat is silent past the lease is killed and replaced.

SIGTERM, SIGINT   every worker drains; exit 0 when all have ended
second Ctrl-C     kills all; exit 130
SIGHUP            one worker after the other reads its configuration again
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct, json, structs

from rightseat.http.retry import compute_backoff
from rightseat.models.llamacpp.brokered import ENGINES_VARIABLE
from rightseat.server.workers.channel import BEATS_PER_LEASE, NUMBER_VARIABLE, WorkerStart
from rightseat.server.workers.engines import EngineBroker
from rightseat.server.workers.handle import WorkerHandle
from rightseat.server.workers.metric_sums import ANSWER_SECONDS, METRICS_SOCKET, MetricsReply, MetricSums
from rightseat.wiring.storage import RUN_FOLDER_VARIABLE

log = logging.getLogger("rightseat.server")
# A worker that was ready this long and ends is replaced at once.
STEADY_SECONDS = 60.0
FIRST_DELAY, MAX_DELAY = 0.5, 30.0
# From this many ends in a row on, the log says what to do.
MANY_ENDS = 3
# Seconds that an interpreter has for its start, before its first beat.
FIRST_BEAT_SECONDS = 60.0
# Seconds beyond the grace for closing, after which a worker that still runs is killed.
CLOSE_SECONDS = 10.0
# Seconds after which a reload that gives no answer is no longer waited for.
RELOAD_SECONDS = 120.0
INTERRUPTED = 130


class WorkerPlan(Struct, frozen=True):
    """What the supervisor starts. `start` is the message for each worker, but for its number."""

    start: WorkerStart
    run_folder: Path
    grace: float
    inherited: tuple[int, ...] = ()
    """File descriptors for every worker."""

    @property
    def numbers(self) -> range:
        return range(1, self.start.workers + 1)


class Supervisor:
    """Runs the workers of a plan. `on_ready` gets the first worker's card once all answer."""

    def __init__(self, plan: WorkerPlan, on_ready: Callable[[list[tuple[str, str]]], None]) -> None:
        self.plan = plan
        self.on_ready = on_ready
        self.workers: dict[int, WorkerHandle] = {}
        self.sums = MetricSums()
        self.engines = EngineBroker(plan.run_folder)
        self.restarts = 0
        self.started = False
        """Whether all workers have been ready: until then one that fails ends the start."""
        self.stopping = asyncio.Event()
        self.exit_status = 0
        self._scrapes = 0
        self._reload: asyncio.Task[None] | None = None
        self._reload_again = False

    async def run(self) -> int:
        """Run until a signal or a failed start; returns the exit status. No worker runs then."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number)
        loop.add_signal_handler(signal.SIGHUP, self.handle_reload)
        server = await asyncio.start_unix_server(self.serve_metrics, self.plan.run_folder / METRICS_SOCKET)
        async with server:
            watch = asyncio.create_task(self.watch_beats())
            engines = asyncio.create_task(self.engines.run())
            try:
                await self.run_workers()
            finally:
                for task in filter(None, (watch, engines, self._reload)):
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task
        return self.exit_status

    async def run_workers(self) -> None:
        # The first alone: it says what is wrong with a set-up once, and upgrades or repairs the store.
        first, *others = self.plan.numbers
        tasks = [asyncio.create_task(self.keep_worker(first))]
        try:
            await self.wait_ready([first])
            tasks += [asyncio.create_task(self.keep_worker(number)) for number in others if not self.stopping.is_set()]
            await self.wait_ready(self.plan.numbers)
            if not self.stopping.is_set():
                self.started = True
                self.on_ready(self.workers[first].rows)
            await self.stopping.wait()
            await self.end_workers(tasks)
        finally:
            # Also after an error: no worker is replaced any more.
            self.stopping.set()
            for worker in self.workers.values():
                worker.kill()
            await asyncio.gather(*tasks)

    async def wait_ready(self, numbers: Sequence[int]) -> None:
        """Wait until each of the workers has been ready, or the end begins."""
        for number in numbers:
            while not self.stopping.is_set():
                worker = self.workers.get(number)
                if worker is not None and worker.ready.is_set():
                    break
                await self.pause(worker.ready.wait() if worker is not None else asyncio.sleep(0.01))

    async def pause(self, waited: Awaitable[object], seconds: float = 0.1) -> None:
        """Wait for this or for the end, at most so many seconds."""
        tasks = {asyncio.ensure_future(waited), asyncio.ensure_future(self.stopping.wait())}
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()

    async def keep_worker(self, number: int) -> None:
        """Start a worker, and another in its place whenever it ends."""
        ends = 0
        while not self.stopping.is_set():
            lived, what = await self.run_worker(number)
            if self.stopping.is_set():
                return
            ends = 1 if lived >= STEADY_SECONDS else ends + 1
            delay = 0.0 if ends == 1 else compute_backoff(ends - 1, FIRST_DELAY, MAX_DELAY)
            self.report_end(number, what, ends, delay)
            await self.pause(self.stopping.wait(), delay)
            self.restarts += 1

    async def run_worker(self, number: int) -> tuple[float, str]:
        """Run a worker to its end; returns how many seconds it answered, and how it ended."""
        try:
            worker = self.workers[number] = await self.start_worker(number)
        except OSError as error:
            # Memory, processes or descriptors are short.
            if not self.started:
                log.error("No process can be started: %s.", error.strerror)
            self.fail_start(1)
            return 0.0, f"could not be started: {error.strerror}"
        status = await worker.wait()
        self.sums.end_worker(number)
        if worker.ready_since is None:
            self.fail_start(status)
            return 0.0, f"{describe_status(status)} before it was ready"
        return time.monotonic() - worker.ready_since, describe_status(status)

    async def start_worker(self, number: int) -> WorkerHandle:
        plan = self.plan
        environment = {
            **os.environ,
            NUMBER_VARIABLE: str(number),
            RUN_FOLDER_VARIABLE: str(plan.run_folder),
            ENGINES_VARIABLE: str(self.engines.path),
        }
        start = structs.replace(plan.start, number=number)
        worker = await WorkerHandle.spawn(start, environment, plan.inherited, self.sums.keep)
        if self.stopping.is_set():
            # The end began while the process was made.
            worker.send_signal(signal.SIGTERM)
        return worker

    def fail_start(self, status: int) -> None:
        """End the start, if it is not over: a worker has said why it cannot run, unless a signal ended it."""
        if self.started or self.stopping.is_set():
            return
        if status < 0:
            log.error("A worker %s before it was ready. Start again.", describe_status(status))
        self.exit_status = status if status > 0 else 1
        self.stopping.set()

    def report_end(self, number: int, what: str, ends: int, delay: float) -> None:
        if ends < MANY_ENDS:
            log.warning("Worker %d %s; another one takes its place.", number, what)
            return
        log.error(
            "Worker %d ended %d times in a row; the last one %s. The others go on. The lines above say why: mend the "
            "set-up, and the next try, in %g s, succeeds.",
            *(number, ends, what, delay),
        )

    async def end_workers(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Let every worker drain, and kill those that are late."""
        for worker in self.workers.values():
            worker.send_signal(signal.SIGTERM)
        _, late = await asyncio.wait(tasks, timeout=self.plan.grace + CLOSE_SECONDS)
        if late:
            log.error("%d workers did not end in time and are killed.", len(late))

    def handle_exit(self, number: int) -> None:
        if not self.stopping.is_set():
            self.stopping.set()
        elif number == signal.SIGINT:
            # As one process does: at once, whatever still runs.
            for worker in self.workers.values():
                worker.kill()
            self.exit_status = INTERRUPTED

    def handle_reload(self) -> None:
        if self._reload is None or self._reload.done():
            self._reload = asyncio.create_task(self.reload_workers())
        else:
            self._reload_again = True

    async def reload_workers(self) -> None:
        """Let one worker after the other read its configuration again; the first that keeps the old one is the last."""
        while True:
            self._reload_again = False
            for number in self.plan.numbers:
                worker = self.workers.get(number)
                if worker is not None and not await self.reload_worker(worker):
                    break
            if not self._reload_again:
                return

    async def reload_worker(self, worker: WorkerHandle) -> bool:
        """Reload a worker; returns whether the next one may follow. One that ended starts with the new settings."""
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                return await worker.reload() or not worker.running
        except TimeoutError:
            log.error("Worker %d gave no answer to the reload.", worker.number)
            return True

    async def watch_beats(self) -> None:
        """Kill workers whose beat is silent past the lease: `keep_worker` replaces them."""
        lease = self.plan.start.lease_seconds
        interval = lease / BEATS_PER_LEASE / 2
        checked = time.monotonic()
        while True:
            await asyncio.sleep(interval)
            now = time.monotonic()
            # Where this process itself stood still, the beats have yet to be read.
            stalled, checked = now - checked > interval + lease / 2, now
            for worker in () if stalled else self.workers.values():
                self.check_beat(worker, now)

    def check_beat(self, worker: WorkerHandle, now: float) -> None:
        lease = self.plan.start.lease_seconds
        if worker.last_beat is None:
            silent, allowed = now - worker.started_at, max(lease, FIRST_BEAT_SECONDS)
        else:
            silent, allowed = now - worker.last_beat, lease
        if silent > allowed and worker.running:
            log.error(
                "Worker %d (pid %d) gave no sign of life for %g s: it is killed.", worker.number, worker.pid, allowed
            )
            worker.kill()

    async def serve_metrics(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a worker that is scraped with the sums of all."""
        self._scrapes += 1
        request = self._scrapes
        running = [worker for worker in self.workers.values() if worker.running and worker.ready.is_set()]
        answers = await asyncio.gather(*(worker.ask_metrics(request, ANSWER_SECONDS) for worker in running))
        reply = MetricsReply(self.sums.add_up(), self.plan.start.workers, sum(answers), self.restarts)
        with contextlib.suppress(OSError):
            writer.write(json.encode(reply))
            await writer.drain()
        writer.close()


def describe_status(status: int) -> str:
    """Say how a process ended, such as "was killed by SIGKILL"."""
    if status >= 0:
        return f"ended with exit code {status}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"
