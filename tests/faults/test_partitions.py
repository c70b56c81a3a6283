"""One replica is cut off from PostgreSQL, from Valkey or from both while the others are not, and the network heals."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evals.crashes.checker import LogCopy, check_runs, parse_id
from tests.faults.test_cluster_kills import EFFECTS, LEASE_SECONDS, serve_flow, start_flow
from tests.faults.test_damaged_store import get
from tests.faults.test_flow_takeover import CONNECT_PATH, RUN_PATH, check_one_run, is_over, make_input, post
from tests.faults.test_outages import FrameReader, make_model
from tests.faults.test_workers import CONNECT, RUN, STOP, make_run
from tests.kit.answers import WordGate
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.cluster import Cluster
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.long, pytest.mark.timeout(600)]
WORDS = [f"{number} " for number in range(60)]
ALL = 1000
CUTS = [
    ("database", "be_silent"),
    pytest.param("database", "refuse", marks=pytest.mark.drill),
    pytest.param("both", "be_silent", marks=pytest.mark.drill),
    pytest.param("both", "refuse", marks=pytest.mark.drill),
]


@asynccontextmanager
async def cut_off(cluster: Cluster, engines: str, fault: str) -> AsyncIterator[None]:
    """Cut the first replica off from one engine or from both."""
    async with AsyncExitStack() as stack:
        for name, relay in (("database", cluster.database_relay), ("live", cluster.live_relay)):
            assert relay is not None
            if engines in (name, "both"):
                await stack.enter_async_context(getattr(relay, fault)())
        yield


class SplitService:
    """Two replicas, the first of which can be cut off, and a model whose words come as the test releases them."""

    def __init__(self, cluster: Cluster, upstream: FakeUpstream, gate: WordGate, stack: AsyncExitStack) -> None:
        self.cluster = cluster
        self.upstream = upstream
        self.gate = gate
        self.stack = stack

    async def read(self, index: int, path: str, thread: str = "t", run: str = "r", after: str = "") -> FrameReader:
        client = await self.stack.enter_async_context(RawHttpClient(self.cluster.urls[index], timeout=180))
        await client.post_json(path, make_run(thread, run), {"Last-Event-ID": after} if after else {})
        return FrameReader(client)

    async def begin(self) -> tuple[FrameReader, FrameReader]:
        """Begin a run at the first replica; return its reader there and one at the other."""
        await self.gate.release(10)
        own = await self.read(0, RUN)
        await own.wait_words(5)
        other = await self.read(1, CONNECT)
        await other.wait_words(5)
        return own, other

    async def wait_back(self) -> None:
        """Wait until both replicas read threads again: a request just after the silence may be told to come back."""
        async with asyncio.timeout(HANG_TIMEOUT):
            while True:
                statuses = [(await get(url, "/copilotkit/threads"))[0] for url in self.cluster.urls]
                if statuses == [200, 200]:
                    return
                await asyncio.sleep(0.1)

    def check_log(self) -> LogCopy:
        """Check the log of the thread, in which every run has one end."""
        copy = LogCopy(self.cluster.read_entries("t"))
        assert list(check_runs(copy)) == []
        assert self.cluster.list_busy_threads() == []
        return copy


@asynccontextmanager
async def serve_split() -> AsyncIterator[SplitService]:
    gate = WordGate(WORDS)
    async with FakeUpstream() as upstream, AsyncExitStack() as stack:
        upstream.reply = gate
        tables = f"[models.m]\n{make_model(upstream)}\n"
        cluster = Cluster(tables, replicas=2, live="valkey", lease_seconds=LEASE_SECONDS, cuts_first=True)
        yield SplitService(await stack.enter_async_context(cluster), upstream, gate, stack)
        await gate.release(ALL)


def check_contradictions(frames: list[SseFrame], log: LogCopy) -> None:
    """Numbers grow, and none means two things: what the log lacks was shown while its replica was cut off."""
    before = (0, 0)
    for frame in frames:
        assert frame.id is not None
        position = parse_id(frame.id)
        assert position > before
        if frame.json["type"] == "TEXT_MESSAGE_CONTENT":
            assert frame.id not in log.frames
        elif frame.id in log.frames:
            assert frame.json in log.frames[frame.id]
        before = position


def merge_texts(frames: list[SseFrame]) -> list[dict[str, Any]]:
    """Return the events of frames; how a text was cut into pieces does not matter."""
    events: list[dict[str, Any]] = []
    for event in (dict(frame.json) for frame in frames):
        if "delta" in event and events and events[-1]["type"] == event["type"]:
            events[-1]["delta"] += event["delta"]
        else:
            events.append(event)
    return events


@pytest.mark.demand("cluster.partitions")
@pytest.mark.parametrize(("engines", "fault"), CUTS)
async def test_who_was_cut_off_leaves_its_run_to_the_others_when_it_is_back(engines: str, fault: str) -> None:
    async with serve_split() as split:
        own, other = await split.begin()
        async with cut_off(split.cluster, engines, fault):
            await split.gate.release(20)
            # Nobody can tell it from a machine that has died: its run is ended.
            await other.task
            assert other.frames[-1].json["code"] == "restarted"
            await own.wait_words(15)
        # No further word comes: the replica learns by itself that the run is not its own any more.
        await own.task
        assert own.frames[-1].json == other.frames[-1].json
        await split.upstream.wait_closed(1)
        log = split.check_log()
        for reader in (own, other):
            check_contradictions(reader.frames, log)
        await split.wait_back()
        for index in range(2):
            again = await split.read(index, CONNECT)
            await again.task
            assert again.text == other.text
            assert again.frames[-1].json == other.frames[-1].json
        await split.gate.release(ALL)
        for index in range(2):
            answer = await split.read(index, RUN, run=f"next{index}")
            await answer.task
            assert answer.text == "".join(WORDS)
        split.check_log()


@pytest.mark.demand("cluster.partitions")
@pytest.mark.parametrize(("engines", "fault"), CUTS)
async def test_who_is_cut_off_begins_no_effect_and_the_flow_goes_on_elsewhere(
    tmp_path: Path, engines: str, fault: str
) -> None:
    async with serve_flow(tmp_path, "valkey", "/slow", cuts_first=True) as (cluster, sink), AsyncExitStack() as stack:
        seen = await start_flow(cluster, stack)
        await sink.wait_requests("/slow")
        async with cut_off(cluster, engines, fault):
            # The next step has an effect. The replica reaches the API, and nobody has its sign of life.
            await cluster.wait_for(lambda: cluster.find_owner("t") not in (None, 0))
            sink.released.set()
            whole = await post(cluster.urls[1], RUN_PATH, make_input("r1"))
        check_one_run(whole)
        await wait_until(lambda: is_over(seen))
        log = LogCopy(cluster.read_entries("t"))
        assert list(check_runs(log)) == []
        check_contradictions(seen, log)
        # Where the database refuses at once its own reader may be told that the flow cannot go on without it.
        assert seen[-1].json == whole[-1].json or seen[-1].json["code"] == "flow_failed"
        later = await post(cluster.urls[0], CONNECT_PATH, make_input("c"))
        assert merge_texts(later) == merge_texts(whole)
        assert {path: sink.requests[path] for path in EFFECTS} == dict.fromkeys(EFFECTS, 1)


@pytest.mark.demand("cluster.partitions")
@pytest.mark.parametrize("fault", ["be_silent", pytest.param("refuse", marks=pytest.mark.drill)])
async def test_who_is_cut_off_from_valkey_keeps_its_runs_and_is_stopped_by_the_database(fault: str) -> None:
    async with serve_split() as split:
        own, other = await split.begin()
        async with cut_off(split.cluster, "live", fault):
            await split.gate.release(30)
            await own.wait_words(25)
            await other.wait_words(25)
            async with RawHttpClient(split.cluster.urls[1]) as client:
                await client.post_json(f"{STOP}/t", {})
                assert (await client.read_head()).status in (200, 202)
            await split.upstream.wait_closed(1)
            await asyncio.gather(own.task, other.task)
        assert own.frames[-1].json == other.frames[-1].json
        assert own.text == other.text
        split.check_log()
        ((fence,),) = split.cluster.query("SELECT fence FROM {s}.threads")
        assert fence == 1, "nobody has taken the thread over"


@pytest.mark.demand("cluster.partitions")
@pytest.mark.parametrize("fault", ["resets", pytest.param("latency", marks=pytest.mark.drill)])
async def test_a_bad_network_of_one_replica_changes_nothing(fault: str) -> None:
    async with serve_split() as split:
        relays = [relay for relay in (split.cluster.database_relay, split.cluster.live_relay) if relay is not None]
        own, other = await split.begin()
        for count in range(20, len(WORDS), 10):
            for relay in relays:
                if fault == "latency":
                    relay.latency = 0.3
                else:
                    relay.reset_connections()
            await split.gate.release(count)
            await own.wait_words(count - 5)
            await other.wait_words(count - 5)
        for relay in relays:
            relay.latency = 0
        await split.gate.release(ALL)
        await asyncio.gather(own.task, other.task)
        assert own.text == other.text == "".join(WORDS)
        assert own.frames[-1].json["type"] == other.frames[-1].json["type"] == "RUN_FINISHED"
        log = split.check_log()
        assert "".join(log.pieces[number] for number in sorted(log.pieces)) == "".join(WORDS)
        for reader in (own, other):
            check_contradictions(reader.frames, log)
        ((fence,),) = split.cluster.query("SELECT fence FROM {s}.threads")
        assert fence == 1, "nobody has taken the thread over"
