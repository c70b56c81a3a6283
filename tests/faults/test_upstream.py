"""The upstream rows of the fault matrix, through both doors of the running server."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.faults.protocols import (
    COPILOTKIT,
    ERRORS_IN_STREAM,
    OPENAI_STREAMED,
    OPENBB,
    PROTOCOLS,
    Outcome,
    PeakMeter,
    ProtocolClient,
)
from tests.kit import faults
from tests.kit.answers import UpstreamReply, answer_text
from tests.kit.catalogue import ENDLESS, FAULTS, STATUSES
from tests.kit.chunks import encode_frame, make_chunk
from tests.kit.client import RawHttpClient
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.server import RightseatProcess
from tests.kit.sinks import SinkServer
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

MB = 1_000_000
IDLE_LIMIT = 2
"""How long the quick model may be silent."""
CONFIG = """
[server]
keep_alive = 0.3
first_byte = 600
[models.default]
spec = "openai:kit"
base_url = "{up}"
[models.quick]
spec = "openai:kit"
base_url = "{up}"
first_token_timeout = {limit}
idle_timeout = {limit}
[models.closed]
spec = "openai:kit"
base_url = "http://127.0.0.1:{closed}/v1"
[models.nowhere]
spec = "openai:kit"
base_url = "http://nohost.invalid/v1"
"""


@dataclass
class Deployment:
    server: RightseatProcess
    upstream: FakeUpstream

    async def assert_works(self) -> None:
        """A fault must not spoil the next answer."""
        self.upstream.reply = None
        for face in PROTOCOLS:
            outcome = await face(self.server.url, "fault-ok")
            assert (outcome.status, outcome.text, outcome.failures) == (200, "w0 w1 w2", [])
            assert outcome.finished

    def assert_failure(self, outcome: Outcome, *codes: str) -> None:
        """What holds after every fault: one failure in our own words, and no sign of success."""
        assert len(outcome.failures) == 1, outcome.body[-300:]
        assert outcome.failures[0] in codes
        assert not outcome.finished
        assert faults.CANARY.encode() not in outcome.body
        assert faults.CANARY not in str(outcome.headers)
        log = self.server.stderr
        assert "Traceback" not in log
        assert faults.CANARY not in log


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment() -> AsyncIterator[Deployment]:
    # Bound but not listening: nobody else can take the port, and whoever connects is refused.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with FakeUpstream() as upstream:
            config = CONFIG.format(up=upstream.base_url, closed=closed.getsockname()[1], limit=IDLE_LIMIT)
            async with RightseatProcess(config=config) as server:
                yield Deployment(server, upstream)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def reset_upstream(deployment: Deployment) -> None:
    """What a test that failed has told the upstream is not for the next one."""
    deployment.upstream.reply = None


def get_protocol_name(face: ProtocolClient) -> str:
    return face.name


over_protocols = pytest.mark.parametrize("face", PROTOCOLS, ids=get_protocol_name)

# fault → what was said before it, the failure's code, its status where nothing had been sent.
MATRIX = {
    "reset": ("w0 w1 w2", "incomplete", 502),
    "cut": ("w0 w1 w2", "incomplete", 502),
    "cut-between": ("w0 w1 w2", "incomplete", 502),
    "eof": ("w0 w1 w2", "incomplete", 502),
    "eof:after=0": ("", "incomplete", 502),
    "error-midway": ("w0 w1 w2", "upstream_overloaded", 503),
    "error-midway:after=0": ("", "upstream_overloaded", 503),
    "bad-json": ("w0 w1 w2", "upstream_garbled", 502),
    "wrong-shape": ("", "upstream_garbled", 502),
    "html": ("", "upstream_garbled", 502),
    "garbage": ("", "upstream_garbled", 502),
    "gzip-bomb": ("", "upstream_garbled", 502),
    "huge": ("", "upstream_garbled", 502),
    "reset-at-once": ("", "upstream_unreachable", 502),
    "close-at-once": ("", "upstream_unreachable", 502),
    "400": ("", "upstream_rejected", 502),
    "401": ("", "upstream_denied", 502),
    "404": ("", "upstream_rejected", 502),
    "429": ("", "upstream_busy", 429),
    "500": ("", "upstream_error", 502),
}


async def ask_all_protocols(
    deployment: Deployment, message: str, model: str = "default"
) -> list[tuple[ProtocolClient, Outcome]]:
    outcomes = await asyncio.gather(*(face(deployment.server.url, message, model) for face in PROTOCOLS))
    return list(zip(PROTOCOLS, outcomes, strict=True))


@pytest.mark.demand(
    "copilotkit.errors_http_200_errors",
    "copilotkit.peer_bugs_listed_notes",
    "engine.upstream_rows_fault_matrix",
    "openbb.failures_arrive_200_stream",
)
@pytest.mark.parametrize("fault", MATRIX)
async def test_a_fault_has_the_right_face(deployment: Deployment, fault: str) -> None:
    words, code, status = MATRIX[fault]
    before = len(deployment.upstream.requests)
    async with PeakMeter(lambda: deployment.server.rss_bytes).track() as rss:
        outcomes = await ask_all_protocols(deployment, f"fault-{fault}")
    for face, outcome in outcomes:
        deployment.assert_failure(outcome, code)
        if face in ERRORS_IN_STREAM or (words and face is OPENAI_STREAMED):
            assert outcome.status == 200
            assert outcome.text == words
        else:
            assert outcome.status == status
    # Nothing is asked again once something was said, and nothing more than three times.
    assert len(deployment.upstream.requests) - before <= len(PROTOCOLS) * (1 if words else 3)
    assert rss.growth < 50 * MB
    await deployment.assert_works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@pytest.mark.parametrize("model", ["closed", "nowhere"])
async def test_nobody_is_there(deployment: Deployment, model: str) -> None:
    start = time.monotonic()
    outcomes = await ask_all_protocols(deployment, "hello", model)
    assert time.monotonic() - start < HANG_TIMEOUT
    for face, outcome in outcomes:
        deployment.assert_failure(outcome, "upstream_unreachable")
        assert outcome.status == (200 if face in ERRORS_IN_STREAM else 502)
    await deployment.assert_works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@pytest.mark.parametrize("fault", ["stall", "stall:after=0", "silent", "mute", "pings"])
async def test_silence_ends_at_the_limit(deployment: Deployment, fault: str) -> None:
    start = time.monotonic()
    before = len(deployment.upstream.requests)
    outcomes = await ask_all_protocols(deployment, f"fault-{fault}", "quick")
    assert 0.9 * IDLE_LIMIT < time.monotonic() - start < HANG_TIMEOUT
    for face, outcome in outcomes:
        deployment.assert_failure(outcome, "upstream_timeout")
        # Meanwhile the connection was kept alive, but never before the first event.
        kept = fault == "stall" if face is OPENBB else outcome.status == 200
        beat = b'\r\n{"hasNext":true}\r\n' if face is COPILOTKIT else b": keep-alive\n\n"
        assert (beat in outcome.body) == kept
        assert not outcome.body.startswith(b":")
        if face in ERRORS_IN_STREAM or (face is OPENAI_STREAMED and fault == "stall"):
            assert outcome.status == 200
            assert outcome.text == ("w0 w1 w2" if fault == "stall" else "")
        else:
            assert outcome.status == 504
    await deployment.upstream.wait_idle()
    asked = deployment.upstream.requests[before:]
    assert len(asked) == len(PROTOCOLS)
    assert all(request.abandoned_at is not None for request in asked), "an upstream was left open"
    await deployment.assert_works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@over_protocols
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_passed_on(deployment: Deployment, face: ProtocolClient, status: int) -> None:
    deployment.upstream.reply = faults.fail_with_status(status, 7)
    before = len(deployment.upstream.requests)
    outcome = await face(deployment.server.url, "hello")
    deployment.assert_failure(outcome, "upstream_busy" if status == 429 else "upstream_overloaded")
    assert len(deployment.upstream.requests) == before + 1, "7 s are too long to wait for"
    if face in ERRORS_IN_STREAM:
        assert outcome.status == 200
    else:
        assert outcome.status == status
        assert outcome.headers["retry-after"] == "7"
    await deployment.assert_works()


@over_protocols
async def test_a_short_wait_is_waited_for(deployment: Deployment, face: ProtocolClient) -> None:
    deployment.upstream.queue_replies(faults.fail_with_status(429, 0.1), answer_text())
    outcome = await face(deployment.server.url, "hello")
    assert (outcome.text, outcome.failures) == ("w0 w1 w2", [])


@over_protocols
async def test_a_wrong_length_before_the_end_is_a_failure(deployment: Deployment, face: ProtocolClient) -> None:
    # Whether the tokens are read together with the flaw is a matter of packets: some or all may be lost.
    outcome = await face(deployment.server.url, "fault-length-too-short")
    deployment.assert_failure(outcome, "upstream_garbled", "incomplete")
    assert "w0 w1 w2".startswith(outcome.text)
    await deployment.assert_works()


def send_bad_chunk_size_later(release: asyncio.Event) -> UpstreamReply:
    """Tokens, then, once it may, a transfer chunk whose size is no number."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await faults.begin_stream(connection, answer_text(), 3)
        await release.wait()
        await connection.write(b"zz\r\nnot a size\r\n")
        await connection.fin()

    return reply


@over_protocols
@pytest.mark.parametrize("late", [False, True])
async def test_a_broken_chunk_is_noticed_at_once(deployment: Deployment, face: ProtocolClient, late: bool) -> None:
    """`late` comes when the client has read the tokens; the model's own limits are a minute and more."""
    read = asyncio.Event()
    deployment.upstream.reply = send_bad_chunk_size_later(read)
    late = late and face.streamed
    if not late:
        read.set()
    async with RawHttpClient(deployment.server.url) as client:
        await face.send(client, "hello")
        head, body = await client.read_head(), b""
        async for piece in client.iterate_pieces():
            body += piece
            if b"w2" in body:
                read.set()
    outcome = face.make_outcome(head, body)
    deployment.assert_failure(outcome, "upstream_garbled", "incomplete")
    if late:
        assert outcome.text == "w0 w1 w2"
    await deployment.assert_works()


@over_protocols
async def test_a_wrong_length_after_the_end_spoils_nothing(deployment: Deployment, face: ProtocolClient) -> None:
    outcome = await face(deployment.server.url, "fault-length-too-long")
    assert (outcome.text, outcome.failures, outcome.finished) == ("w0 w1 w2", [], True)
    await deployment.assert_works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@over_protocols
async def test_a_redirect_is_not_followed(deployment: Deployment, face: ProtocolClient) -> None:
    async with SinkServer() as sink:
        for code in (301, 302, 307, 308):
            deployment.upstream.reply = faults.send_redirect(f"{sink.url}/v1/chat/completions", code)
            outcome = await face(deployment.server.url, "hello")
            deployment.assert_failure(outcome, "upstream_rejected")
        sink.assert_unreached()
    await deployment.assert_works()


def repeat_piece(piece: bytes) -> UpstreamReply:
    """Good tokens, then this for ever, as fast as it is read."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await faults.begin_stream(connection, answer_text(), 3)
        while not connection.closed_by_peer:
            await connection.write_chunk(piece)
            await asyncio.sleep(0)

    return reply


async def read_tail(client: RawHttpClient) -> bytes:
    """The end of a body of any length."""
    tail = b""
    async for piece in client.iterate_pieces():
        tail = (tail + piece)[-2000:]
    return tail


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@over_protocols
@pytest.mark.parametrize(
    "piece",
    [encode_frame(make_chunk({"content": "x" * 500_000})), b": " + b"x" * 500_000 + b"\n\n"],
    ids=["text", "comments"],
)
async def test_an_answer_without_end_is_ended(deployment: Deployment, face: ProtocolClient, piece: bytes) -> None:
    deployment.upstream.reply = repeat_piece(piece)
    asked = len(deployment.upstream.requests)
    async with (
        PeakMeter(lambda: deployment.server.rss_bytes).track() as rss,
        RawHttpClient(deployment.server.url) as client,
    ):
        await face.send(client, "hello")
        await client.read_head()
        tail = await read_tail(client)
    assert b"upstream_garbled" in tail
    assert b"[DONE]" not in tail
    await deployment.upstream.wait_idle()
    assert deployment.upstream.requests[asked].abandoned_at is not None
    assert "Traceback" not in deployment.server.stderr
    await deployment.assert_works()
    assert rss.growth < 50 * MB, f"one answer took {rss.growth / MB:.0f} MB"


@pytest.mark.long
async def test_a_slow_but_steady_answer_is_no_fault(deployment: Deployment) -> None:
    # All of it takes longer than the limit, and no word takes a tenth of that.
    deployment.upstream.reply = answer_text(30, rate=10)
    outcomes = await ask_all_protocols(deployment, "hello", "quick")
    assert all(outcome.finished and outcome.text.endswith("w29") for _, outcome in outcomes)


async def test_every_fault_of_the_kit_is_here() -> None:
    elsewhere = {"redirect", "bad-chunk-size", "length-too-short", "length-too-long", "503"}
    waits = {"stall", "silent", "mute", "pings", "endless"}
    assert set(MATRIX) | elsewhere >= FAULTS.keys() | STATUSES.keys()
    assert waits == ENDLESS.keys()
