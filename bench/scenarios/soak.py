"""5,000 short streams, a third of them left and a tenth of the rest cut upstream: nothing may stay behind.

Then 5,000 that all end well: connections upstream are then never cut, and what holds on to them shows.
"""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bench.doors import DOORS, OPENAI, Door
from bench.kept import Kept
from bench.load import Order, Wrong
from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage
from bench.streams import Stream, report
from tests.kit.server import Server

STREAMS, FIRST, AT_ONCE = 5000, 1000, 40
TOKENS, RATE = 6, 100
GROWTH = 5.0
# Longer than idle connections to the model are kept.
SETTLE = 45.0


async def run(stage: Stage) -> Sequence[Row]:
    rows: list[Row] = []
    for peer in (peer for peer in stage.peers if peer.ours):
        for title, faulty in ((f"{STREAMS} short streams", True), (f"{STREAMS} on kept connections", False)):
            # Its own server: what the other scenarios left in memory is not this one's.
            async with stage.server(peer) as server:
                files = len(server.open_files)
                soak = partial(stage.drive, "soak", peer, OPENAI, 300, server, faulty=faulty)
                # The first connection outwards starts libuv's four threads, which then stay.
                await soak(begin=2, end=3)
                threads = server.threads
                await soak(begin=0, end=FIRST)
                early = server.rss
                await soak(begin=FIRST, end=STREAMS)
                grown = (server.rss / early - 1) * 100
                await _settled(server, files)
                left = {
                    "descriptors more": len(server.open_files) - files,
                    "threads more": server.threads - threads,
                    "open upstream": await report(stage.upstream, "/open"),
                }
            rows += [
                Row(f"{title}, RSS after {FIRST}", peer.name, "MB", [early / 1e6]),
                Row(f"{title}, RSS growth since", peer.name, "%", [grown], limit=GROWTH),
                *(Row(f"{title}, {what}", peer.name, "", [count], limit=0) for what, count in left.items()),
            ]
    return rows


async def _settled(server: Server, files: int) -> None:
    """Until no more are open than `files`, or the time is over."""
    limit = time.monotonic() + SETTLE
    while True:
        if len(server.open_files) <= files or time.monotonic() > limit:
            return
        await asyncio.sleep(0.5)


class Leaver(Stream):
    """Goes away in the middle of its answer."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if b"token1" in data and not self.done.done():
            self.done.set_result(None)


async def drive(job: dict[str, Any]) -> None:
    door, numbers = DOORS[job["door"]], iter(range(job["begin"], job["end"]))

    async def ask() -> None:
        for i in numbers:
            await _one(job, door, i)

    async def ask_again() -> None:
        line = await Kept.to(job["url"])
        for i in numbers:
            order = Order(i, TOKENS, RATE)
            order.check(door.text(await line.ask(door.request(order.prompt, True, job["key"]))))
        line.close()

    await asyncio.gather(*(ask() if job["faulty"] else ask_again() for _ in range(AT_ONCE)))


async def _one(job: dict[str, Any], door: Door, i: int) -> None:
    to = urlsplit(job["url"])
    leaves = i % 3 == 0
    cut = not leaves and i % 10 == 1
    order = Order(i, TOKENS, RATE, "cut" if cut else "now")
    make = partial(Leaver if leaves else Stream, door.request(order.prompt, True, job["key"]))
    _, stream = await asyncio.get_running_loop().create_connection(make, to.hostname or "", to.port or 0)
    try:
        await stream.done
        if cut:
            _check_cut(stream, order)
        elif not leaves:
            stream.verify(door, order)
    finally:
        stream.transport.abort()


def _check_cut(stream: Stream, order: Order) -> None:
    if b"token0" not in stream.raw or b'"error"' not in stream.raw or b"[DONE]" in stream.raw:
        raise Wrong(f"stream {order.stream}: a cut answer ended as {stream.raw[-300:]!r}")


SCENARIO = Scenario("soak", run, drive, short=False, order=6)
