"""Clients that leave, stall or crawl, over real sockets: nothing of theirs may be left behind."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from rightseat.http import reply as pump
from tests.faults.protocols import (
    AGUI,
    OPENAI_STREAMED,
    OPENAI_WHOLE,
    PROTOCOLS,
    PeakMeter,
    ProtocolClient,
    poll_until,
    read_until_text,
)
from tests.kit.answers import answer_tool_call
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.connection import ReceivedRequest
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

MB = 1_000_000
ROOT = Path(__file__).parents[2]
CLIENT_COUNT = 100
MAX_RUNS = 150
SEND_TIMEOUT = 2
LIMITS_CONFIG = f"header_timeout = 2\nbody_timeout = 2\nsend_timeout = {SEND_TIMEOUT}"
CONFIG = """
[server]
max_runs = {runs}
{limits}
[models.kit]
spec = "openai:kit"
base_url = "{up}"
[assistants.default]
model = "kit"
tools = ["tests.faults.sleeping_tools:nap", "tests.faults.sleeping_tools:doze", "tests.faults.sleeping_tools:hibernate"]
"""


@dataclass
class Deployment:
    server: RightseatProcess
    upstream: FakeUpstream

    def count_resources(self) -> tuple[int, int, int]:
        # Idle connections to the upstream are kept for the next answer, on purpose.
        pool = len(self.upstream.open_connections)
        return self.server.socket_count - pool, self.server.thread_count, len(self.server.child_pids)

    @contextlib.asynccontextmanager
    async def assert_nothing_left(self) -> AsyncIterator[None]:
        """Every socket, thread and child that appears inside is gone soon after."""
        start = self.count_resources()
        yield
        await poll_until(
            lambda: all(now <= then for now, then in zip(self.count_resources(), start, strict=True)),
            describe=lambda: f"sockets, threads, children: {start} at the start, {self.count_resources()} now",
        )
        await assert_works(self)
        assert "Traceback" not in self.server.stderr

    async def assert_abandoned(self, requests: list[ReceivedRequest], left_at: float) -> None:
        """Each upstream was closed, and none before its client had left."""
        await self.upstream.wait_idle()
        closed = [request.abandoned_at for request in requests]
        assert all(moment is not None and moment >= left_at for moment in closed), closed


async def assert_works(deployment: Deployment) -> None:
    for face in PROTOCOLS:
        assert (await face(deployment.server.url, "hello")).text == "w0 w1 w2"


@contextlib.asynccontextmanager
async def deploy(limits: str) -> AsyncIterator[Deployment]:
    async with FakeUpstream() as upstream:
        config = CONFIG.format(up=upstream.base_url, runs=MAX_RUNS, limits=limits)
        async with RightseatProcess(config=config, env={"PYTHONPATH": str(ROOT)}) as server:
            deployment = Deployment(server, upstream)
            # What stays for good (the pool, the resolver's threads) is there from now on.
            await asyncio.gather(*(face(server.url, "hello") for face in PROTOCOLS))
            yield deployment
        # A run that lived on would be waited for, and the log would say so.
        assert "answers may take" not in server.stderr
        assert "Task" not in server.stderr


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment() -> AsyncIterator[Deployment]:
    async with deploy("") as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strict_deployment() -> AsyncIterator[Deployment]:
    """One that waits for clients only as long as LIMITS say."""
    async with deploy(LIMITS_CONFIG) as made:
        yield made


@contextlib.asynccontextmanager
async def open_clients(
    deployment: Deployment, protocol: ProtocolClient, message: str, count: int = CLIENT_COUNT
) -> AsyncIterator[list[RawHttpClient]]:
    """That many clients, each with an answer under way."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(RawHttpClient(deployment.server.url)) for _ in range(count)]
        await asyncio.gather(*(protocol.send(client, message) for client in clients))
        yield clients


def close_clients(clients: list[RawHttpClient]) -> float:
    """All go at once, one half with a FIN and one with an RST."""
    now = asyncio.get_running_loop().time()
    for number, client in enumerate(clients):
        client.close() if number % 2 else client.reset()
    return now


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("phase", ["mid-stream", "before the first token"])
@pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)
async def test_a_hundred_clients_leave(deployment: Deployment, face: ProtocolClient, phase: str) -> None:
    before = len(deployment.upstream.requests)
    async with deployment.assert_nothing_left():
        message = "fault-stall" if phase == "mid-stream" else "fault-mute"
        async with open_clients(deployment, face, message) as clients:
            await deployment.upstream.wait_requests(before + CLIENT_COUNT)
            asked = deployment.upstream.requests[before:]
            if phase == "mid-stream" and face.streamed:
                await asyncio.gather(*(read_until_text(client, "w2") for client in clients))
            elif phase == "mid-stream":
                await poll_until(lambda: all(request.bytes_sent > 500 for request in asked))
            assert all(request.abandoned_at is None for request in asked)
            left = close_clients(clients)
            await deployment.assert_abandoned(asked, left)


def count_notes(folder: Path, name: str) -> int:
    return len(list(folder.glob(f"{name}-*")))


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)
async def test_clients_leave_during_an_async_tool(deployment: Deployment, face: ProtocolClient, tmp_path: Path) -> None:
    count = 20
    async with deployment.assert_nothing_left():
        deployment.upstream.queue_replies(*[answer_tool_call("nap", f'{{"folder": "{tmp_path}"}}')] * count)
        before = len(deployment.upstream.requests)
        async with open_clients(deployment, face, "hello", count) as clients:
            await poll_until(lambda: count_notes(tmp_path, "began") == count)
            assert count_notes(tmp_path, "cancelled") == 0
            close_clients(clients)
            await poll_until(lambda: count_notes(tmp_path, "cancelled") == count)
        assert len(deployment.upstream.requests) == before + count, "the model was asked for someone who had left"


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("face", [OPENAI_STREAMED, OPENAI_WHOLE, AGUI], ids=lambda face: face.name)
async def test_clients_leave_during_a_thread_tool(deployment: Deployment, face: ProtocolClient, tmp_path: Path) -> None:
    count = 10
    async with deployment.assert_nothing_left():
        threads = deployment.server.thread_count
        deployment.upstream.queue_replies(*[answer_tool_call("doze", f'{{"folder": "{tmp_path}"}}')] * count)
        before = len(deployment.upstream.requests)
        async with open_clients(deployment, face, "hello", count) as clients:
            await poll_until(lambda: count_notes(tmp_path, "began") == count)
            sockets = deployment.server.socket_count
            close_clients(clients)
            # A thread cannot be stopped, but nobody waits for it: its client's socket goes first.
            await poll_until(lambda: deployment.server.socket_count <= sockets - count)
            assert deployment.server.thread_count >= threads + count
            await assert_works(deployment)
            (tmp_path / "wake").touch()
        await poll_until(lambda: deployment.server.thread_count <= threads)
        assert len(deployment.upstream.requests) == before + count + len(PROTOCOLS)


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("face", [OPENAI_STREAMED, AGUI], ids=lambda face: face.name)
async def test_clients_leave_during_an_isolated_tool(
    deployment: Deployment, face: ProtocolClient, tmp_path: Path
) -> None:
    count = 3
    async with deployment.assert_nothing_left():
        deployment.upstream.queue_replies(*[answer_tool_call("hibernate", f'{{"folder": "{tmp_path}"}}')] * count)
        async with open_clients(deployment, face, "hello", count) as clients:
            await poll_until(lambda: count_notes(tmp_path, "began") == count)
            assert len(deployment.server.child_pids) == count
            close_clients(clients)
            await poll_until(lambda: deployment.server.child_pids == [], describe=lambda: deployment.server.child_pids)


@pytest.mark.parametrize("delay", [0, 0.01, 0.05])
async def test_a_client_leaves_while_a_child_is_born(deployment: Deployment, tmp_path: Path, delay: float) -> None:
    async with deployment.assert_nothing_left():
        deployment.upstream.queue_replies(answer_tool_call("hibernate", f'{{"folder": "{tmp_path}"}}'))
        before = len(deployment.upstream.requests)
        async with open_clients(deployment, OPENAI_STREAMED, "hello", 1) as clients:
            await poll_until(
                lambda: len(deployment.upstream.requests) > before and deployment.upstream.requests[-1].answered
            )
            await asyncio.sleep(delay)
            close_clients(clients)
        await poll_until(lambda: deployment.server.child_pids == [], describe=lambda: deployment.server.child_pids)


@pytest.mark.demand("engine.client_rows_leaving_slow")
@pytest.mark.long
@pytest.mark.parametrize("face", [OPENAI_STREAMED, AGUI], ids=lambda face: face.name)
async def test_a_client_that_reads_nothing_is_dropped(strict_deployment: Deployment, face: ProtocolClient) -> None:
    async with strict_deployment.assert_nothing_left():
        before = len(strict_deployment.upstream.requests)
        peak = PeakMeter(lambda: strict_deployment.server.rss_bytes)
        async with RawHttpClient(strict_deployment.server.url, rcvbuf=4096) as client, peak.track():
            await face.send(client, "fault-endless")
            (asked,) = (await strict_deployment.upstream.wait_requests(before + 1))[before:]
            # It is known to be slow only after the send limit: until then the buffers fill, and no more.
            await strict_deployment.upstream.wait_idle()
            assert asked.abandoned_at is not None
            assert asked.abandoned_at - asked.received_at > 0.9 * SEND_TIMEOUT, "dropped before it was known to be slow"
        assert asked.bytes_sent < 20 * MB
        assert peak.growth < 20 * MB


@pytest.mark.long
async def test_a_client_that_reads_slowly_is_served(strict_deployment: Deployment) -> None:
    """Slow is not gone: as long as something is taken within the limit, the answer goes on."""
    async with (
        strict_deployment.assert_nothing_left(),
        RawHttpClient(strict_deployment.server.url, rcvbuf=4096) as client,
    ):
        await OPENAI_STREAMED.send(client, "fault-endless")
        await client.read_head()
        limit = time.monotonic() + 1.5 * SEND_TIMEOUT
        got = 0
        while time.monotonic() < limit or got <= 10_000:
            piece = await client.read_piece()
            assert piece, "the answer ended"
            got += len(piece)
            await asyncio.sleep(0.002)


HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.demand("engine.client_rows_leaving_slow")
@pytest.mark.long
async def test_requests_that_crawl_are_timed_out(strict_deployment: Deployment) -> None:
    starts = [
        b"POST /v1/chat/comp",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n{",
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        HEAD.replace(b"/v1/chat/completions", b"/agui/default") + b"Content-Length: 100\r\n\r\n{",
    ]

    async def crawl(start: bytes) -> int:
        async with RawHttpClient(strict_deployment.server.url) as client:
            await client.send(start)
            head = await client.read_head()
            await client.read_body()
            assert await client.read_or_reset() == b"", "the connection stayed open"
            return head.status

    async with strict_deployment.assert_nothing_left():
        assert await asyncio.gather(*map(crawl, starts)) == [408] * len(starts)


@pytest.mark.demand("engine.client_rows_leaving_slow")
@pytest.mark.long
async def test_two_thousand_idle_connections(deployment: Deployment) -> None:
    rss = deployment.server.rss_bytes
    async with deployment.assert_nothing_left(), contextlib.AsyncExitStack() as stack:
        for _ in range(20):
            made = [await stack.enter_async_context(RawHttpClient(deployment.server.url)) for _ in range(100)]
            # Each has asked once, and then keeps its connection, as browsers do.
            await asyncio.gather(*(client.get("/health") for client in made))
            assert {(await client.read_head()).status for client in made} == {200}
        assert deployment.server.socket_count > 2000
        start = time.monotonic()
        await assert_works(deployment)
        async with RawHttpClient(deployment.server.url) as client:
            await client.get("/health")
            assert (await client.read_head()).status == 200
        assert time.monotonic() - start < HANG_TIMEOUT
        assert deployment.server.rss_bytes - rss < 2000 * 40_000


@pytest.mark.demand("engine.client_rows_leaving_slow")
async def test_more_answers_than_the_limit_are_refused_politely(deployment: Deployment) -> None:
    before = len(deployment.upstream.requests)
    async with (
        deployment.assert_nothing_left(),
        open_clients(deployment, OPENAI_STREAMED, "fault-mute", MAX_RUNS) as clients,
    ):
        await deployment.upstream.wait_requests(before + MAX_RUNS)
        for face in (OPENAI_STREAMED, OPENAI_WHOLE):
            outcome = await face(deployment.server.url, "hello")
            assert (outcome.status, outcome.failures) == (503, ["unavailable"])
            assert int(outcome.headers["retry-after"]) > 0
        assert (await AGUI(deployment.server.url, "hello")).failures == ["unavailable"]
        assert len(deployment.upstream.requests) == before + MAX_RUNS
        close_clients(clients)


async def test_half_a_pipeline_is_forgotten(deployment: Deployment) -> None:
    """The client leaves with a second request waiting behind the first."""
    async with deployment.assert_nothing_left():
        before = len(deployment.upstream.requests)
        async with RawHttpClient(deployment.server.url) as client:
            await OPENAI_STREAMED.send(client, "fault-stall")
            await read_until_text(client, "w2")
            await client.send(build_raw_request("GET", "/health"))
            left = close_clients([client])
        await deployment.assert_abandoned(deployment.upstream.requests[before:], left)


async def test_a_pipeline_is_answered_in_order(deployment: Deployment) -> None:
    async with deployment.assert_nothing_left(), RawHttpClient(deployment.server.url) as client:
        await OPENAI_STREAMED.send(client, "hello")
        await client.send(
            build_raw_request("GET", "/health") + build_raw_request("GET", "/ready") + build_raw_request("GET", "/none")
        )
        assert (await OPENAI_STREAMED.receive_outcome(client)).text == "w0 w1 w2"
        for status in (200, 200, 404):
            assert (await client.read_head()).status == status
            await client.read_body()


async def test_a_keep_alive_that_nobody_takes_is_a_client_that_takes_nothing() -> None:
    """The buffer is full, the model is silent: the next thing to send is a keep-alive, and it gets stuck."""
    sent: list[object] = []

    async def reply() -> pump.Reply:
        yield pump.ResponseStart(200, keep_alive=b": x\n\n")
        yield b"data: 1\n\n"
        await asyncio.Event().wait()

    async def forever() -> pump.Message:
        await asyncio.Event().wait()
        return {}

    async def send(message: pump.Message) -> None:
        sent.append(message)
        if len(sent) > 2:
            await forever()

    pace = pump.SendTimeouts(keep_alive=0.05, send_timeout=0.2)
    async with asyncio.timeout(HANG_TIMEOUT):
        assert not await pump.send_reply(reply(), forever, send, timeouts=pace)
    assert len(sent) == 3


async def test_the_watch_for_leaving_is_what_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard removed: without it a reply is not closed when its client has left."""

    async def never(_receive: pump.Receive) -> None:
        await asyncio.Event().wait()

    async def closed_by_leaving(within: float) -> bool:
        over: list[bool] = []

        async def reply() -> pump.Reply:
            try:
                yield pump.ResponseStart(200)
                await asyncio.Event().wait()
            finally:
                over.append(True)

        async def receive() -> pump.Message:
            return {"type": "http.disconnect"}

        async def send(_message: pump.Message) -> None:
            return None

        task = asyncio.create_task(pump.send_reply(reply(), receive, send))
        await asyncio.wait([task], timeout=within)
        found = bool(over)
        task.cancel()
        await asyncio.wait([task])
        return found

    assert await closed_by_leaving(HANG_TIMEOUT)
    monkeypatch.setattr(pump, "wait_for_disconnect", never)
    assert not await closed_by_leaving(0.3)
