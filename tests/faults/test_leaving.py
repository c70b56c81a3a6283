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
from tests.faults.faces import AGUI, FACES, STREAMED, WHOLE, Face, Peak, spoken, until
from tests.kit.answers import tool
from tests.kit.client import Client, request
from tests.kit.connection import Received
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.kit.upstream import Upstream

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

MB = 1_000_000
ROOT = Path(__file__).parents[2]
CROWD = 100
RUNS = 150
SEND = 2
LIMITS = f"header_timeout = 2\nbody_timeout = 2\nsend_timeout = {SEND}"
CONFIG = """
[server]
max_runs = {runs}
{limits}
[models.kit]
spec = "openai:kit"
base_url = "{up}"
[assistants.default]
model = "kit"
tools = ["tests.faults.naps:nap", "tests.faults.naps:doze", "tests.faults.naps:hibernate"]
"""


@dataclass
class Stage:
    server: Server
    upstream: Upstream

    def holdings(self) -> tuple[int, int, int]:
        # Idle connections to the upstream are kept for the next answer, on purpose.
        pool = len(self.upstream.live)
        return self.server.sockets - pool, self.server.threads, len(self.server.children)

    @contextlib.asynccontextmanager
    async def nothing_left(self) -> AsyncIterator[None]:
        """Every socket, thread and child that appears inside is gone soon after."""
        start = self.holdings()
        yield
        await until(
            lambda: all(now <= then for now, then in zip(self.holdings(), start, strict=True)),
            what=lambda: f"sockets, threads, children: {start} at the start, {self.holdings()} now",
        )
        await works(self)
        assert "Traceback" not in self.server.stderr

    async def abandoned(self, asked: list[Received], left: float) -> None:
        """Each upstream was closed, and none before its client had left."""
        await self.upstream.quiet()
        closed = [request.left_at for request in asked]
        assert all(moment is not None and moment >= left for moment in closed), closed


async def works(stage: Stage) -> None:
    for face in FACES:
        assert (await face(stage.server.url, "hello")).text == "w0 w1 w2"


@contextlib.asynccontextmanager
async def staged(limits: str) -> AsyncIterator[Stage]:
    async with Upstream() as upstream:
        config = CONFIG.format(up=upstream.url, runs=RUNS, limits=limits)
        async with Server(config=config, env={"PYTHONPATH": str(ROOT)}) as server:
            made = Stage(server, upstream)
            # What stays for good (the pool, the resolver's threads) is there from now on.
            await asyncio.gather(*(face(server.url, "hello") for face in FACES))
            yield made
        # A run that lived on would be waited for, and the log would say so.
        assert "answers may take" not in server.stderr
        assert "Task" not in server.stderr


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with staged("") as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strict() -> AsyncIterator[Stage]:
    """One that waits for clients only as long as LIMITS say."""
    async with staged(LIMITS) as made:
        yield made


@contextlib.asynccontextmanager
async def crowd(stage: Stage, face: Face, message: str, count: int = CROWD) -> AsyncIterator[list[Client]]:
    """That many clients, each with an answer under way."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(stage.server.url)) for _ in range(count)]
        await asyncio.gather(*(face.send(client, message) for client in clients))
        yield clients


def leave(clients: list[Client]) -> float:
    """All go at once, one half with a FIN and one with an RST."""
    now = asyncio.get_running_loop().time()
    for number, client in enumerate(clients):
        client.close() if number % 2 else client.reset()
    return now


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("phase", ["mid-stream", "before the first token"])
@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
async def test_a_hundred_clients_leave(stage: Stage, face: Face, phase: str) -> None:
    before = len(stage.upstream.requests)
    async with stage.nothing_left():
        message = "fault-stall" if phase == "mid-stream" else "fault-mute"
        async with crowd(stage, face, message) as clients:
            await stage.upstream.received(before + CROWD)
            asked = stage.upstream.requests[before:]
            if phase == "mid-stream" and face.streamed:
                await asyncio.gather(*(spoken(client, "w2") for client in clients))
            elif phase == "mid-stream":
                await until(lambda: all(request.sent > 500 for request in asked))
            assert all(request.left_at is None for request in asked)
            left = leave(clients)
            await stage.abandoned(asked, left)


def noted(folder: Path, name: str) -> int:
    return len(list(folder.glob(f"{name}-*")))


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
async def test_clients_leave_during_an_async_tool(stage: Stage, face: Face, tmp_path: Path) -> None:
    count = 20
    async with stage.nothing_left():
        stage.upstream.queue(*[tool("nap", f'{{"folder": "{tmp_path}"}}')] * count)
        before = len(stage.upstream.requests)
        async with crowd(stage, face, "hello", count) as clients:
            await until(lambda: noted(tmp_path, "began") == count)
            assert noted(tmp_path, "cancelled") == 0
            leave(clients)
            await until(lambda: noted(tmp_path, "cancelled") == count)
        assert len(stage.upstream.requests) == before + count, "the model was asked for someone who had left"


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("face", [STREAMED, WHOLE, AGUI], ids=lambda face: face.name)
async def test_clients_leave_during_a_thread_tool(stage: Stage, face: Face, tmp_path: Path) -> None:
    count = 10
    async with stage.nothing_left():
        threads = stage.server.threads
        stage.upstream.queue(*[tool("doze", f'{{"folder": "{tmp_path}"}}')] * count)
        before = len(stage.upstream.requests)
        async with crowd(stage, face, "hello", count) as clients:
            await until(lambda: noted(tmp_path, "began") == count)
            sockets = stage.server.sockets
            leave(clients)
            # A thread cannot be stopped, but nobody waits for it: its client's socket goes first.
            await until(lambda: stage.server.sockets <= sockets - count)
            assert stage.server.threads >= threads + count
            await works(stage)
            (tmp_path / "wake").touch()
        await until(lambda: stage.server.threads <= threads)
        assert len(stage.upstream.requests) == before + count + len(FACES)


@pytest.mark.demand("engine.kill_client_100_streams")
@pytest.mark.parametrize("face", [STREAMED, AGUI], ids=lambda face: face.name)
async def test_clients_leave_during_an_isolated_tool(stage: Stage, face: Face, tmp_path: Path) -> None:
    count = 3
    async with stage.nothing_left():
        stage.upstream.queue(*[tool("hibernate", f'{{"folder": "{tmp_path}"}}')] * count)
        async with crowd(stage, face, "hello", count) as clients:
            await until(lambda: noted(tmp_path, "began") == count)
            assert len(stage.server.children) == count
            leave(clients)
            await until(lambda: stage.server.children == [], what=lambda: stage.server.children)


@pytest.mark.parametrize("delay", [0, 0.01, 0.05])
async def test_a_client_leaves_while_a_child_is_born(stage: Stage, tmp_path: Path, delay: float) -> None:
    async with stage.nothing_left():
        stage.upstream.queue(tool("hibernate", f'{{"folder": "{tmp_path}"}}'))
        before = len(stage.upstream.requests)
        async with crowd(stage, STREAMED, "hello", 1) as clients:
            await until(lambda: len(stage.upstream.requests) > before and stage.upstream.requests[-1].answered)
            await asyncio.sleep(delay)
            leave(clients)
        await until(lambda: stage.server.children == [], what=lambda: stage.server.children)


@pytest.mark.demand("engine.client_rows_leaving_slow")
@pytest.mark.long
@pytest.mark.parametrize("face", [STREAMED, AGUI], ids=lambda face: face.name)
async def test_a_client_that_reads_nothing_is_dropped(strict: Stage, face: Face) -> None:
    async with strict.nothing_left():
        before = len(strict.upstream.requests)
        peak = Peak(lambda: strict.server.rss)
        async with Client(strict.server.url, rcvbuf=4096) as client, peak.watched():
            await face.send(client, "fault-endless")
            (asked,) = (await strict.upstream.received(before + 1))[before:]
            # It is known to be slow only after the send limit: until then the buffers fill, and no more.
            await strict.upstream.quiet()
            assert asked.left_at is not None
            assert asked.left_at - asked.at > 0.9 * SEND, "dropped before it was known to be slow"
        assert asked.sent < 20 * MB
        assert peak.growth < 20 * MB


@pytest.mark.long
async def test_a_client_that_reads_slowly_is_served(strict: Stage) -> None:
    """Slow is not gone: as long as something is taken within the limit, the answer goes on."""
    async with strict.nothing_left(), Client(strict.server.url, rcvbuf=4096) as client:
        await STREAMED.send(client, "fault-endless")
        await client.head()
        limit = time.monotonic() + 1.5 * SEND
        got = 0
        while time.monotonic() < limit or got <= 10_000:
            piece = await client.piece()
            assert piece, "the answer ended"
            got += len(piece)
            await asyncio.sleep(0.002)


HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.demand("engine.client_rows_leaving_slow")
@pytest.mark.long
async def test_requests_that_crawl_are_timed_out(strict: Stage) -> None:
    starts = [
        b"POST /v1/chat/comp",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n{",
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        HEAD.replace(b"/v1/chat/completions", b"/agui/default") + b"Content-Length: 100\r\n\r\n{",
    ]

    async def crawl(start: bytes) -> int:
        async with Client(strict.server.url) as client:
            await client.send(start)
            head = await client.head()
            await client.body()
            assert await client.read_or_reset() == b"", "the connection stayed open"
            return head.status

    async with strict.nothing_left():
        assert await asyncio.gather(*map(crawl, starts)) == [408] * len(starts)


@pytest.mark.demand("engine.client_rows_leaving_slow")
@pytest.mark.long
async def test_two_thousand_idle_connections(stage: Stage) -> None:
    rss = stage.server.rss
    async with stage.nothing_left(), contextlib.AsyncExitStack() as stack:
        for _ in range(20):
            made = [await stack.enter_async_context(Client(stage.server.url)) for _ in range(100)]
            # Each has asked once, and then keeps its connection, as browsers do.
            await asyncio.gather(*(client.get("/health") for client in made))
            assert {(await client.head()).status for client in made} == {200}
        assert stage.server.sockets > 2000
        start = time.monotonic()
        await works(stage)
        async with Client(stage.server.url) as client:
            await client.get("/health")
            assert (await client.head()).status == 200
        assert time.monotonic() - start < STUCK
        assert stage.server.rss - rss < 2000 * 40_000


@pytest.mark.demand("engine.client_rows_leaving_slow")
async def test_more_answers_than_the_limit_are_refused_politely(stage: Stage) -> None:
    before = len(stage.upstream.requests)
    async with stage.nothing_left(), crowd(stage, STREAMED, "fault-mute", RUNS) as clients:
        await stage.upstream.received(before + RUNS)
        for face in (STREAMED, WHOLE):
            outcome = await face(stage.server.url, "hello")
            assert (outcome.status, outcome.failures) == (503, ["unavailable"])
            assert int(outcome.headers["retry-after"]) > 0
        assert (await AGUI(stage.server.url, "hello")).failures == ["unavailable"]
        assert len(stage.upstream.requests) == before + RUNS
        leave(clients)


async def test_half_a_pipeline_is_forgotten(stage: Stage) -> None:
    """The client leaves with a second request waiting behind the first."""
    async with stage.nothing_left():
        before = len(stage.upstream.requests)
        async with Client(stage.server.url) as client:
            await STREAMED.send(client, "fault-stall")
            await spoken(client, "w2")
            await client.send(request("GET", "/health"))
            left = leave([client])
        await stage.abandoned(stage.upstream.requests[before:], left)


async def test_a_pipeline_is_answered_in_order(stage: Stage) -> None:
    async with stage.nothing_left(), Client(stage.server.url) as client:
        await STREAMED.send(client, "hello")
        await client.send(request("GET", "/health") + request("GET", "/ready") + request("GET", "/none"))
        assert (await STREAMED.outcome(client)).text == "w0 w1 w2"
        for status in (200, 200, 404):
            assert (await client.head()).status == status
            await client.body()


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
    async with asyncio.timeout(STUCK):
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

    assert await closed_by_leaving(STUCK)
    monkeypatch.setattr(pump, "wait_for_disconnect", never)
    assert not await closed_by_leaving(0.3)
