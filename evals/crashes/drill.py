"""The crash drill: a server, or one of its workers, is killed at random points while clients order, and the next one
or the other workers go on."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evals.crashes.checker import LogCopy, check_client, read_log
from evals.crashes.client import OrderClient
from evals.crashes.shop import ShopApi, make_server, serve_shop
from tests.kit.server import POLL_SECONDS, RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.workers import wait_for_worker, wait_replaced

CLIENTS = 3
MAX_DELAY = 0.004
RECOVER_SECONDS = 3 * HANG_TIMEOUT
"""Longest wait for the end of a run that goes on elsewhere, on a machine under load."""


@dataclass
class KillSwitch:
    """Kills the server at the `kill_at`-th event that clients and the API see; 0 never."""

    server: RightseatProcess
    kill_at: int = 0
    delay: float = 0
    passed: int = 0
    killed: bool = False

    def count(self) -> None:
        self.passed += 1
        if self.passed == self.kill_at:
            asyncio.get_running_loop().call_later(self.delay, self.kill)

    def kill(self) -> None:
        if self.server.returncode is None:
            self.server.send_signal(signal.SIGKILL)


@dataclass
class WorkerKillSwitch(KillSwitch):
    """Kills one of the workers instead, once."""

    pid: int = 0

    def kill(self) -> None:
        if not self.killed:
            self.killed = True
            # It is the supervisor's child, and may have ended by itself.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


@dataclass
class DrillReport:
    seed: int
    points: int = 0
    events: int = 0
    """Events of a point without a kill: the range of the points."""
    frames: int = 0
    restarted: int = 0
    continued: int = 0
    """Flows that lost a worker and went on at another one."""
    cut: int = 0
    """Flows that clients were in the middle of when their worker was killed."""
    replayed: int = 0
    lost_deltas: int = 0
    effects: int = 0
    repeated: int = 0
    """Effects that happened more than once."""
    seconds: float = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.points} kills over {self.events} events each, {self.seconds:.0f} s. "
            f"Clients saw {self.frames} frames and {self.effects} effects, heard `restarted` {self.restarted} times, "
            f"saw {self.continued} flows go on at another worker "
            f"and posted {self.replayed} runs again. {self.lost_deltas} frames of text are not in the log. "
            f"Problems: {len(self.problems)}."
        )


class CrashDrill:
    def __init__(self, home: Path, api: ShopApi, seed: int, workers: int = 1) -> None:
        self.home = home
        self.workers = workers
        self.api = api
        self.random = random.Random(seed)
        self.report = DrillReport(seed)

    async def run(self, points: int) -> None:
        """Kill the server at so many points, each with customers of its own."""
        began = time.monotonic()
        server = await start_server(self.home, self.workers)
        run_point = self.run_point if self.workers == 1 else self.run_worker_point
        try:
            switch = KillSwitch(server)
            clients = self.make_clients("whole", switch)
            await asyncio.gather(*(client.order(lambda: server.url) for client in clients))
            self.check(clients)
            self.report.events = switch.passed
            for point in range(points):
                server = await run_point(server, f"p{point}", self.random.randint(1, self.report.events))
                self.report.points += 1
            if self.workers > 1 and self.report.cut and not self.report.continued:
                self.report.problems.append(f"of {self.report.cut} flows that lost their worker none went on")
        finally:
            await server.stop()
            server.remove_folder()
            self.report.seconds = time.monotonic() - began

    async def run_point(self, server: RightseatProcess, name: str, kill_at: int) -> RightseatProcess:
        """Kill the server while clients order, let them order to the end at the next one, and return that."""
        switch = KillSwitch(server, kill_at, self.random.uniform(0, MAX_DELAY))
        clients = self.make_clients(name, switch)
        outcomes = await asyncio.gather(
            *(client.order(lambda: server.url) for client in clients), return_exceptions=True
        )
        for outcome in outcomes:
            if outcome is not None and not isinstance(outcome, OSError):
                raise outcome
        switch.kill()
        await server.wait_exit()
        server.remove_folder()
        server = await start_server(self.home, self.workers)
        for client in clients:
            await client.recover(server.url, by_connect=self.random.random() < 0.7)
        await asyncio.gather(*(client.order(lambda: server.url) for client in clients))
        self.check(clients)
        return server

    async def run_worker_point(self, server: RightseatProcess, name: str, kill_at: int) -> RightseatProcess:
        """Kill one worker while clients order, and let them order to the end at the others."""
        worker = self.random.randint(1, self.workers)
        pid = await wait_for_worker(server, worker)
        switch = WorkerKillSwitch(server, kill_at, self.random.uniform(0, MAX_DELAY), pid=pid)
        clients = self.make_clients(name, switch)
        choices = [self.random.random() < 0.7 for _ in clients]
        await asyncio.gather(
            *(
                order_through_crash(client, lambda: server.url, by_connect=choice)
                for client, choice in zip(clients, choices, strict=True)
            )
        )
        switch.kill()
        await wait_replaced(server, worker, pid)
        self.check(clients)
        return server

    @property
    def goes_on(self) -> bool:
        """Whether others go on when a process is killed."""
        return self.workers > 1

    def make_clients(self, name: str, switch: KillSwitch) -> list[OrderClient]:
        self.api.on_event = switch.count
        names = [f"{name}-{number}" for number in range(CLIENTS)]
        return [OrderClient(f"t-{name}", name, self.api, switch.count, goes_on=self.goes_on) for name in names]

    def check(self, clients: list[OrderClient]) -> None:
        for client in clients:
            verdict = check_client(client, self.read_log(client.thread))
            self.report.problems += verdict.problems
            if self.goes_on and verdict.lost_deltas:
                self.report.problems.append(f"{client.thread}: saw {verdict.lost_deltas} frames that were not logged")
            self.report.frames += verdict.frames
            self.report.lost_deltas += verdict.lost_deltas
            self.report.restarted += client.heard_restarted
            self.report.replayed += client.replayed
            self.report.cut += client.cut
            self.report.continued += verdict.continued
        self.report.effects = self.api.effects.total()
        self.report.repeated = sum(count - 1 for count in self.api.effects.values())

    def read_log(self, thread: str) -> LogCopy:
        return read_log(self.home / "data", thread)


async def order_through_crash(client: OrderClient, choose_url: Callable[[], str], *, by_connect: bool) -> None:
    """Order to the end; where the connection breaks, ask what became of the run, and go on."""
    try:
        await client.order(choose_url)
    except OSError:
        # The kernel may still give a connection to the worker that was killed.
        async with asyncio.timeout(RECOVER_SECONDS):
            while True:
                with contextlib.suppress(OSError):
                    await client.recover(choose_url(), by_connect=by_connect)
                    break
                await asyncio.sleep(POLL_SECONDS)
        await client.order(choose_url)


async def start_server(home: Path, workers: int) -> RightseatProcess:
    server = make_server(home, workers)
    await server.start()
    return server


async def run_drill(home: Path, points: int, seed: int, workers: int = 1) -> DrillReport:
    async with serve_shop(home) as api:
        drill = CrashDrill(home, api, seed, workers)
        await drill.run(points)
    return drill.report
