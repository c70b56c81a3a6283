"""500 paced streams at once on one core: every numbered token once, in its place, and how late."""

import asyncio
from collections.abc import Sequence
from typing import Any

from bench.doors import DOORS
from bench.load import Order, Wrong
from bench.rows import Row, quantile
from bench.scenarios import Scenario
from bench.stage import Stage, label
from bench.streams import Stream, connect, report

STREAMS, RATE, TOKENS = 500, 10, 100
SPREAD = 2.0
"""Seconds in which they begin; all then run at once for the other eight."""


async def run(stage: Stage) -> Sequence[Row]:
    rows: list[Row] = []
    for peer, door in stage.doors(foreign=False):
        if door.detached:
            # Each begins with a transaction in the store's one thread: that would be what is measured.
            continue
        found = await stage.drive("crowd", peer, door, TOKENS / RATE + 60)
        name, limit = label(peer, door), 0 if peer.ours else None
        rows.append(Row(f"{STREAMS} streams, wrong ones", name, "streams", [found["wrong"]], limit=limit))
        for part in (0.50, 0.99):
            late = quantile(found["delays"], part)
            rows.append(Row(f"{STREAMS} streams, added delay, p{part * 100:.0f}", name, "ms", [late]))
    return rows


async def drive(job: dict[str, Any]) -> dict[str, Any]:
    """Delays in ms from the upstream's write to the client's read, the driver's own share included."""
    door, upstream = DOORS[job["door"]], job["upstream"]
    await report(upstream, "/forget")
    orders = [Order(i, TOKENS, RATE, "timed") for i in range(STREAMS)]
    requests = [door.request(order.prompt, True, job["key"]) for order in orders]
    streams = await connect(job["url"], requests, spread=SPREAD)
    await _all_open(upstream, streams)
    await asyncio.gather(*(stream.done for stream in streams), return_exceptions=True)
    sent: dict[str, list[float]] = await report(upstream, "/sent")
    wrong, delays = 0, list[float]()
    for stream, order in zip(streams, orders, strict=True):
        try:
            stream.verify(door, order)
        except Wrong:
            wrong += 1
        else:
            begun = sent[str(order.stream)]
            delays += [(b - a) * 1000 for a, b in zip(begun, stream.arrivals(order), strict=True)]
        stream.transport.abort()
    return {"wrong": wrong, "delays": sorted(delays)[:: max(1, len(delays) // 5000)]}


async def _all_open(upstream: str, streams: Sequence[Stream]) -> None:
    while (under_way := await report(upstream, "/open")) < STREAMS:
        if any(stream.done.done() for stream in streams):
            raise Wrong(f"only {under_way} of {STREAMS} streams were under way at once")
        await asyncio.sleep(0.1)


SCENARIO = Scenario("crowd", run, drive, short=False, order=5)
