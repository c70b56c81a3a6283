"""Replicas on one database that are killed, sleep past their lease or are blocked, with and without Valkey."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evals.crashes.replicas import run_replica_drill
from tests.faults.sleep_report import ROOT
from tests.faults.test_flow_takeover import (
    CONNECT_PATH,
    RUN_PATH,
    WORDS,
    check_one_run,
    follow,
    is_over,
    join_text,
    make_input,
    post,
)
from tests.faults.test_workers import CONNECT, RUN, make_run, read_frames
from tests.faults.turn_shop import join_deltas
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.cluster import LIVE_KINDS, Cluster, LiveKind
from tests.kit.effect_sink import KeyedSink, serve_sink
from tests.kit.rounds import limit_rounds
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.long, pytest.mark.timeout(900)]
SEED = 26
LEASE_SECONDS = 4.0
EFFECTS = ("/orders", "/payments", "/mails")
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
  /slow:
    get: {description: Read., responses: {"200": {description: ok}}}
  /payments:
    post:
      description: An effect that is known by its key.
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      responses: {"200": {description: ok}}
""" + "".join(
    f"""  {path}:
    post: {{description: An effect., responses: {{"200": {{description: ok}}}}}}
"""
    for path in ("/orders", "/mails")
)
FLOW = """
name: order
description: Orders, pays and mails.
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders, values: {}}, next: pay}
  - {name: pay, call_type: api, params: {endpoint: POST /payments, values: {}}, next: look}
  - {name: look, call_type: api, params: {endpoint: GET /slow, values: {}}, next: mail}
  - {name: mail, call_type: api, params: {endpoint: POST /mails, values: {}}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell."}}
"""


@pytest.mark.demand("cluster.killed_replicas")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_struck_at_random_events_nothing_is_lost_doubled_or_contradicted(tmp_path: Path, live: LiveKind) -> None:
    report = await run_replica_drill(tmp_path, limit_rounds(100), SEED, live=live)
    print(report)
    assert report.problems == []
    assert report.points == limit_rounds(100)
    assert report.take_overs, "some runs lost their replica"
    assert (report.zombie_entries, report.repeated) == (0, 0)


@pytest.mark.drill
@pytest.mark.demand("cluster.clocks_do_not_matter")
async def test_struck_replicas_whose_clocks_are_wrong_by_an_hour_are_taken_over_the_same(tmp_path: Path) -> None:
    points = limit_rounds(30) // 3
    report = await run_replica_drill(tmp_path, points, SEED, clock_shifts=(3600.0, -3600.0))
    print(report)
    assert report.problems == []
    assert report.points == points
    assert (report.zombie_entries, report.repeated) == (0, 0)


@asynccontextmanager
async def serve_flow(
    home: Path, live: LiveKind, waiting: str, *, cuts_first: bool = False
) -> AsyncIterator[tuple[Cluster, KeyedSink]]:
    """Three replicas that serve the flow over a sink in which callers of one path wait."""
    async with serve_sink(waiting) as sink:
        folder = home / "plugins" / "shop"
        (folder / "flows").mkdir(parents=True)
        (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", sink.url), "utf-8")
        (folder / "flows" / "order.yaml").write_text(FLOW, "utf-8")
        (home / "turns.json").write_text(json.dumps({"turns": [{"when": {"user": "^Tell"}, "say": WORDS}]}), "utf-8")
        tables = f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
[[plugins]]
path = "{home / "plugins"}"
allow = ["127.0.0.1"]
retries = 0
"""
        async with Cluster(tables, live=live, lease_seconds=LEASE_SECONDS, cuts_first=cuts_first) as cluster:
            yield cluster, sink


async def start_flow(cluster: Cluster, stack: AsyncExitStack) -> list[SseFrame]:
    """Start the run at the first replica and return the list that its frames come into."""
    client = await stack.enter_async_context(RawHttpClient(cluster.urls[0]))
    await client.post_json(RUN_PATH, make_input("r1"))
    assert (await client.read_head()).status == 200
    return follow(stack, client)


@pytest.mark.demand("cluster.killed_replicas")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_killed_while_a_step_reads_the_flow_goes_on(tmp_path: Path, live: LiveKind) -> None:
    async with serve_flow(tmp_path, live, "/slow") as (cluster, sink), AsyncExitStack() as stack:
        seen = await start_flow(cluster, stack)
        await sink.wait_requests("/slow")
        assert cluster.find_owner("t") == 0
        await cluster.kill(0)
        sink.released.set()
        whole = await post(cluster.urls[1], RUN_PATH, make_input("r1"))
        check_one_run(whole)
        assert [frame.data for frame in whole[: len(seen)]] == [frame.data for frame in seen]
        assert join_text(whole) == "".join(WORDS)
        assert {path: sink.requests[path] for path in EFFECTS} == dict.fromkeys(EFFECTS, 1)
        await cluster.restart(0)
        again = await post(cluster.urls[0], CONNECT_PATH, make_input("c"))
        assert join_deltas(again) == join_deltas(whole)


@pytest.mark.demand("cluster.killed_replicas")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_killed_while_a_step_has_an_effect_it_is_asked_about(tmp_path: Path, live: LiveKind) -> None:
    async with serve_flow(tmp_path, live, "/mails") as (cluster, sink), AsyncExitStack() as stack:
        await start_flow(cluster, stack)
        await sink.wait_requests("/mails")
        await cluster.kill(0)
        sink.released.set()
        whole = await post(cluster.urls[1], RUN_PATH, make_input("r1"))
        check_one_run(whole)
        (interrupt,) = whole[-1].json["outcome"]["interrupts"]
        assert "may have run" in interrupt["message"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"then": "skip"}}
        end = await post(cluster.urls[2], RUN_PATH, make_input("r2", [answer]))
        assert join_text(end) == "".join(WORDS)
        assert {path: sink.requests[path] for path in EFFECTS} == dict.fromkeys(EFFECTS, 1)


@pytest.mark.demand("cluster.killed_replicas")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_killed_while_a_step_has_a_key_it_runs_again_with_that_key(tmp_path: Path, live: LiveKind) -> None:
    async with serve_flow(tmp_path, live, "/payments") as (cluster, sink), AsyncExitStack() as stack:
        await start_flow(cluster, stack)
        await sink.wait_requests("/payments")
        await cluster.kill(0)
        sink.released.set()
        whole = await post(cluster.urls[1], RUN_PATH, make_input("r1"))
        check_one_run(whole)
        assert join_text(whole) == "".join(WORDS)
        assert (sink.requests["/orders"], sink.requests["/mails"]) == (1, 1)
        assert len(sink.keys["/payments"]) == 1
        assert all(sink.keys["/payments"])


@pytest.mark.demand("cluster.woken_replicas")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_who_wakes_after_its_flow_was_finished_elsewhere_does_nothing_more(
    tmp_path: Path, live: LiveKind
) -> None:
    async with serve_flow(tmp_path, live, "/slow") as (cluster, sink), AsyncExitStack() as stack:
        seen = await start_flow(cluster, stack)
        await sink.wait_requests("/slow")
        cluster.pause(0)
        sink.released.set()
        whole = await post(cluster.urls[1], RUN_PATH, make_input("r1"))
        check_one_run(whole)
        log = [(row.first, row.last) for row in cluster.read_entries("t")]
        cluster.unpause(0)
        # Its own reader gets the rest of the run as the log has it.
        await wait_until(lambda: is_over(seen))
        assert join_deltas(seen) == join_deltas(whole)
        # It has been heard of again, and has answered a request.
        assert await ask_health(cluster.urls[0]) == 200
        later = await post(cluster.urls[0], CONNECT_PATH, make_input("c"))
        assert join_deltas(later) == join_deltas(whole)
        assert [(row.first, row.last) for row in cluster.read_entries("t")] == log
        assert {path: sink.requests[path] for path in EFFECTS} == dict.fromkeys(EFFECTS, 1)


async def ask_health(url: str) -> int:
    async with RawHttpClient(url) as client:
        await client.get("/health")
        return (await client.read_head()).status


@pytest.mark.demand("cluster.blocked_replica_lives")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_a_tool_that_blocks_the_loop_is_not_taken_over(tmp_path: Path, live: LiveKind) -> None:
    arguments: dict[str, Any] = {"folder": str(tmp_path), "seconds": 2 * LEASE_SECONDS}
    calls = [{"name": "block_long", "arguments": arguments}]
    turns = [{"when": {"tool": "block_long"}, "say": WORDS}, {"when": {"user": "go"}, "calls": calls}]
    (tmp_path / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")
    tables = f"""
[models.m]
spec = "scripted:{tmp_path / "turns.json"}"
[assistants.default]
model = "m"
tools = ["tests.faults.sleeping_tools:block_long"]
"""
    env = {"PYTHONPATH": str(ROOT)}
    async with (
        Cluster(tables, live=live, lease_seconds=LEASE_SECONDS, env=env) as cluster,
        RawHttpClient(cluster.urls[0]) as client,
    ):
        await client.post_json(RUN, make_run("t", "r", "go"))
        elsewhere = asyncio.create_task(post(cluster.urls[1], CONNECT, make_run("t", "c")))
        frames = await read_frames(client)
        assert frames[-1].json["type"] == "RUN_FINISHED"
        assert count_calls(tmp_path) == 1
        await elsewhere
        ((fence,),) = cluster.query("SELECT fence FROM {s}.threads")
        assert fence == 1, "nobody has taken the thread over"


def count_calls(folder: Path) -> int:
    """Return how often a tool that notes its calls in a folder began."""
    return len(list(folder.glob("began-*")))
