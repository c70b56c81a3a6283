"""The outage drill: two servers on PostgreSQL and Valkey, runs at both, and an engine that goes away and comes back."""

import asyncio
import json
import random
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from evals.crashes.checker import LogCopy
from evals.outages.client import WORDS, RunClient
from rightseat.stores.postgres.threads import decode_entries
from tests.kit.postgres import PostgresServer, require_programs, run_server
from tests.kit.server import RightseatProcess
from tests.kit.valkey import ValkeyServer

PACE_MS = 100
MAX_DOWN = 2.0
"""Longest time that a restarted engine is down."""
FREE_SECONDS = 15.0
"""Time in which every thread must be free after the last run."""
STOPS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "kill": signal.SIGKILL}


@dataclass(frozen=True)
class DrillSettings:
    engine: str
    seconds: float
    runs: int
    seed: int
    away: float = 0
    every: tuple[float, ...] = (5, 40)


@dataclass
class OutageReport:
    settings: DrillSettings
    outages: int = 0
    runs: int = 0
    streams: int = 0
    frames: int = 0
    not_kept: int = 0
    refused: int = 0
    lost_deltas: int = 0
    """Frames of text that a crash of the database has lost; 0 for fast restarts and for Valkey."""
    crashes: int = 0
    free_seconds: float = 0
    seconds: float = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"seed {self.settings.seed}, {self.settings.engine}: {self.outages} outages in {self.seconds:.0f} s, "
            f"{self.settings.runs} runs at a time. {self.runs} runs, {self.streams} streams, {self.frames} frames; "
            f"{self.not_kept} runs were answered and not kept, {self.refused} followers were told to come back. "
            f"{self.crashes} of the outages were crashes of PostgreSQL, which lost {self.lost_deltas} frames of text. "
            f"All threads were free {self.free_seconds:.1f} s after the last run. Problems: {len(self.problems)}."
        )


class OutageDrill:
    def __init__(self, settings: DrillSettings, database: PostgresServer, live: ValkeyServer) -> None:
        self.settings = settings
        self.database = database
        self.live = live
        self.random = random.Random(settings.seed)
        self.report = OutageReport(settings)
        self.clients: list[RunClient] = []

    async def run(self, urls: list[str]) -> None:
        began = time.monotonic()
        breaking = asyncio.create_task(self.break_engine())
        await asyncio.gather(*(self.ask_again_and_again(urls, index, began) for index in range(self.settings.runs)))
        await breaking
        self.report.seconds = time.monotonic() - began
        await self.wait_free()
        self.check()

    async def ask_again_and_again(self, urls: list[str], index: int, began: float) -> None:
        # Spread over one run's time: all at once would be a test of the start only.
        await asyncio.sleep(self.random.uniform(0, len(WORDS) * PACE_MS / 1000))
        count = 0
        while time.monotonic() - began < self.settings.seconds:
            here, there = self.random.sample(urls, 2)
            client = RunClient(f"t{index}-{count}", (here, there), follows=self.random.random() < 0.3)
            self.clients.append(client)
            await client.run()
            count += 1

    async def break_engine(self) -> None:
        """Take the engine away once for long, or restart it now and then."""
        began = time.monotonic()
        if self.settings.away:
            await asyncio.sleep(self.settings.seconds / 4)
            await self.restart("fast", self.settings.away)
            return
        while True:
            await asyncio.sleep(self.random.uniform(*self.settings.every))
            if time.monotonic() - began > self.settings.seconds:
                return
            await self.restart(self.random.choice(list(STOPS)), self.random.uniform(0, MAX_DOWN))

    async def restart(self, kind: str, down: float) -> None:
        self.report.outages += 1
        if self.settings.engine == "valkey":
            await asyncio.to_thread(self.live.kill)
            await asyncio.sleep(down)
            (self.live.folder / "log").unlink()
            await asyncio.to_thread(self.live.start)
        else:
            self.report.crashes += kind != "fast"
            await asyncio.to_thread(self.database.stop, STOPS[kind])
            await asyncio.sleep(down)
            await asyncio.to_thread(self.start_database)

    def start_database(self) -> None:
        """Start it; after a kill its children may hold the shared memory for a moment."""
        for attempt in range(20):
            try:
                self.database.start()
                return
            except AssertionError:
                if attempt == 19:
                    raise
                time.sleep(0.25)

    async def wait_free(self) -> None:
        """Wait until no thread is busy."""
        began = time.monotonic()
        while busy := await asyncio.to_thread(self.count_busy):
            if time.monotonic() - began > FREE_SECONDS:
                self.report.problems.append(f"{busy} threads are busy {FREE_SECONDS:g} s after the last run")
                break
            await asyncio.sleep(0.1)
        self.report.free_seconds = time.monotonic() - began

    def count_busy(self) -> int:
        with psycopg.connect(self.database.url) as connection:
            row = connection.execute("SELECT count(*) FROM rightseat.threads WHERE run IS NOT NULL").fetchone()
            return int(row[0]) if row else 0

    def check(self) -> None:
        query = "SELECT first, last, cuts, body FROM rightseat.entries WHERE thread = %s ORDER BY last"
        with psycopg.connect(self.database.url) as connection:
            for client in self.clients:
                rows = decode_entries(connection.execute(query, (client.thread,)).fetchall())
                log = LogCopy(rows) if rows else None
                self.report.not_kept += log is None
                self.report.problems += [f"{client.thread}: {problem}" for problem in client.check(log)]
                self.report.refused += bool(client.refused)
                self.report.streams += len(client.streams)
                self.report.frames += sum(len(stream.frames) for stream in client.streams)
                self.report.lost_deltas += client.lost_deltas
        self.report.runs = len(self.clients)
        if self.report.lost_deltas and not self.report.crashes:
            self.report.problems.append(f"the log lacks {self.report.lost_deltas} frames of text")


async def run_drill(home: Path, settings: DrillSettings) -> OutageReport:
    script = home / "turns.json"
    script.write_text(json.dumps({"turns": [{"say": WORDS, "pace_ms": PACE_MS}]}), "utf-8")
    async with AsyncExitStack() as stack:
        database = stack.enter_context(run_server(require_programs()))
        live = stack.enter_context(ValkeyServer())
        config = f"""
[server]
max_runs = {settings.runs * 2}
[models.m]
spec = "scripted:{script}"
[store]
kind = "postgres"
url = "{database.url}"
[live]
url = "{live.url}"
"""
        servers = [await stack.enter_async_context(RightseatProcess(config=config)) for _ in range(2)]
        drill = OutageDrill(settings, database, live)
        await drill.run([server.url for server in servers])
        for server in servers:
            if "was ended as restarted" in server.stderr or "is taken over here" in server.stderr:
                drill.report.problems.append("a run of a server that was alive was taken over")
    return drill.report
