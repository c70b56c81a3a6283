"""SIGTERM and SIGHUP while answers are under way."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator

import pytest

from tests.faults.faces import AGUI, STREAMED, WHOLE, Face, Outcome, until
from tests.kit.client import Client, Closed
from tests.kit.server import Server
from tests.kit.upstream import Upstream

pytestmark = pytest.mark.process

GRACE = 2
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
# Half finishes within the grace, half never does.
FINISHES, NEVER = "fault-ok:count=15,rate=10.0", "fault-stall"


@contextlib.asynccontextmanager
async def running(config: str = CONFIG) -> AsyncIterator[tuple[Server, Upstream]]:
    async with (
        Upstream() as upstream,
        Server(config=config.format(up=upstream.url, grace=GRACE)) as server,
    ):
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


async def test_sigterm_cuts_no_answer() -> None:
    async with running() as (server, upstream):
        good = [(face, FINISHES) for face in (STREAMED, AGUI, WHOLE) for _ in range(9)]
        bad = [(face, NEVER) for face in (STREAMED, AGUI, WHOLE) for _ in range(8)]
        async with asked(server, good + bad) as under_way, Client(server.url) as idle:
            await upstream.received(len(under_way))
            await idle.get("/health")
            assert (await idle.head()).status == 200
            await idle.body()
            start = time.monotonic()
            server.signal(signal.SIGTERM)
            await refuses(server)
            outcomes = await ends(under_way)
            for outcome in outcomes[: len(good)]:
                assert (outcome.failures, outcome.finished) == ([], True)
                assert outcome.text.endswith("w14")
            for (face, _), outcome in zip(bad, outcomes[len(good) :], strict=True):
                assert outcome.failures == ["restarting"]
                assert outcome.status == (503 if face is WHOLE else 200)
                assert outcome.text == ("" if face is WHOLE else "w0 w1 w2")
            assert await server.exited(GRACE + 5) == 0
            assert time.monotonic() - start < GRACE + 2
            assert time.monotonic() - start > GRACE * 0.9
        assert "Traceback" not in server.stderr


async def refuses(server: Server) -> None:
    """Not ready at once; who asks now is told to come back."""

    async def readiness() -> int:
        async with Client(server.url) as client:
            await client.get("/ready")
            return (await client.head()).status

    limit = time.monotonic() + 1
    while await readiness() != 503:
        assert time.monotonic() < limit
    for face in (STREAMED, WHOLE):
        outcome = await face(server.url, "hello")
        assert (outcome.status, outcome.failures) == (503, ["restarting"])
        assert int(outcome.headers["retry-after"]) > 0
    assert (await AGUI(server.url, "hello")).failures == ["restarting"]


async def test_sigterm_with_nothing_to_do_is_quick() -> None:
    async with running() as (server, _), Client(server.url) as idle:
        await idle.get("/health")
        await idle.head()
        server.signal(signal.SIGTERM)
        assert await server.exited(5) == 0
    assert server.complaints == []


async def test_sighup_disturbs_nobody() -> None:
    async with running() as (server, upstream):
        file = server.folder / "rightseat.toml"
        good = file.read_text()
        jobs = [(face, "fault-ok:count=30,rate=15.0") for face in (STREAMED, AGUI, WHOLE) for _ in range(7)]
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
            outcomes = await ends(under_way)
        assert all(o.finished and not o.failures and o.text.endswith("w29") for o in outcomes)
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
            await server.exited(5)
        finally:
            server.discard()
