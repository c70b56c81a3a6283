"""Quotas over replicas on one database: exact, also where the clocks of the machines are wrong."""

import asyncio
import collections
import json
from pathlib import Path

import msgspec
import pytest

from rightseat.middleware.quota import USAGE_KEY, DailyUsage
from tests.kit.client import RawHttpClient
from tests.kit.cluster import LIVE_KINDS, Cluster, LiveKind

pytestmark = [pytest.mark.io, pytest.mark.long, pytest.mark.timeout(600)]
REQUESTS, LIMIT = 1000, 100
CLIENTS = 40
USAGE = {"input": 30, "output": 12}
INPUT_COST, OUTPUT_COST = 250.0, 1000.0
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def write_tables(home: Path) -> str:
    (home / "turns.json").write_text(json.dumps({"turns": [{"say": ["0 ", "1 "], "usage": USAGE}]}), "utf-8")
    return f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
input_cost = {INPUT_COST}
output_cost = {OUTPUT_COST}
[limits]
requests_per_minute = {LIMIT}
spend_per_day = 1000
"""


async def ask_many(urls: list[str]) -> tuple[collections.Counter[int], int]:
    """Return how often each status came, and how many requests the leaky bucket let through while it drained."""
    statuses: collections.Counter[int] = collections.Counter()

    async def ask(client_number: int) -> None:
        for number in range(REQUESTS // CLIENTS):
            async with RawHttpClient(urls[(client_number + number) % len(urls)]) as client:
                await client.post_json("/v1/chat/completions", CHAT)
                statuses[(await client.read_head()).status] += 1
                await client.read_body()

    clock = asyncio.get_running_loop().time
    began = clock()
    await asyncio.gather(*map(ask, range(CLIENTS)))
    return statuses, int((clock() - began) * LIMIT / 60) + 1


def read_usage(cluster: Cluster) -> DailyUsage:
    ((body,),) = cluster.query("SELECT body FROM {s}.kept WHERE kind = 'note' AND key = %s", USAGE_KEY)
    return msgspec.json.decode(body, type=DailyUsage)


@pytest.mark.demand("cluster.quotas_at_replicas")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_of_a_thousand_requests_at_three_replicas_a_hundred_are_admitted(tmp_path: Path, live: LiveKind) -> None:
    async with Cluster(write_tables(tmp_path), live=live) as cluster:
        statuses, drained = await ask_many(cluster.urls)
        usage = read_usage(cluster)
    assert set(statuses) == {200, 429}
    assert LIMIT <= statuses[200] <= LIMIT + drained
    check_money(usage, statuses[200])


@pytest.mark.demand("cluster.clocks_do_not_matter")
async def test_a_clock_that_is_wrong_by_an_hour_changes_nothing(tmp_path: Path) -> None:
    async with Cluster(write_tables(tmp_path), clock_shifts=(3600.0, -3600.0)) as cluster:
        statuses, drained = await ask_many(cluster.urls)
        usage = read_usage(cluster)
    assert set(statuses) == {200, 429}
    assert LIMIT <= statuses[200] <= LIMIT + drained
    check_money(usage, statuses[200])


def check_money(usage: DailyUsage, answers: int) -> None:
    """The sum of what each answer costs, counted once."""
    assert usage.tokens == answers * sum(USAGE.values())
    cost = (USAGE["input"] * INPUT_COST + USAGE["output"] * OUTPUT_COST) / 1_000_000
    assert usage.spent == pytest.approx(answers * cost, rel=1e-9)
