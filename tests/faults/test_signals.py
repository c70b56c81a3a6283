"""SIGTERM and SIGHUP while answers are under way."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator

import pytest

from tests.faults.faces import AGUI, STREAMED, WHOLE, Face, Outcome, until
from tests.kit.answers import Reply, text
from tests.kit.client import Client, Closed
from tests.kit.connection import Connection, Received
from tests.kit.faults import begin
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.kit.upstream import Upstream, named

pytestmark = pytest.mark.io

GRACE = 5
CONFIG = """
[server]
grace = {grace}
[models.default]
spec = "openai:kit"
base_url = "{up}"
"""
MORE = """
[models.second]
spec = "openai:kit"
base_url = "{up}"
"""
# Half finishes when it is let go, half never does.
HELD, NEVER = "held", "fault-stall"


def held(go: asyncio.Event) -> Reply:
    """Who asks for HELD gets a first word, and the others when they are let go."""
    answer = text(15)

    async def reply(connection: Connection, request: Received) -> None:
        said = request.last_user_text()
        if said != HELD:
            await named(said)(connection, request)
        elif request.stream:
            await begin(connection, answer, 1)
            await go.wait()
            for piece in answer.frames(request)[2:]:
                await connection.chunk(piece)
            await connection.chunk(b"")
        else:
            await go.wait()
            await answer(connection, request)

    return reply


@contextlib.asynccontextmanager
async def running(grace: float = GRACE) -> AsyncIterator[tuple[Server, Upstream]]:
    async with Upstream() as upstream, Server(config=CONFIG.format(up=upstream.url, grace=grace)) as server:
        yield server, upstream


@contextlib.asynccontextmanager
async def asked(server: Server, jobs: list[tuple[Face, str]]) -> AsyncIterator[list[tuple[Face, Client]]]:
    async with contextlib.AsyncExitStack() as stack:
        made = []
        for face, message in jobs:
            client = await stack.enter_async_context(Client(server.url))
            await face.send(client, message)
            made.append((face, client))
        yield made


async def ends(under_way: list[tuple[Face, Client]]) -> list[Outcome]:
    """Every answer to its end; half a frame or an unfinished body raises Closed."""
    return await asyncio.gather(*(face.outcome(client) for face, client in under_way))


@pytest.mark.demand("engine.sigterm_drains")
@pytest.mark.long
async def test_sigterm_cuts_no_answer() -> None:
    go = asyncio.Event()
    async with running() as (server, upstream):
        upstream.reply = held(go)
        good = [(face, HELD) for face in (STREAMED, AGUI, WHOLE) for _ in range(9)]
        bad = [(face, NEVER) for face in (STREAMED, AGUI, WHOLE) for _ in range(8)]
        async with asked(server, good + bad) as under_way, Client(server.url) as idle:
            await upstream.received(len(under_way))
            await idle.get("/health")
            assert (await idle.head()).status == 200
            await idle.body()
            start = time.monotonic()
            server.signal(signal.SIGTERM)
            await refuses(server)
            go.set()
            outcomes = await ends(under_way)
            for outcome in outcomes[: len(good)]:
                assert (outcome.failures, outcome.finished) == ([], True)
                assert outcome.text.endswith("w14")
            for (face, _), outcome in zip(bad, outcomes[len(good) :], strict=True):
                assert outcome.failures == ["restarting"]
                assert outcome.status == (503 if face is WHOLE else 200)
                assert outcome.text == ("" if face is WHOLE else "w0 w1 w2")
            assert await server.exited() == 0
            assert GRACE * 0.9 < time.monotonic() - start < GRACE + STUCK
        assert "Traceback" not in server.stderr


async def refuses(server: Server) -> None:
    """Not ready at once; who asks now is told to come back."""

    async def readiness() -> int:
        async with Client(server.url) as client:
            await client.get("/ready")
            return (await client.head()).status

    limit = time.monotonic() + STUCK
    while await readiness() != 503:
        assert time.monotonic() < limit
    for face in (STREAMED, WHOLE):
        outcome = await face(server.url, "hello")
        assert (outcome.status, outcome.failures) == (503, ["restarting"])
        assert int(outcome.headers["retry-after"]) > 0
    assert (await AGUI(server.url, "hello")).failures == ["restarting"]


@pytest.mark.long
async def test_sigterm_with_nothing_to_do_is_quick() -> None:
    async with running(grace=10 * STUCK) as (server, _), Client(server.url) as idle:
        await idle.get("/health")
        await idle.head()
        server.signal(signal.SIGTERM)
        assert await server.exited() == 0
    assert server.complaints == []


async def test_sighup_disturbs_nobody() -> None:
    go = asyncio.Event()
    async with running() as (server, upstream):
        upstream.reply = held(go)
        file = server.folder / "rightseat.toml"
        good = file.read_text()
        jobs = [(face, HELD) for face in (STREAMED, AGUI, WHOLE) for _ in range(7)]
        async with asked(server, jobs) as under_way:
            await upstream.received(len(jobs))
            file.write_text(good + MORE.format(up=upstream.url))
            server.signal(signal.SIGHUP)
            await until(lambda: "was reloaded" in server.stderr, what=lambda: server.stderr)
            assert (await AGUI(server.url, "hello", "second")).text == "w0 w1 w2"
            file.write_text(good + "[modles.x]\n")
            server.signal(signal.SIGHUP)
            await until(lambda: "was not reloaded" in server.stderr, what=lambda: server.stderr)
            # The last good one stays.
            assert (await AGUI(server.url, "hello", "second")).text == "w0 w1 w2"
            go.set()
            outcomes = await ends(under_way)
        assert all(o.finished and not o.failures and o.text.endswith("w14") for o in outcomes)
        assert "Traceback" not in server.stderr


async def test_the_readers_here_see_a_cut() -> None:
    """What these tests would say if an answer were cut: a killed server leaves half an answer."""
    async with Upstream() as upstream:
        server = Server(config=CONFIG.format(up=upstream.url, grace=GRACE))
        await server.start()
        try:
            async with asked(server, [(STREAMED, NEVER)]) as under_way:
                await upstream.received(1)
                server.signal(signal.SIGKILL)
                with_cut = await asyncio.gather(ends(under_way), return_exceptions=True)
                assert isinstance(with_cut[0], Closed | ConnectionResetError)
            await server.exited()
        finally:
            server.discard()
