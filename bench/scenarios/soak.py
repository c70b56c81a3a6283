"""5,000 short streams, a third of them left and a tenth of the rest cut upstream: nothing may stay behind.

Then 5,000 that all end well: connections upstream are then never cut, and what holds on to them shows.
"""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from bench.doors import DOORS, OPENAI, BenchDoor
from bench.keep_alive import KeepAliveConnection
from bench.order import StreamOrder, WrongAnswer
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from bench.streams import ClientStream, get_report
from tests.kit.server import RightseatProcess

STREAMS, FIRST, AT_ONCE = 5000, 1000, 40
TOKENS, RATE = 6, 100
MAX_GROWTH_PERCENT = 5.0
# Longer than idle connections to the model are kept.
SETTLE_SECONDS = 45.0


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    for peer in (peer for peer in stage.peers if peer.is_ours):
        for title, faulty in ((f"{STREAMS} short streams", True), (f"{STREAMS} on kept connections", False)):
            # Its own server: what the other scenarios left in memory is not this one's.
            async with stage.make_fresh_server(peer) as server:
                files = len(server.open_files)
                soak = partial(stage.drive, "soak", peer, OPENAI, 300, server, faulty=faulty)
                # The first connection outwards starts libuv's four threads, which then stay.
                await soak(begin=2, end=3)
                threads = server.thread_count
                await soak(begin=0, end=FIRST)
                early = server.rss_bytes
                await soak(begin=FIRST, end=STREAMS)
                grown = (server.rss_bytes / early - 1) * 100
                await _wait_until_settled(server, files)
                left = {
                    "descriptors more": len(server.open_files) - files,
                    "threads more": server.thread_count - threads,
                    "open upstream": await get_report(stage.upstream, "/open"),
                }
            rows += [
                ResultRow(f"{title}, RSS after {FIRST}", peer.name, "MB", [early / 1e6]),
                ResultRow(f"{title}, RSS growth since", peer.name, "%", [grown], limit=MAX_GROWTH_PERCENT),
                *(ResultRow(f"{title}, {what}", peer.name, "", [count], limit=0) for what, count in left.items()),
            ]
    return rows


async def _wait_until_settled(server: RightseatProcess, files: int) -> None:
    """Until no more are open than `files`, or the time is over."""
    limit = time.monotonic() + SETTLE_SECONDS
    while True:
        if len(server.open_files) <= files or time.monotonic() > limit:
            return
        await asyncio.sleep(0.5)


class LeavingStream(ClientStream):
    """Goes away in the middle of its answer."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if b"token1" in data and not self.done.done():
            self.done.set_result(None)


async def drive(job: dict[str, Any]) -> None:
    door, numbers = DOORS[job["door"]], iter(range(job["begin"], job["end"]))

    async def ask() -> None:
        for i in numbers:
            await _run_stream(job, door, i)

    async def ask_again() -> None:
        line = await KeepAliveConnection.connect(job["url"])
        for i in numbers:
            order = StreamOrder(i, TOKENS, RATE)
            order.check(
                door.read_streamed_text(await line.request(door.format_request(order.prompt, True, job["key"])))
            )
        line.close()

    await asyncio.gather(*(ask() if job["faulty"] else ask_again() for _ in range(AT_ONCE)))


async def _run_stream(job: dict[str, Any], door: BenchDoor, i: int) -> None:
    to = urlsplit(job["url"])
    leaves = i % 3 == 0
    cut = not leaves and i % 10 == 1
    order = StreamOrder(i, TOKENS, RATE, "cut" if cut else "now")
    make = partial(LeavingStream if leaves else ClientStream, door.format_request(order.prompt, True, job["key"]))
    _, stream = await asyncio.get_running_loop().create_connection(make, to.hostname or "", to.port or 0)
    try:
        await stream.done
        if cut:
            _check_cut(stream, order)
        elif not leaves:
            stream.verify(door, order)
    finally:
        stream.transport.abort()


def _check_cut(stream: ClientStream, order: StreamOrder) -> None:
    if b"token0" not in stream.raw or b'"error"' not in stream.raw or b"[DONE]" in stream.raw:
        raise WrongAnswer(f"stream {order.stream}: a cut answer ended as {stream.raw[-300:]!r}")


SCENARIO = Scenario("soak", run, drive, short=False, order=6)
