"""Three replicas under many paced streams, a tenth of them followed at another replica: every answer right, what a
token costs in all, how late it comes, and whether memory stays."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from bench.doors import COPILOTKIT
from bench.order import StreamOrder
from bench.peers import BenchPeer
from bench.replicas import POSTGRES, VALKEY, Engines, run_engines
from bench.rows import ResultRow, quantile
from bench.scenarios import Scenario
from bench.scenarios.cluster import CONNECT, PARTS, wait_for_token
from bench.session import BenchSession
from bench.streams import get_report, open_streams
from tests.kit.process import measure_cpu_seconds, measure_rss_bytes

REPLICAS, RATE, FOLLOWED = 3, 10, 10
STREAMS, TOKENS, ROUNDS = 300, 600, 3
TIMEOUT = 300.0


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    with tempfile.TemporaryDirectory() as folder, run_engines(Path(folder)) as engines:
        if engines is None:
            stage.notes.append("cluster_load: there is no PostgreSQL on this machine")
            return []
        for peer in (peer for peer in stage.peers if peer.is_ours):
            for plane in (POSTGRES, VALKEY):
                rows += await measure_load(stage, peer, engines, plane)
    return rows


async def measure_load(stage: BenchSession, peer: BenchPeer, engines: Engines, plane: str) -> list[ResultRow]:
    """Load three replicas in rounds; memory is compared from the end of the first round on."""
    waits: dict[str, list[list[float]]] = {"here": [], "elsewhere": []}
    costs, sizes = [], []
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(stage.make_fresh_server(engines.make_peer(peer, plane, f"load{number}")))
            for number in range(REPLICAS)
        ]
        job = {"urls": [server.url for server in servers], "streams": STREAMS, "tokens": TOKENS}
        for _ in range(ROUNDS):
            before = sum(measure_cpu_seconds(server.pid) for server in servers)
            limit = TOKENS / RATE + TIMEOUT
            found = await stage.drive("cluster_load", peer, COPILOTKIT, limit, servers[0], **job)
            spent = sum(measure_cpu_seconds(server.pid) for server in servers) - before
            costs.append(spent * 1e6 / (STREAMS * TOKENS))
            sizes.append(sum(measure_rss_bytes(server.pid) for server in servers))
            for place, round_ in found.items():
                waits[place].append(round_)
    name = f"{REPLICAS} replicas, {STREAMS} streams of {RATE} tokens/s"
    return [
        ResultRow(f"{name}, CPU per token", plane, "µs", costs),
        *(
            ResultRow(f"{name}, token {place}, {part}", plane, "ms", [quantile(round_, share) for round_ in rounds])
            for place, rounds in waits.items()
            for part, share in PARTS
        ),
        ResultRow(f"{name}, RSS against the first round", plane, "part", [size / sizes[0] for size in sizes[1:]]),
    ]


# In the driver's process


async def drive(job: dict[str, Any]) -> dict[str, list[float]]:
    """ms from the moment the upstream sends a token to its arrival where its run is, and at a follower elsewhere.
    Raises WrongAnswer where a stream or a follower misses a token, or has one twice."""
    upstream, urls = job["upstream"], job["urls"]
    await get_report(upstream, "/forget")
    orders = [StreamOrder(i, job["tokens"], RATE, "timed") for i in range(job["streams"])]
    requests = [COPILOTKIT.format_request(order.prompt, True, job["key"]) for order in orders]
    opened = await asyncio.gather(
        *(open_streams(url, requests[at :: len(urls)], spread=1 / RATE) for at, url in enumerate(urls))
    )
    streams = [opened[i % len(urls)][i // len(urls)] for i in range(len(orders))]
    followed = range(0, len(orders), FOLLOWED)
    await wait_for_token([streams[i] for i in followed], b" token0")
    followers = []
    for i in followed:
        connect = requests[i].replace(COPILOTKIT.path.encode(), CONNECT.encode(), 1)
        followers += await open_streams(urls[(i + 1) % len(urls)], [connect])
    await asyncio.gather(*(stream.done for stream in (*streams, *followers)))
    sent = await get_report(upstream, "/sent")
    waits: dict[str, list[float]] = {"here": [], "elsewhere": []}
    pairs = [("here", order, stream) for order, stream in zip(orders, streams, strict=True)]
    pairs += [("elsewhere", orders[i], follower) for i, follower in zip(followed, followers, strict=True)]
    for place, order, stream in pairs:
        stream.verify(COPILOTKIT, order)
        times = list(zip(sent[str(order.stream)], stream.list_arrivals(order), strict=True))
        # Those before a follower came are read from the store at once.
        waits[place] += [(arrival - at) * 1000 for at, arrival in times[2 * RATE :]]
        stream.transport.abort()
    return waits


SCENARIO = Scenario("cluster_load", run, drive, short=False, order=11)
