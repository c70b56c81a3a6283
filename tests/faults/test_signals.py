"""SIGTERM and SIGHUP while answers are under way."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator

import pytest

from tests.faults.protocols import AGUI, OPENAI_STREAMED, OPENAI_WHOLE, Outcome, ProtocolClient, poll_until
from tests.kit.answers import UpstreamReply, answer_text
from tests.kit.client import RawHttpClient, TruncatedResponse
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import begin_stream
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream, find_named_reply

pytestmark = pytest.mark.io

GRACE = 5
CONFIG = """
[server]
grace = {grace}
[models.default]
spec = "openai:kit"
base_url = "{up}"
"""
EXTRA_MODEL = """
[models.second]
spec = "openai:kit"
base_url = "{up}"
"""
# Half finishes when it is let go, half never does.
HELD_MESSAGE, STALL_MESSAGE = "held", "fault-stall"


def hold_reply(release: asyncio.Event) -> UpstreamReply:
    """Who asks for HELD gets a first word, and the others when they are let go."""
    answer = answer_text(15)

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        message = request.last_user_text()
        if message != HELD_MESSAGE:
            await find_named_reply(message)(connection, request)
        elif request.stream:
            await begin_stream(connection, answer, 1)
            await release.wait()
            for piece in answer.encode_frames(request)[2:]:
                await connection.write_chunk(piece)
            await connection.write_chunk(b"")
        else:
            await release.wait()
            await answer(connection, request)

    return reply


@contextlib.asynccontextmanager
async def run_server(grace: float = GRACE) -> AsyncIterator[tuple[RightseatProcess, FakeUpstream]]:
    async with (
        FakeUpstream() as upstream,
        RightseatProcess(config=CONFIG.format(up=upstream.base_url, grace=grace)) as server,
    ):
        yield server, upstream


@contextlib.asynccontextmanager
async def send_requests(
    server: RightseatProcess, requests: list[tuple[ProtocolClient, str]]
) -> AsyncIterator[list[tuple[ProtocolClient, RawHttpClient]]]:
    async with contextlib.AsyncExitStack() as stack:
        pending = []
        for protocol, message in requests:
            client = await stack.enter_async_context(RawHttpClient(server.url))
            await protocol.send(client, message)
            pending.append((protocol, client))
        yield pending


async def collect_outcomes(pending: list[tuple[ProtocolClient, RawHttpClient]]) -> list[Outcome]:
    """Every answer to its end; half a frame or an unfinished body raises Closed."""
    return await asyncio.gather(*(face.receive_outcome(client) for face, client in pending))


@pytest.mark.demand("engine.sigterm_drains")
@pytest.mark.long
async def test_sigterm_cuts_no_answer() -> None:
    go = asyncio.Event()
    async with run_server() as (server, upstream):
        upstream.reply = hold_reply(go)
        good = [(face, HELD_MESSAGE) for face in (OPENAI_STREAMED, AGUI, OPENAI_WHOLE) for _ in range(9)]
        bad = [(face, STALL_MESSAGE) for face in (OPENAI_STREAMED, AGUI, OPENAI_WHOLE) for _ in range(8)]
        async with send_requests(server, good + bad) as under_way, RawHttpClient(server.url) as idle:
            await upstream.wait_requests(len(under_way))
            await idle.get("/health")
            assert (await idle.read_head()).status == 200
            await idle.read_body()
            start = time.monotonic()
            server.send_signal(signal.SIGTERM)
            await assert_refuses(server)
            go.set()
            outcomes = await collect_outcomes(under_way)
            for outcome in outcomes[: len(good)]:
                assert (outcome.failures, outcome.finished) == ([], True)
                assert outcome.text.endswith("w14")
            for (face, _), outcome in zip(bad, outcomes[len(good) :], strict=True):
                assert outcome.failures == ["restarting"]
                assert outcome.status == (503 if face is OPENAI_WHOLE else 200)
                assert outcome.text == ("" if face is OPENAI_WHOLE else "w0 w1 w2")
            assert await server.wait_exit() == 0
            assert GRACE * 0.9 < time.monotonic() - start < GRACE + HANG_TIMEOUT
        assert "Traceback" not in server.stderr


async def assert_refuses(server: RightseatProcess) -> None:
    """Not ready at once; who asks now is told to come back."""

    async def readiness() -> int:
        async with RawHttpClient(server.url) as client:
            await client.get("/ready")
            return (await client.read_head()).status

    limit = time.monotonic() + HANG_TIMEOUT
    while await readiness() != 503:
        assert time.monotonic() < limit
    for face in (OPENAI_STREAMED, OPENAI_WHOLE):
        outcome = await face(server.url, "hello")
        assert (outcome.status, outcome.failures) == (503, ["restarting"])
        assert int(outcome.headers["retry-after"]) > 0
    assert (await AGUI(server.url, "hello")).failures == ["restarting"]


@pytest.mark.long
async def test_sigterm_with_nothing_to_do_is_quick() -> None:
    async with run_server(grace=10 * HANG_TIMEOUT) as (server, _), RawHttpClient(server.url) as idle:
        await idle.get("/health")
        await idle.read_head()
        server.send_signal(signal.SIGTERM)
        assert await server.wait_exit() == 0
    assert server.log_lines == []


async def test_sighup_disturbs_nobody() -> None:
    go = asyncio.Event()
    async with run_server() as (server, upstream):
        upstream.reply = hold_reply(go)
        file = server.folder / "rightseat.toml"
        good = file.read_text()
        jobs = [(face, HELD_MESSAGE) for face in (OPENAI_STREAMED, AGUI, OPENAI_WHOLE) for _ in range(7)]
        async with send_requests(server, jobs) as under_way:
            await upstream.wait_requests(len(jobs))
            file.write_text(good + EXTRA_MODEL.format(up=upstream.base_url))
            server.send_signal(signal.SIGHUP)
            await poll_until(lambda: "was reloaded" in server.stderr, describe=lambda: server.stderr)
            assert (await AGUI(server.url, "hello", "second")).text == "w0 w1 w2"
            file.write_text(good + "[modles.x]\n")
            server.send_signal(signal.SIGHUP)
            await poll_until(lambda: "was not reloaded" in server.stderr, describe=lambda: server.stderr)
            # The last good one stays.
            assert (await AGUI(server.url, "hello", "second")).text == "w0 w1 w2"
            go.set()
            outcomes = await collect_outcomes(under_way)
        assert all(o.finished and not o.failures and o.text.endswith("w14") for o in outcomes)
        assert "Traceback" not in server.stderr


async def test_the_readers_here_see_a_cut() -> None:
    """What these tests would say if an answer were cut: a killed server leaves half an answer."""
    async with FakeUpstream() as upstream:
        server = RightseatProcess(config=CONFIG.format(up=upstream.base_url, grace=GRACE))
        await server.start()
        try:
            async with send_requests(server, [(OPENAI_STREAMED, STALL_MESSAGE)]) as under_way:
                await upstream.wait_requests(1)
                server.send_signal(signal.SIGKILL)
                with_cut = await asyncio.gather(collect_outcomes(under_way), return_exceptions=True)
                assert isinstance(with_cut[0], TruncatedResponse | ConnectionResetError)
            await server.wait_exit()
        finally:
            server.remove_folder()
