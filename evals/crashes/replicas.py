"""The crash drill over replicas that share a database: one is killed, or paused for longer than its lease, and the
others go on."""

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psycopg

from evals.crashes.checker import LogCopy
from evals.crashes.client import OrderClient
from evals.crashes.drill import MAX_DELAY, RECOVER_SECONDS, CrashDrill, DrillReport, KillSwitch, order_through_crash
from evals.crashes.shop import ShopApi, serve_shop, write_tables
from tests.kit.cluster import LEASE_SECONDS, Cluster, LiveKind
from tests.kit.postgres import get_session_server
from tests.kit.server import POLL_SECONDS

Fault = Literal["kill", "pause"]
PAUSE_LEASE_SECONDS = 5.0
"""Lease of a replica in the drill of pauses: each point waits for it."""
VICTIM_SHARE = 0.6
"""Part of the requests that go to the replica which is killed; the others go to any of them."""


@dataclass
class ReplicaSwitch(KillSwitch):
    """Kills or pauses one replica at the `kill_at`-th event, once, and begins to watch what becomes of its runs."""

    number: signal.Signals = signal.SIGKILL
    on_kill: Callable[[], None] = lambda: None

    def kill(self) -> None:
        if not self.killed:
            self.killed = True
            self.server.send_signal(self.number)
            self.on_kill()


@dataclass
class ReplicaReport(DrillReport):
    live: str = ""
    fault: str = ""
    take_overs: list[float] = field(default_factory=list)
    """Seconds from the kill until a run's next entry, or its end, by another replica."""
    zombie_entries: int = 0
    """Entries that a paused replica wrote after its runs had been taken over."""

    def __str__(self) -> str:
        seconds = sorted(self.take_overs)
        times = "none"
        if seconds:
            shares = (0.5, 0.95, 0.99, 1.0)
            times = ", ".join(f"p{share * 100:g} {pick_quantile(seconds, share):.2f} s" for share in shares)
        return (
            f"{super().__str__()} Live plane {self.live}, fault {self.fault}. "
            f"Take-over of {len(seconds)} runs: {times}. Zombie appends accepted: {self.zombie_entries}. "
            f"Effects repeated: {self.repeated}."
        )


def pick_quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


class TakeOverWatch:
    """Looks at the runs of one replica in the database from its kill until another one has written to each."""

    def __init__(self, cluster: Cluster, index: int) -> None:
        self.cluster = cluster
        self.worker = cluster.find_worker(index)
        self.began = 0.0
        self.waiting: dict[str, int] = {}
        """The last number of each run that nobody else has written to yet."""
        self.seconds: dict[str, float] = {}
        """How long each thread waited."""

    async def run(self) -> None:
        self.began = time.monotonic()
        url = get_session_server().url
        async with (
            asyncio.timeout(RECOVER_SECONDS),
            await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
        ):
            while True:
                await self.look(connection)
                # What the database had received of the replica may be committed after the kill.
                if not self.waiting and time.monotonic() - self.began > 10 * POLL_SECONDS:
                    return
                await asyncio.sleep(POLL_SECONDS)

    async def look(self, connection: psycopg.AsyncConnection[Any]) -> None:
        statement = self.cluster.format_statement(
            "SELECT id, worker IS NOT DISTINCT FROM %s, run IS NULL, last FROM {s}.threads "
            "WHERE worker = %s OR id = ANY(%s)"
        )
        rows = await (await connection.execute(statement, (self.worker, self.worker, list(self.waiting)))).fetchall()
        for thread, is_its, is_over, last in rows:
            if is_its:
                self.waiting[thread] = last
            elif is_over or last > self.waiting[thread]:
                del self.waiting[thread]
                self.seconds[thread] = time.monotonic() - self.began


class ReplicaDrill(CrashDrill):
    report: ReplicaReport

    def __init__(self, home: Path, api: ShopApi, seed: int, cluster: Cluster, fault: Fault) -> None:
        super().__init__(home, api, seed, cluster.count)
        self.cluster = cluster
        self.fault = fault
        self.report = ReplicaReport(seed, live=cluster.live, fault=fault)
        self.written: dict[str, set[int]] = {}
        """The numbers of entries when their thread had been taken over and the old replica still slept."""

    async def run(self, points: int) -> None:
        began = time.monotonic()
        try:
            switch = KillSwitch(self.cluster.replicas[0])
            clients = self.make_clients("whole", switch)
            await asyncio.gather(*(client.order(self.choose_url) for client in clients))
            self.check(clients)
            self.report.events = switch.passed
            for point in range(points):
                await self.run_replica_point(f"p{point}", self.random.randint(1, self.report.events))
                self.report.points += 1
            if self.report.cut and not self.report.continued:
                self.report.problems.append(f"of {self.report.cut} flows that lost their replica none went on")
            if busy := self.cluster.list_busy_threads():
                self.report.problems.append(f"threads are not free: {busy}")
        finally:
            self.report.seconds = time.monotonic() - began

    def choose_url(self) -> str:
        return self.random.choice(self.cluster.urls)

    async def run_replica_point(self, name: str, kill_at: int) -> None:
        """Strike one replica while clients order at all of them, and let them order to the end."""
        victim = self.random.randrange(self.cluster.count)
        chooser = random.Random(self.random.random())
        process = self.cluster.replicas[victim]
        watch = TakeOverWatch(self.cluster, victim)
        tasks: list[asyncio.Task[None]] = []

        def choose_url() -> str:
            others = [replica for replica in self.cluster.replicas if replica is not process]
            if switch.killed and self.fault == "kill":
                return chooser.choice(others).url
            return process.url if chooser.random() < VICTIM_SHARE else chooser.choice(others).url

        switch = ReplicaSwitch(
            process,
            kill_at,
            self.random.uniform(0, MAX_DELAY),
            number=signal.SIGKILL if self.fault == "kill" else signal.SIGSTOP,
            on_kill=lambda: tasks.append(asyncio.create_task(self.recover_replica(watch, victim))),
        )
        clients = self.make_clients(name, switch)
        choices = [self.random.random() < 0.7 for _ in clients]
        try:
            await asyncio.gather(
                *(
                    order_through_crash(client, choose_url, by_connect=choice)
                    for client, choice in zip(clients, choices, strict=True)
                )
            )
            switch.kill()
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        self.report.take_overs += watch.seconds.values()
        self.check(clients)

    async def recover_replica(self, watch: TakeOverWatch, victim: int) -> None:
        """Watch the runs of the replica that was struck, and let it go on or start another in its place."""
        try:
            if self.fault == "kill":
                await asyncio.gather(watch.run(), self.cluster.restart(victim))
                return
            await watch.run()
        except TimeoutError:
            self.report.problems.append(f"runs of {watch.worker} were not taken over: {sorted(watch.waiting)}")
        finally:
            self.written = {thread: self.list_numbers(thread) for thread in watch.seconds}
            with contextlib.suppress(ProcessLookupError):
                self.cluster.unpause(victim)

    def list_numbers(self, thread: str) -> set[int]:
        return {row.last for row in self.cluster.read_entries(thread)}

    def check(self, clients: list[OrderClient]) -> None:
        super().check(clients)
        for thread, numbers in self.written.items():
            # Numbers leap with a take-over: those below are of the replica that was paused.
            late = [number for number in self.list_numbers(thread) - numbers if number < max(numbers, default=0)]
            self.report.zombie_entries += len(late)
            if late:
                self.report.problems.append(f"{thread}: {late} were written after the take-over")

    def read_log(self, thread: str) -> LogCopy:
        return LogCopy(self.cluster.read_entries(thread))


async def run_replica_drill(
    home: Path,
    points: int,
    seed: int,
    *,
    replicas: int = 3,
    live: LiveKind = "postgres",
    fault: Fault = "kill",
    clock_shifts: Sequence[float] = (),
) -> ReplicaReport:
    """Run the drill; `clock_shifts` are the seconds by which the clocks of the first replicas are wrong."""
    lease = LEASE_SECONDS if fault == "kill" else PAUSE_LEASE_SECONDS
    cluster = Cluster(write_tables(home), replicas=replicas, live=live, lease_seconds=lease, clock_shifts=clock_shifts)
    async with serve_shop(home) as api, cluster:
        drill = ReplicaDrill(home, api, seed, cluster, fault)
        await drill.run(points)
    return drill.report
