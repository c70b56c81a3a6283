"""All clients leave at once: how long until the upstream hears of it."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from bench.doors import DOORS
from bench.order import StreamOrder, WrongAnswer
from bench.rows import ResultRow, quantile
from bench.scenarios import Scenario
from bench.session import BenchSession, format_label
from bench.streams import ClientStream, get_report, open_streams

CLIENTS, RATE, TOKENS = 200, 10, 600
LIMIT_MS = 100.0
TIMEOUT = 15.0

CASES = {
    "mid-stream": ("now", True),
    "before the first token": ("never", True),
    "whole, body begun": ("part", False),
    "whole, nothing sent": ("never", False),
}


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    for case, (start, streamed) in CASES.items():
        for peer, door in stage.list_doors(foreign=False):
            if door.detached or (not streamed and not door.answers_unstreamed):
                continue
            waits = await stage.drive("disconnect", peer, door, 3 * TIMEOUT, start=start, streamed=streamed)
            limit = LIMIT_MS if peer.is_ours else None
            name = format_label(peer, door)
            rows.append(ResultRow(f"leave, {case}, p50", name, "ms", [quantile(waits, 0.50)]))
            rows.append(ResultRow(f"leave, {case}, p99", name, "ms", [quantile(waits, 0.99)], limit=limit))
    return rows


async def drive(job: dict[str, Any]) -> list[float]:
    """ms from the moment all clients left, for every stream of the upstream."""
    door, upstream = DOORS[job["door"]], job["upstream"]
    await get_report(upstream, "/forget")
    orders = [StreamOrder(i, TOKENS, RATE, job["start"]) for i in range(CLIENTS)]
    requests = [door.format_request(order.prompt, job["streamed"], job["key"]) for order in orders]
    streams = await open_streams(job["url"], requests)
    await _wait_until_begun(upstream, streams, expect_text=job["start"] == "now")
    left = time.monotonic()
    for stream in streams:
        stream.transport.abort()
    closes: dict[str, float] = {}
    while len(closes) < CLIENTS:
        if time.monotonic() - left > TIMEOUT:
            raise WrongAnswer(f"{len(closes)} of {CLIENTS} upstreams closed within {TIMEOUT:g} s")
        await asyncio.sleep(0.05)
        closes = await get_report(upstream, "/closes")
    return [(at - left) * 1000 for at in closes.values()]


async def _wait_until_begun(upstream: str, streams: Sequence[ClientStream], *, expect_text: bool) -> None:
    limit = time.monotonic() + TIMEOUT
    while True:
        begun = await get_report(upstream, "/open")
        heard = sum(b"token2" in stream.raw for stream in streams) if expect_text else CLIENTS
        if begun >= CLIENTS and heard >= CLIENTS:
            return
        if time.monotonic() > limit:
            raise WrongAnswer(f"{begun} of {CLIENTS} upstreams begun, {heard} heard, within {TIMEOUT:g} s")
        await asyncio.sleep(0.05)


SCENARIO = Scenario("disconnect", run, drive, short=False, order=2)
