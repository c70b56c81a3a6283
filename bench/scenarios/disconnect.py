"""All clients leave at once: how long until the upstream hears of it, beside a bare relay in the same rounds."""

import asyncio
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.doors import DOORS, OPENAI
from bench.machine import OWN_ENV
from bench.order import StreamOrder, WrongAnswer
from bench.peers import BenchPeer
from bench.rows import ResultRow, quantile
from bench.scenarios import Scenario
from bench.session import BenchSession, format_label
from bench.streams import ClientStream, get_report, open_streams

CLIENTS, RATE, TOKENS, ROUNDS = 200, 10, 600, 5
MAX_RATIO = 2.0
TIMEOUT = 15.0
RELAY = BenchPeer(
    name="relay",
    command=lambda upstream: [sys.executable, "-m", "bench.relay", upstream],
    env=lambda _upstream: OWN_ENV,
    doors=(OPENAI,),
)

CASES = {
    "mid-stream": ("now", True),
    "before the first token": ("never", True),
    "in a call": ("call", True),
    "at the end": ("end", True),
    "whole, body begun": ("part", False),
    "whole, nothing sent": ("never", False),
}


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    doors = [(peer, door) for peer, door in stage.list_doors(foreign=False) if peer.is_ours and not door.detached]
    async with stage.make_fresh_server(RELAY) as relay:
        for case, (start, streamed) in CASES.items():
            chosen = [(peer, door) for peer, door in doors if streamed or door.answers_unstreamed]
            waits: dict[str, list[list[float]]] = {}
            # Interleaved: what else happens on the machine meets the relay and every door.
            for _ in range(ROUNDS):
                for peer, door in ((RELAY, OPENAI), *chosen):
                    server = relay if peer is RELAY else stage.servers[peer.name]
                    found = await stage.drive(
                        "disconnect", peer, door, 3 * TIMEOUT, server, start=start, streamed=streamed
                    )
                    waits.setdefault(format_label(peer, door), []).append(found)
            rows += make_rows(case, waits)
    return rows


def make_rows(case: str, waits: dict[str, list[list[float]]]) -> list[ResultRow]:
    """Return p50 and p99 of each peer; the p99 of a door is judged by the median of its ratios to the relay."""
    relay_waits = [quantile(round_, 0.99) for round_ in waits[RELAY.name]]
    rows = []
    for name, rounds in waits.items():
        late = [quantile(round_, 0.99) for round_ in rounds]
        ratio = median(own / base for own, base in zip(late, relay_waits, strict=True))
        judged: dict[str, float] = {} if name == RELAY.name else {"ratio": ratio, "limit": MAX_RATIO}
        rows.append(ResultRow(f"leave, {case}, p50", name, "ms", [quantile(round_, 0.50) for round_ in rounds]))
        rows.append(ResultRow(f"leave, {case}, p99", name, "ms", late, **judged))
    return rows


async def drive(job: dict[str, Any]) -> list[float]:
    """ms from the moment all clients left, for every stream of the upstream."""
    door, upstream = DOORS[job["door"]], job["upstream"]
    await get_report(upstream, "/forget")
    orders = [StreamOrder(i, TOKENS, RATE, job["start"]) for i in range(CLIENTS)]
    requests = [door.format_request(order.prompt, job["streamed"], job["key"]) for order in orders]
    streams = await open_streams(job["url"], requests)
    await wait_until_begun(upstream, streams, expect_text=job["start"] in ("now", "end"))
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


async def wait_until_begun(upstream: str, streams: Sequence[ClientStream], *, expect_text: bool) -> None:
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
