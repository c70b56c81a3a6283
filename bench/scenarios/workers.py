"""One, two and four workers on the same load: what a token costs, how many streams a core holds, and how long it takes
until a stop that most often comes to another worker closes the run's upstream."""

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from bench.doors import COPILOTKIT, OPENAI, BenchDoor
from bench.order import StreamOrder
from bench.peers import BenchPeer
from bench.rows import ResultRow, quantile
from bench.scenarios import Scenario
from bench.scenarios.disconnect import CLIENTS, TIMEOUT, wait_until_begun
from bench.scenarios.paced import RATE, ROUNDS
from bench.session import BenchSession
from bench.streams import get_report, measure_stops, open_streams

WORKERS = (1, 2, 4)
STREAMS = 100
MEASURES = {OPENAI: "CPU per paced token, attached", COPILOTKIT: "CPU per paced token, in a thread"}


def with_workers(peer: BenchPeer, workers: int) -> BenchPeer:
    def make_command(upstream: str) -> list[str]:
        return [*peer.command(upstream), "--workers", str(workers)]

    # On one core they start one after the other.
    return replace(peer, command=make_command, start_timeout=120)


async def measure(stage: BenchSession, peer: BenchPeer, door: BenchDoor, workers: int) -> list[float]:
    """Return µs per token of the whole process tree, round by round."""
    tokens = 100
    async with stage.make_fresh_server(with_workers(peer, workers)) as server:
        drive = {"tokens": tokens, "streams": STREAMS}
        return [
            float(await stage.drive("paced", peer, door, tokens / RATE + 60, server, **drive)) for _ in range(ROUNDS)
        ]


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    for peer in (peer for peer in stage.peers if peer.is_ours):
        for door, name in MEASURES.items():
            found = {workers: await measure(stage, peer, door, workers) for workers in WORKERS}
            floor = median(found[1])
            for workers, costs in found.items():
                label = f"{workers} worker{'s' if workers > 1 else ''}"
                ratio = median(costs) / floor if workers > 1 else None
                rows.append(ResultRow(name, label, "µs", costs, ratio))
                held = [1e6 / (cost * RATE) for cost in costs]
                rows.append(ResultRow(f"streams of {RATE} tokens/s held per core, {door.name}", label, "", held))
        for workers in WORKERS:
            label = f"{workers} worker{'s' if workers > 1 else ''}"
            async with stage.make_fresh_server(with_workers(peer, workers)) as server:
                waits = [await stage.drive("workers", peer, COPILOTKIT, 3 * TIMEOUT, server) for _ in range(ROUNDS)]
            for name, part in (("p50", 0.50), ("p99", 0.99)):
                figures = [quantile(round_, part) for round_ in waits]
                rows.append(
                    ResultRow(
                        f"{CLIENTS} runs stopped one by one until their upstreams close, {name}", label, "ms", figures
                    )
                )
    return rows


async def drive(job: dict[str, Any]) -> list[float]:
    """ms from each stop, on a connection of its own, until the upstream of its run is closed."""
    upstream = job["upstream"]
    await get_report(upstream, "/forget")
    orders = [StreamOrder(i, 10_000, 5, "now") for i in range(CLIENTS)]
    requests = [COPILOTKIT.format_request(order.prompt, True, job["key"]) for order in orders]
    threads = [re.findall(rb'"threadId": ?"([^"]+)"', request)[0].decode() for request in requests]
    streams = await open_streams(job["url"], requests)
    await wait_until_begun(upstream, streams, expect_text=True)
    return await measure_stops(job["url"], upstream, threads, streams)


SCENARIO = Scenario("workers", run, drive, short=False, order=10)
