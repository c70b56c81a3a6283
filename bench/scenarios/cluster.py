"""Replicas on real PostgreSQL and Valkey servers: what a token costs in each plane, how long it takes to another
replica, stops from there, the lease before the first token, connections of many followers, and the size of a turn."""

import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

from bench.doors import COPILOTKIT
from bench.order import StreamOrder, WrongAnswer
from bench.peers import BenchPeer
from bench.replicas import MEMORY, PLANES, POSTGRES, VALKEY, Engines, run_engines
from bench.rows import ResultRow, quantile
from bench.scenarios import Scenario
from bench.scenarios.paced import RATE
from bench.session import BenchSession
from bench.streams import ClientStream, get_report, measure_stops, open_streams
from tests.kit.server import RightseatProcess

ROUNDS, STREAMS, TOKENS = 3, 100, 300
RUNS, FOLLOWERS, FIRST_TOKENS = 200, 1000, 60
TIMEOUT = 120.0
STAGGER = 0.618
"""Part of the time between two tokens by which each stream begins after the one before: they spread over it evenly,
however many they are, and no request waits for the one before."""
PARTS = (("p50", 0.50), ("p99", 0.99))
CONNECT = "/copilotkit/agent/default/connect"


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    rows: list[ResultRow] = []
    ours = [peer for peer in stage.peers if peer.is_ours]
    with tempfile.TemporaryDirectory() as folder, run_engines(Path(folder)) as engines:
        if engines is None:
            stage.notes.append("cluster: there is no PostgreSQL on this machine")
            return []
        for peer in ours:
            rows += await measure_costs(stage, peer, engines)
            rows += await measure_turns(stage, peer, engines)
            rows += await measure_first_tokens(stage, peer, engines)
            for plane in (POSTGRES, VALKEY):
                rows += await measure_pair(stage, peer, engines, plane)
    return rows


async def measure_costs(stage: BenchSession, peer: BenchPeer, engines: Engines) -> list[ResultRow]:
    """CPU per paced token in each plane, interleaved, that of the engines apart, and what shared planes add."""
    tokens, streams = (40, 20) if stage.short else (TOKENS, STREAMS)
    drive = {"tokens": tokens, "streams": streams, "spread": streams * STAGGER}
    costs: dict[str, list[float]] = {plane: [] for plane in PLANES}
    engine_costs: dict[str, list[float]] = {POSTGRES: [], VALKEY: []}
    name = f"CPU per token on a thread, {streams} streams"
    async with AsyncExitStack() as stack:
        servers = {}
        for number, plane in enumerate(PLANES):
            server = stage.make_fresh_server(engines.make_peer(peer, plane, f"cost{number}"))
            servers[plane] = await stack.enter_async_context(server)
        for _ in range(1 if stage.short else ROUNDS):
            for plane, server in servers.items():
                before = engines.measure_cpu_seconds()
                cost = await stage.drive("paced", peer, COPILOTKIT, tokens / RATE + TIMEOUT, server, **drive)
                costs[plane].append(float(cost))
                if plane in engine_costs:
                    spent = engines.measure_cpu_seconds() - before
                    engine_costs[plane].append(spent * 1e6 / (tokens * streams))
    rows = [ResultRow(name, plane, "µs", found) for plane, found in costs.items()]
    for plane in PLANES[1:]:
        over = await measure_surplus(stage, peer, engines, plane, drive)
        rows.append(ResultRow(f"{name}, over memory", plane, "µs", over))
    rows += [ResultRow(f"{name}, of the engines", plane, "µs", found) for plane, found in engine_costs.items()]
    for plane, found in costs.items():
        rows.append(
            ResultRow(f"streams of {RATE} tokens/s held per core", plane, "", [1e6 / (c * RATE) for c in found])
        )
        rows.append(ResultRow("entries per second and core", plane, "", [1e6 / cost for cost in found]))
    return rows


async def measure_surplus(
    stage: BenchSession, peer: BenchPeer, engines: Engines, plane: str, job: dict[str, float]
) -> list[float]:
    """µs of CPU that a token costs more in a plane than in memory: two fresh servers, driven at the same time on the
    same core. What else happens on the machine changes a figure by more than the planes do, and meets both."""
    seconds = job["tokens"] / RATE + TIMEOUT
    over = []
    async with AsyncExitStack() as stack:
        servers: list[RightseatProcess] = []
        for each in (MEMORY, plane):
            server = stage.make_fresh_server(engines.make_peer(peer, each, f"pair-{len(servers)}"))
            servers.append(await stack.enter_async_context(server))
        for _ in range(1 if stage.short else ROUNDS):
            drives = (stage.drive("paced", peer, COPILOTKIT, seconds, server, **job) for server in servers)
            without, with_plane = await asyncio.gather(*drives)
            over.append(float(with_plane) - float(without))
    return over


async def measure_turns(stage: BenchSession, peer: BenchPeer, engines: Engines) -> list[ResultRow]:
    """Rows and bytes in PostgreSQL of a turn of 300 tokens."""
    turns, tokens = (2, 60) if stage.short else (20, 300)
    async with stage.make_fresh_server(engines.make_peer(peer, POSTGRES)) as server:
        rows, size = engines.measure_storage(POSTGRES)
        drive = {"tokens": tokens, "streams": turns}
        await stage.drive("paced", peer, COPILOTKIT, tokens / RATE + TIMEOUT, server, **drive)
        rows_after, size_after = engines.measure_storage(POSTGRES)
    name = f"a turn of {tokens} tokens"
    return [
        ResultRow(f"rows of {name}", POSTGRES, "", [(rows_after - rows) / turns]),
        ResultRow(f"bytes of {name}, indexes included", POSTGRES, "KB", [(size_after - size) / turns / 1000]),
    ]


async def measure_first_tokens(stage: BenchSession, peer: BenchPeer, engines: Engines) -> list[ResultRow]:
    """What the lease adds to the first token, beside one commit of this disk."""
    requests = 10 if stage.short else FIRST_TOKENS
    planes = (MEMORY, POSTGRES)
    medians: dict[str, list[float]] = {plane: [] for plane in planes}
    commits = []
    async with AsyncExitStack() as stack:
        servers = []
        for plane in planes:
            server = stage.make_fresh_server(engines.make_peer(peer, plane, f"first-{plane}"))
            servers.append(await stack.enter_async_context(server))
        job = {"figure": "first", "requests": requests, "urls": [server.url for server in servers]}
        for _ in range(1 if stage.short else ROUNDS):
            commits.append(engines.measure_commit())
            waits = await stage.drive("cluster", peer, COPILOTKIT, TIMEOUT, servers[0], **job)
            for plane, found in zip(planes, waits, strict=True):
                medians[plane].append(median(found))
    added = [with_lease - without for with_lease, without in zip(medians[POSTGRES], medians[MEMORY], strict=True)]
    return [
        ResultRow("first token on a thread, p50", MEMORY, "ms", medians[MEMORY]),
        ResultRow("first token on a thread, p50", POSTGRES, "ms", medians[POSTGRES]),
        ResultRow("lease added to the first token, p50", POSTGRES, "ms", added),
        ResultRow("one commit of this disk, p50", POSTGRES, "ms", commits),
    ]


async def measure_pair(stage: BenchSession, peer: BenchPeer, engines: Engines, plane: str) -> list[ResultRow]:
    """Two replicas: runs at one, readers and stops at the other."""
    rows: list[ResultRow] = []
    runs, followers = (10, 20) if stage.short else (RUNS, FOLLOWERS)
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(stage.make_fresh_server(engines.make_peer(peer, plane, "here")))
        alone = await engines.valkey.count_clients()
        there = await stack.enter_async_context(stage.make_fresh_server(engines.make_peer(peer, plane, "there")))

        async def drive(figure: str, **more: Any) -> list[list[float]]:
            rounds = 1 if stage.short else ROUNDS
            job = {"figure": figure, "there": there.url, **more}
            return [await stage.drive("cluster", peer, COPILOTKIT, TIMEOUT, here, **job) for _ in range(rounds)]

        for streams in (1, 10) if stage.short else (1, 10, 50):
            waits = await drive("follow", streams=streams, tokens=40 if stage.short else 100)
            rows += make_rows(f"token at another replica, {streams} streams", plane, waits)
        rows += make_rows(
            f"stop at another replica until the upstream closes, {runs} runs", plane, await drive("stop", runs=runs)
        )
        rows += await count_connections(stage, peer, engines, plane, (here, there), followers, alone)
    return rows


async def count_connections(
    stage: BenchSession,
    peer: BenchPeer,
    engines: Engines,
    plane: str,
    servers: tuple[RightseatProcess, RightseatProcess],
    followers: int,
    valkey_before: int,
) -> list[ResultRow]:
    here, there = servers
    job = {"figure": "followers", "there": there.url, "followers": followers}
    task = asyncio.create_task(stage.drive("cluster", peer, COPILOTKIT, TIMEOUT, here, **job))
    most = {"PostgreSQL": 0, "Valkey": 0}
    while not task.done():
        most["PostgreSQL"] = max(most["PostgreSQL"], engines.count_connections("there"))
        most["Valkey"] = max(most["Valkey"], await engines.valkey.count_clients() - valkey_before)
        await asyncio.wait([task], timeout=0.1)
    followed = task.result()
    limits = {"PostgreSQL": 8, "Valkey": 3}
    return [
        ResultRow(f"connections to {engine}, {followed:g} followers", plane, "", [count], limit=limits[engine])
        for engine, count in most.items()
        if count
    ]


def make_rows(name: str, plane: str, rounds: Sequence[Sequence[float]]) -> list[ResultRow]:
    return [ResultRow(f"{name}, {part}", plane, "ms", [quantile(r, share) for r in rounds]) for part, share in PARTS]


# In the driver's process


async def drive(job: dict[str, Any]) -> Any:
    figures = {"first": drive_first, "follow": drive_follow, "stop": drive_stop, "followers": drive_followers}
    return await figures[job["figure"]](job)


async def drive_first(job: dict[str, Any]) -> list[list[float]]:
    """ms from each request to its first token, of each server, by turns. Paced: of an answer that comes at once, the
    first token would be kept together with the end, which waits for the disk."""
    waits: list[list[float]] = [[] for _ in job["urls"]]
    for number in range(job["requests"]):
        order = StreamOrder(number, 2, RATE)
        for url, found in zip(job["urls"], waits, strict=True):
            begun = time.monotonic()
            (stream,) = await open_streams(url, [COPILOTKIT.format_request(order.prompt, True, job["key"])])
            await stream.done
            found.append((stream.list_arrivals(order)[0] - begun) * 1000)
            stream.transport.abort()
    return waits


def format_requests(orders: Sequence[StreamOrder], key: str) -> tuple[list[bytes], list[bytes]]:
    """Return the requests of runs, and those that follow them."""
    requests = [COPILOTKIT.format_request(order.prompt, True, key) for order in orders]
    return requests, [request.replace(COPILOTKIT.path.encode(), CONNECT.encode(), 1) for request in requests]


async def wait_for_token(streams: Sequence[ClientStream], token: bytes) -> None:
    limit = time.monotonic() + TIMEOUT
    while not all(token in stream.raw for stream in streams):
        if time.monotonic() > limit:
            raise WrongAnswer(f"{token!r} has not come to all of {len(streams)} streams within {TIMEOUT:g} s")
        await asyncio.sleep(0.05)


async def drive_follow(job: dict[str, Any]) -> list[float]:
    """ms from the moment the upstream sends a token to its arrival at a follower of the other replica."""
    upstream = job["upstream"]
    await get_report(upstream, "/forget")
    orders = [StreamOrder(i, job["tokens"], RATE, "timed") for i in range(job["streams"])]
    requests, connects = format_requests(orders, job["key"])
    streams = await open_streams(job["url"], requests, spread=1 / RATE)
    await wait_for_token(streams, b" token0")
    followers = await open_streams(job["there"], connects)
    await asyncio.gather(*(stream.done for stream in (*streams, *followers)))
    sent = await get_report(upstream, "/sent")
    waits = []
    for order, follower in zip(orders, followers, strict=True):
        follower.verify(COPILOTKIT, order)
        # Those before it came are read from the store at once.
        pairs = list(zip(sent[str(order.stream)], follower.list_arrivals(order), strict=True))[RATE:]
        waits += [(arrival - at) * 1000 for at, arrival in pairs]
    for stream in (*streams, *followers):
        stream.transport.abort()
    return waits


async def drive_stop(job: dict[str, Any]) -> list[float]:
    """ms from each stop at the other replica until the upstream of its run is closed."""
    upstream, runs = job["upstream"], job["runs"]
    await get_report(upstream, "/forget")
    requests, _ = format_requests([StreamOrder(i, 10_000, 5) for i in range(runs)], job["key"])
    threads = [re.findall(rb'"threadId": ?"([^"]+)"', request)[0].decode() for request in requests]
    streams = await open_streams(job["url"], requests)
    await wait_for_token(streams, b" token1")
    return await measure_stops(job["there"], upstream, threads, streams)


async def drive_followers(job: dict[str, Any]) -> int:
    """Follow ten runs by many readers of the other replica, each of which gets all tokens; return how many they are."""
    orders = [StreamOrder(i, 20, 1) for i in range(10)]
    requests, connects = format_requests(orders, job["key"])
    streams = await open_streams(job["url"], requests)
    await wait_for_token(streams, b" token0")
    each = job["followers"] // len(orders)
    followers = await open_streams(job["there"], connects * each)
    await asyncio.gather(*(stream.done for stream in (*streams, *followers)))
    for follower, order in zip(followers, orders * each, strict=True):
        follower.verify(COPILOTKIT, order)
    for stream in (*streams, *followers):
        stream.transport.abort()
    return len(followers)


SCENARIO = Scenario("cluster", run, drive, short=False, order=10)
