"""The drill of quotas: a limit of 100 requests a minute for one user, and 1,000 requests over all servers."""

import asyncio
import collections
import json
import secrets
from contextlib import AsyncExitStack
from pathlib import Path

from bench.machine import ROOT
from bench.peers import litellm
from evals.alternatives.rows import DrillRow
from tests.kit.client import RawHttpClient
from tests.kit.cluster import Cluster, LiveKind
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.kit.valkey import ValkeyServer

REQUESTS, LIMIT, CLIENTS = 1000, 100, 40
DID = f"{REQUESTS:,} requests of one user at a limit of {LIMIT} a minute"
PROXIES = 2
WINDOW_SECONDS = 60
"""LiteLLM counts in windows of a minute; rightseat lets a request more pass every 0.6 seconds."""
START_SECONDS = 300.0
READ_SECONDS = 180.0
# A key of LiteLLM's needs its database; who has none gives keys their limits by a function.
CUSTOM_AUTH = f"""
from litellm.proxy._types import UserAPIKeyAuth


async def find_user(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, user_id="anna", rpm_limit={LIMIT})
"""


async def ask_many(urls: list[str], model: str, key: str = "") -> tuple[collections.Counter[int], float]:
    """Post all requests, each to the next server; return how often each status came, and the seconds."""
    statuses: collections.Counter[int] = collections.Counter()
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def ask(client_number: int) -> None:
        for number in range(REQUESTS // CLIENTS):
            async with RawHttpClient(urls[(client_number + number) % len(urls)], timeout=READ_SECONDS) as client:
                await client.post_json("/v1/chat/completions", body, headers)
                statuses[(await client.read_head()).status] += 1
                await client.read_body()

    clock = asyncio.get_running_loop().time
    began = clock()
    await asyncio.gather(*map(ask, range(CLIENTS)))
    return statuses, clock() - began


def describe(product: str, statuses: collections.Counter[int], seconds: float, refill: int = 0) -> DrillRow:
    others = sum(count for status, count in statuses.items() if status not in (200, 429))
    told = f"{statuses[200]} were answered in {seconds:.0f} s"
    if refill:
        told += f": {LIMIT}, and {statuses[200] - LIMIT} of the {refill} that the rate adds in that time"
    elif seconds >= WINDOW_SECONDS:
        told += f", which is more than one window of {WINDOW_SECONDS} s"
    if others:
        told += f"; {others} failed otherwise"
    return DrillRow(
        product, DID, told, {"answered": statuses[200], "others": others, "seconds": seconds, "refill": refill}
    )


async def measure_rightseat(home: Path, replicas: int = 3, live: LiveKind = "postgres") -> DrillRow:
    (home / "turns.json").write_text(json.dumps({"turns": [{"say": ["0 ", "1 "]}]}), "utf-8")
    tables = f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
[limits]
requests_per_minute = {LIMIT}
"""
    async with Cluster(tables, replicas=replicas, live=live) as cluster:
        statuses, seconds = await ask_many(cluster.urls, "m")
    product = f"rightseat, {replicas} replicas, PostgreSQL{' and Valkey' * (live == 'valkey')}"
    # A leaky bucket: a request more is allowed every 0.6 seconds.
    return describe(product, statuses, seconds, int(seconds * LIMIT / 60) + 1)


async def measure_litellm(*, has_redis: bool) -> DrillRow:
    """Two proxies with one worker each, with and without a server by which they count together."""
    key = f"sk-{secrets.token_hex(8)}"
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(FakeUpstream())
        settings: dict[str, object] = {"custom_auth": "limited_keys.find_user"}
        if has_redis:
            valkey = stack.enter_context(ValkeyServer())
            settings["coordination_redis"] = {"host": "127.0.0.1", "port": valkey.port}
        command = [str(litellm.PYTHON), str(ROOT / "bench" / "launch_litellm.py"), upstream.origin]
        env = litellm.PEER.env(upstream.origin)
        urls = []
        for _ in range(PROXIES):
            proxy = RightseatProcess(command=[*command, json.dumps(settings)], env=env, start_timeout=START_SECONDS)
            (proxy.folder / "limited_keys.py").write_text(CUSTOM_AUTH, "utf-8")
            await stack.enter_async_context(proxy)
            urls.append(proxy.url)
        # What each loads with its first request is no part of the drill, and counts for another user.
        await asyncio.gather(*(warm_up(url, f"sk-{secrets.token_hex(8)}") for url in urls))
        statuses, seconds = await ask_many(urls, "bench", key)
    shared = "with Redis (Valkey)" if has_redis else "without Redis"
    return describe(f"LiteLLM {litellm.PEER.version()}, {PROXIES} proxies {shared}", statuses, seconds)


async def warm_up(url: str, key: str) -> None:
    async with RawHttpClient(url, timeout=READ_SECONDS) as client:
        body = {"model": "bench", "messages": [{"role": "user", "content": "hi"}]}
        await client.post_json("/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
        head = await client.read_head()
        answer = await client.read_body()
        if head.status != 200:
            raise RuntimeError(f"LiteLLM said {head.status}: {answer[:500]!r}")
