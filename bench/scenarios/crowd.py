"""500 paced streams at once on one core: every numbered token once, in its place, and how late."""

import asyncio
from collections.abc import Sequence
from typing import Any

from bench.doors import DOORS
from bench.order import StreamOrder, WrongAnswer
from bench.rows import ResultRow, quantile
from bench.scenarios import Scenario
from bench.session import BenchSession, format_label
from bench.streams import ClientStream, get_report, open_streams

STREAMS, RATE, TOKENS = 500, 10, 100
SPREAD = 2.0
"""Seconds in which they begin; all then run at once for the other eight."""


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    for peer, door in stage.list_doors(foreign=False):
        if door.detached:
            # Each begins with a transaction in the store's one thread: that would be what is measured.
            continue
        found = await stage.drive("crowd", peer, door, TOKENS / RATE + 60)
        name, limit = format_label(peer, door), 0 if peer.is_ours else None
        rows.append(ResultRow(f"{STREAMS} streams, wrong ones", name, "streams", [found["wrong"]], limit=limit))
        for part in (0.50, 0.99):
            late = quantile(found["delays"], part)
            rows.append(ResultRow(f"{STREAMS} streams, added delay, p{part * 100:.0f}", name, "ms", [late]))
    return rows


async def drive(job: dict[str, Any]) -> dict[str, Any]:
    """Delays in ms from the upstream's write to the client's read, the driver's own share included."""
    door, upstream = DOORS[job["door"]], job["upstream"]
    await get_report(upstream, "/forget")
    orders = [StreamOrder(i, TOKENS, RATE, "timed") for i in range(STREAMS)]
    requests = [door.format_request(order.prompt, True, job["key"]) for order in orders]
    streams = await open_streams(job["url"], requests, spread=SPREAD)
    await _wait_until_open(upstream, streams)
    await asyncio.gather(*(stream.done for stream in streams), return_exceptions=True)
    sent: dict[str, list[float]] = await get_report(upstream, "/sent")
    wrong, delays = 0, list[float]()
    for stream, order in zip(streams, orders, strict=True):
        try:
            stream.verify(door, order)
        except WrongAnswer:
            wrong += 1
        else:
            begun = sent[str(order.stream)]
            delays += [(b - a) * 1000 for a, b in zip(begun, stream.list_arrivals(order), strict=True)]
        stream.transport.abort()
    return {"wrong": wrong, "delays": sorted(delays)[:: max(1, len(delays) // 5000)]}


async def _wait_until_open(upstream: str, streams: Sequence[ClientStream]) -> None:
    while (under_way := await get_report(upstream, "/open")) < STREAMS:
        if any(stream.done.done() for stream in streams):
            raise WrongAnswer(f"only {under_way} of {STREAMS} streams were under way at once")
        await asyncio.sleep(0.1)


SCENARIO = Scenario("crowd", run, drive, short=False, order=5)
