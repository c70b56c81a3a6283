"""Three replicas on one database, with and without Valkey: whichever is asked answers as if there were one."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.faults.test_claims import ask, post_run
from tests.faults.test_crashes import DOCUMENT, CountingApi, serve_api
from tests.faults.test_workers import CONNECT, RUN, STOP, join_text, make_run, read_frames
from tests.kit.answers import answer_tool_calls
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.cluster import LIVE_KINDS, Cluster
from tests.kit.rounds import limit_rounds
from tests.kit.upstream import FakeUpstream

pytestmark = [*(pytest.mark.io, pytest.mark.long, pytest.mark.timeout(600)), pytest.mark.asyncio(loop_scope="module")]
PACED = "fault-ok:count=40,rate=40.0"
"""Asks the upstream for forty numbered words, forty a second."""
LARGE = "fault-ok:count=20000"
FOLLOWERS = 60


@dataclass
class Service:
    cluster: Cluster
    upstream: FakeUpstream
    api: CountingApi

    @property
    def urls(self) -> list[str]:
        return self.cluster.urls


def write_tables(home: Path, upstream: FakeUpstream, api: CountingApi) -> str:
    folder = home / "plugins" / "p"
    folder.mkdir(parents=True)
    (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", api.url), "utf-8")
    return f"""
[models.m]
spec = "openai:any"
base_url = "{upstream.base_url}"
api_key = "key"
[[plugins]]
path = "{home / "plugins"}"
allow = ["127.0.0.1"]
retries = 0
confirm = "writes"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LIVE_KINDS)
async def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with FakeUpstream() as upstream, serve_api() as api:
        tables = write_tables(tmp_path_factory.mktemp("cluster"), upstream, api)
        async with Cluster(tables, live=request.param) as cluster:
            yield Service(cluster, upstream, api)


async def post(url: str, path: str, thread: str, run: str, text: str = PACED, after: str = "") -> list[SseFrame]:
    async with RawHttpClient(url) as client:
        await client.post_json(path, make_run(thread, run, text), {"Last-Event-ID": after} if after else {})
        return await read_frames(client)


@pytest.mark.demand("cluster.replica_stops_replica")
async def test_runs_are_stopped_at_another_replica(service: Service) -> None:
    urls, upstream, runs = service.urls, service.upstream, limit_rounds(200)
    requests, closed = len(upstream.requests), upstream.closed_count

    async def stop(number: int) -> None:
        async with RawHttpClient(urls[(number + 1) % 3]) as client:
            await client.post_json(f"{STOP}/stop{number}", {})
            assert (await client.read_head()).status == 200
            assert json.loads(await client.read_body())["stopped"] is True

    async with contextlib.AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(RawHttpClient(urls[number % 3])) for number in range(runs)]
        for number, reader in enumerate(readers):
            await reader.post_json(RUN, make_run(f"stop{number}", "r", "fault-stall"))
        await upstream.wait_requests(requests + runs)
        await asyncio.gather(*map(stop, range(runs)))
        await upstream.wait_closed(closed + runs)
        for reader in readers:
            frames = await read_frames(reader)
            assert frames[-1].json["type"] in ("RUN_ERROR", "RUN_FINISHED")
    assert service.cluster.list_busy_threads() == []


@pytest.mark.demand("cluster.joined_at_every_number")
async def test_a_run_is_joined_at_another_replica_at_every_number(service: Service) -> None:
    urls = service.urls
    seen: list[SseFrame] = []
    joined: list[asyncio.Task[list[SseFrame]]] = []
    async with RawHttpClient(urls[0]) as client:
        await client.post_json(RUN, make_run("every", "r", PACED))
        assert (await client.read_head()).status == 200
        async for frame in client.iterate_frames():
            if not frame.data:
                continue
            seen.append(frame)
            url = urls[1 + len(seen) % 2]
            joined.append(asyncio.create_task(post(url, CONNECT, "every", "r", after=frame.id or "")))
    rests = await asyncio.gather(*joined)
    assert seen[-1].json["type"] == "RUN_FINISHED"
    assert [frame.json["type"] for frame in seen if frame.json["type"].startswith("RUN_")] == [
        "RUN_STARTED",
        "RUN_FINISHED",
    ]
    for position, rest in enumerate(rests, 1):
        assert join_text(seen[:position]) + join_text(rest) == join_text(seen)
        assert not rest or rest[-1].data == seen[-1].data
    assert join_text(await post(urls[2], CONNECT, "every", "r")) == join_text(seen)


@pytest.mark.demand("cluster.one_run_at_replicas")
async def test_the_same_run_posted_at_all_replicas_at_once_asks_the_model_once(service: Service) -> None:
    for number in range(limit_rounds(200)):
        asked = len(service.upstream.requests)
        posts = [post(url, RUN, f"same{number}", "r", "fault-ok:count=5") for url in service.urls]
        answers = await asyncio.gather(*posts)
        assert len({join_text(frames) for frames in answers}) == 1
        assert join_text(answers[0])
        assert len(service.upstream.requests) == asked + 1


@pytest.mark.demand("cluster.one_run_at_replicas")
async def test_of_two_runs_on_one_thread_one_is_refused(service: Service) -> None:
    async def post_status(url: str, thread: str, run: str) -> int:
        async with RawHttpClient(url) as client:
            await client.post_json(RUN, make_run(thread, run, "fault-ok:count=20,rate=20.0"))
            head = await client.read_head()
            await client.read_body()
            return head.status

    for number in range(limit_rounds(200)):
        here, there = service.urls[number % 3], service.urls[(number + 1) % 3]
        statuses = await asyncio.gather(
            post_status(here, f"two{number}", "r1"), post_status(there, f"two{number}", "r2")
        )
        assert sorted(statuses) == [200, 409]


@pytest.mark.demand("cluster.one_answer_at_replicas")
async def test_an_approval_answered_at_two_replicas_at_once_runs_one_call(service: Service) -> None:
    for number in range(limit_rounds(200)):
        thread, paid = f"approve{number}", len(service.api.requests)
        service.upstream.queue_replies(answer_tool_calls(("p_order", "{}")))
        question = await ask(service.urls[number % 3], thread)
        posts = [post_run(url, thread, f"r{place}", [question]) for place, url in enumerate(service.urls * 2, 1)]
        ends = await asyncio.gather(*posts)
        assert len(service.api.requests) == paid + 1
        assert sum(end["type"] == "RUN_FINISHED" for end in ends) == 1, ends
        assert {end["code"] for end in ends if end["type"] == "RUN_ERROR"} == {"already_answered"}


@pytest.mark.demand("cluster.slow_followers")
async def test_a_follower_that_reads_nothing_delays_nobody(service: Service) -> None:
    urls = service.urls
    async with RawHttpClient(urls[0]) as client, RawHttpClient(urls[1], rcvbuf=4096) as slow:
        await client.post_json(RUN, make_run("slow", "r", LARGE))
        assert (await client.read_head()).status == 200
        await slow.post_json(CONNECT, make_run("slow", "r"))
        assert (await slow.read_head()).status == 200
        beside = asyncio.create_task(post(urls[1], CONNECT, "slow", "r"))
        own = [frame async for frame in client.iterate_frames() if frame.data]
        assert own[-1].json["type"] == "RUN_FINISHED"
        assert join_text(await beside) == join_text(own)
        first = await slow.read_frame()
        slow.reset()
    assert first is not None
    rest = await post(urls[1], CONNECT, "slow", "r", after=first.id or "")
    assert join_text([first]) + join_text(rest) == join_text(own)


@pytest.mark.demand("cluster.deployments_at_replicas")
async def test_two_deployments_see_nothing_of_each_other(service: Service) -> None:
    cluster, upstream = service.cluster, service.upstream
    requests = len(upstream.requests)
    async with (
        Cluster(cluster.tables, replicas=1, live=cluster.live, beside=cluster) as other,
        RawHttpClient(service.urls[0]) as client,
    ):
        await client.post_json(RUN, make_run("apart", "r", "fault-stall"))
        await upstream.wait_requests(requests + 1)
        async with RawHttpClient(other.urls[0]) as stranger:
            await stranger.post_json(f"{STOP}/apart", {})
            head = await stranger.read_head()
            assert head.status == 404 or json.loads(await stranger.read_body())["stopped"] is False
        assert cluster.list_busy_threads() == ["apart"]
        assert other.list_busy_threads() == []
        # The same thread and run there are a run of their own.
        theirs = await post(other.urls[0], RUN, "apart", "r", "fault-ok:count=9")
        assert theirs[-1].json["type"] == "RUN_FINISHED"
        assert await post(other.urls[0], CONNECT, "every", "r") == []
        await post_stop(service.urls[1], "apart")
        assert "w8" not in join_text(await read_frames(client))


async def post_stop(url: str, thread: str) -> None:
    async with RawHttpClient(url) as client:
        await client.post_json(f"{STOP}/{thread}", {})
        assert (await client.read_head()).status == 200


@pytest.mark.demand("cluster.followers_need_no_connections")
@pytest.mark.parametrize("live", LIVE_KINDS)
async def test_many_followers_need_no_more_connections(tmp_path: Path, live: str) -> None:
    async with FakeUpstream() as upstream, serve_api() as api, contextlib.AsyncExitStack() as stack:
        tables = write_tables(tmp_path, upstream, api)
        kind = next(kind for kind in LIVE_KINDS if kind == live)
        cluster = await stack.enter_async_context(Cluster(tables, replicas=2, live=kind, has_relays=True))
        own = await stack.enter_async_context(RawHttpClient(cluster.urls[0]))
        await own.post_json(RUN, make_run("t", "r", "fault-stall"))
        await upstream.wait_requests(1)
        followers = [await stack.enter_async_context(RawHttpClient(cluster.urls[1])) for _ in range(FOLLOWERS)]
        for follower in followers:
            await follower.post_json(CONNECT, make_run("t", "r"))
        for follower in followers:
            assert (await follower.read_head()).status == 200
            frame = await follower.read_frame()
            assert frame is not None
        assert cluster.database_relay is not None
        assert len(cluster.database_relay._writers) <= 2 * 8
        if cluster.live_relay is not None:
            assert len(cluster.live_relay._writers) <= 2 * 3
        await post_stop(cluster.urls[1], "t")
        for follower in followers:
            ends = [frame.json["type"] async for frame in follower.iterate_frames() if frame.data]
            assert ends[-1] in ("RUN_ERROR", "RUN_FINISHED")


KEYS = {name: f"key-of-{name}-{'x' * 20}" for name in ("anna", "bert")}


@pytest.mark.demand("cluster.leaving_callers")
async def test_requests_that_are_broken_off_give_no_reply_to_another_owner(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream, serve_api() as api:
        keys = "\n".join(f'{name} = "{key}"' for name, key in KEYS.items())
        tables = f"{write_tables(tmp_path, upstream, api)}[auth.keys]\n{keys}\n"
        async with Cluster(tables, replicas=2, live="valkey") as cluster:

            async def leave(name: str, number: int) -> None:
                """Begin a run that nobody else may see, and go before its answer has come."""
                async with RawHttpClient(cluster.urls[number % 2]) as client:
                    body = make_run(f"canary-{name}-{number}", "r", f"canary-{name} fault-ok:count=3")
                    await client.post_json(RUN, body, {"Authorization": f"Bearer {KEYS[name]}"})
                    await asyncio.sleep(0.001 * (number % 7))
                    client.reset()

            async def look(name: str, other: str, number: int) -> None:
                async with RawHttpClient(cluster.urls[number % 2]) as client:
                    body = make_run(f"canary-{other}-{number}", "c")
                    await client.post_json(CONNECT, body, {"Authorization": f"Bearer {KEYS[name]}"})
                    await client.read_head()
                    assert f"canary-{other}" not in (await client.read_body()).decode()
                    await client.get("/copilotkit/threads", {"Authorization": f"Bearer {KEYS[name]}"})
                    await client.read_head()
                    assert f"canary-{other}" not in (await client.read_body()).decode()

            for start in range(0, limit_rounds(1000), 10):
                jobs = []
                for number in range(start, start + 10):
                    jobs += [leave("anna", number), leave("bert", number)]
                    jobs += [look("anna", "bert", number), look("bert", "anna", number)]
                await asyncio.gather(*jobs)
            rows = cluster.query("SELECT DISTINCT owner, thread FROM {s}.entries")
            assert rows
            owners = {(owner, thread.split("-")[1]) for owner, thread in rows}
            assert len(owners) == len({owner for owner, _ in owners}) == len({name for _, name in owners})
