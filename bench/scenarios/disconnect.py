"""All clients leave at once: how long until the upstream hears of it."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from bench.doors import DOORS
from bench.load import Order, Wrong
from bench.rows import Row, quantile
from bench.scenarios import Scenario
from bench.stage import Stage, label
from bench.streams import Stream, connect, report

CLIENTS, RATE, TOKENS = 200, 10, 600
LIMIT_MS = 100.0
PATIENCE = 15.0

CASES = {
    "mid-stream": ("now", True),
    "before the first token": ("never", True),
    "whole, body begun": ("part", False),
    "whole, nothing sent": ("never", False),
}


async def run(stage: Stage) -> Sequence[Row]:
    rows: list[Row] = []
    for case, (start, streamed) in CASES.items():
        for peer, door in stage.doors(foreign=False):
            if door.detached or (not streamed and not door.whole):
                continue
            waits = await stage.drive("disconnect", peer, door, 3 * PATIENCE, start=start, streamed=streamed)
            limit = LIMIT_MS if peer.ours else None
            name = label(peer, door)
            rows.append(Row(f"leave, {case}, p50", name, "ms", [quantile(waits, 0.50)]))
            rows.append(Row(f"leave, {case}, p99", name, "ms", [quantile(waits, 0.99)], limit=limit))
    return rows


async def drive(job: dict[str, Any]) -> list[float]:
    """ms from the moment all clients left, for every stream of the upstream."""
    door, upstream = DOORS[job["door"]], job["upstream"]
    await report(upstream, "/forget")
    orders = [Order(i, TOKENS, RATE, job["start"]) for i in range(CLIENTS)]
    requests = [door.request(order.prompt, job["streamed"], job["key"]) for order in orders]
    streams = await connect(job["url"], requests)
    await _until_all_begun(upstream, streams, hear=job["start"] == "now")
    left = time.monotonic()
    for stream in streams:
        stream.transport.abort()
    closes: dict[str, float] = {}
    while len(closes) < CLIENTS:
        if time.monotonic() - left > PATIENCE:
            raise Wrong(f"{len(closes)} of {CLIENTS} upstreams closed within {PATIENCE:g} s")
        await asyncio.sleep(0.05)
        closes = await report(upstream, "/closes")
    return [(at - left) * 1000 for at in closes.values()]


async def _until_all_begun(upstream: str, streams: Sequence[Stream], *, hear: bool) -> None:
    limit = time.monotonic() + PATIENCE
    while True:
        begun = await report(upstream, "/open")
        heard = sum(b"token2" in stream.raw for stream in streams) if hear else CLIENTS
        if begun >= CLIENTS and heard >= CLIENTS:
            return
        if time.monotonic() > limit:
            raise Wrong(f"{begun} of {CLIENTS} upstreams begun, {heard} heard, within {PATIENCE:g} s")
        await asyncio.sleep(0.05)


SCENARIO = Scenario("disconnect", run, drive, short=False, order=2)
