"""The upstream rows of the fault matrix, through both doors of the running server."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.faults.faces import COPILOTKIT, FACES, OPENBB, STREAMED, TOLD, Face, Outcome, Peak
from tests.kit import faults
from tests.kit.answers import Reply, text
from tests.kit.catalogue import FAULTS, STATUSES, WAITS
from tests.kit.chunks import chunk, frame
from tests.kit.client import Client
from tests.kit.connection import Connection, Received
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.kit.sinks import Sink
from tests.kit.upstream import Upstream

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

MB = 1_000_000
LIMIT = 2
"""How long the quick model may be silent."""
CONFIG = """
[server]
keep_alive = 0.3
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
class Stage:
    server: Server
    upstream: Upstream

    async def works(self) -> None:
        """A fault must not spoil the next answer."""
        self.upstream.reply = None
        for face in FACES:
            outcome = await face(self.server.url, "fault-ok")
            assert (outcome.status, outcome.text, outcome.failures) == (200, "w0 w1 w2", [])
            assert outcome.finished

    def checks(self, outcome: Outcome, *codes: str) -> None:
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
async def stage() -> AsyncIterator[Stage]:
    # Bound but not listening: nobody else can take the port, and whoever connects is refused.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with Upstream() as upstream:
            config = CONFIG.format(up=upstream.url, closed=closed.getsockname()[1], limit=LIMIT)
            async with Server(config=config) as server:
                yield Stage(server, upstream)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def afresh(stage: Stage) -> None:
    """What a test that failed has told the upstream is not for the next one."""
    stage.upstream.reply = None


def face_id(face: Face) -> str:
    return face.name


each_face = pytest.mark.parametrize("face", FACES, ids=face_id)

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


async def through_all(stage: Stage, message: str, model: str = "default") -> list[tuple[Face, Outcome]]:
    outcomes = await asyncio.gather(*(face(stage.server.url, message, model) for face in FACES))
    return list(zip(FACES, outcomes, strict=True))


@pytest.mark.demand(
    "copilotkit.errors_http_200_errors",
    "copilotkit.peer_bugs_listed_notes",
    "engine.upstream_rows_fault_matrix",
    "openbb.failures_arrive_200_stream",
)
@pytest.mark.parametrize("fault", MATRIX)
async def test_a_fault_has_the_right_face(stage: Stage, fault: str) -> None:
    words, code, status = MATRIX[fault]
    before = len(stage.upstream.requests)
    async with Peak(lambda: stage.server.rss).watched() as rss:
        outcomes = await through_all(stage, f"fault-{fault}")
    for face, outcome in outcomes:
        stage.checks(outcome, code)
        if face in TOLD or (words and face is STREAMED):
            assert outcome.status == 200
            assert outcome.text == words
        else:
            assert outcome.status == status
    # Nothing is asked again once something was said, and nothing more than three times.
    assert len(stage.upstream.requests) - before <= len(FACES) * (1 if words else 3)
    assert rss.growth < 50 * MB
    await stage.works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@pytest.mark.parametrize("model", ["closed", "nowhere"])
async def test_nobody_is_there(stage: Stage, model: str) -> None:
    start = time.monotonic()
    outcomes = await through_all(stage, "hello", model)
    assert time.monotonic() - start < STUCK
    for face, outcome in outcomes:
        stage.checks(outcome, "upstream_unreachable")
        assert outcome.status == (200 if face in TOLD else 502)
    await stage.works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@pytest.mark.parametrize("fault", ["stall", "stall:after=0", "silent", "mute", "pings"])
async def test_silence_ends_at_the_limit(stage: Stage, fault: str) -> None:
    start = time.monotonic()
    before = len(stage.upstream.requests)
    outcomes = await through_all(stage, f"fault-{fault}", "quick")
    assert 0.9 * LIMIT < time.monotonic() - start < STUCK
    for face, outcome in outcomes:
        stage.checks(outcome, "upstream_timeout")
        # Meanwhile the connection was kept alive, but never before the first event.
        kept = fault == "stall" if face is OPENBB else outcome.status == 200
        beat = b'\r\n{"hasNext":true}\r\n' if face is COPILOTKIT else b": keep-alive\n\n"
        assert (beat in outcome.body) == kept
        assert not outcome.body.startswith(b":")
        if face in TOLD or (face is STREAMED and fault == "stall"):
            assert outcome.status == 200
            assert outcome.text == ("w0 w1 w2" if fault == "stall" else "")
        else:
            assert outcome.status == 504
    await stage.upstream.quiet()
    asked = stage.upstream.requests[before:]
    assert len(asked) == len(FACES)
    assert all(request.left_at is not None for request in asked), "an upstream was left open"
    await stage.works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@each_face
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_passed_on(stage: Stage, face: Face, status: int) -> None:
    stage.upstream.reply = faults.status(status, 7)
    before = len(stage.upstream.requests)
    outcome = await face(stage.server.url, "hello")
    stage.checks(outcome, "upstream_busy" if status == 429 else "upstream_overloaded")
    assert len(stage.upstream.requests) == before + 1, "7 s are too long to wait for"
    if face in TOLD:
        assert outcome.status == 200
    else:
        assert outcome.status == status
        assert outcome.headers["retry-after"] == "7"
    await stage.works()


@each_face
async def test_a_short_wait_is_waited_for(stage: Stage, face: Face) -> None:
    stage.upstream.queue(faults.status(429, 0.1), text())
    outcome = await face(stage.server.url, "hello")
    assert (outcome.text, outcome.failures) == ("w0 w1 w2", [])


@each_face
async def test_a_wrong_length_before_the_end_is_a_failure(stage: Stage, face: Face) -> None:
    # Whether the tokens are read together with the flaw is a matter of packets: some or all may be lost.
    outcome = await face(stage.server.url, "fault-length-too-short")
    stage.checks(outcome, "upstream_garbled", "incomplete")
    assert "w0 w1 w2".startswith(outcome.text)
    await stage.works()


def flawed(go: asyncio.Event) -> Reply:
    """Tokens, then, once it may, a transfer chunk whose size is no number."""

    async def reply(connection: Connection, _request: Received) -> None:
        await faults.begin(connection, text(), 3)
        await go.wait()
        await connection.write(b"zz\r\nnot a size\r\n")
        await connection.fin()

    return reply


@each_face
@pytest.mark.parametrize("late", [False, True])
async def test_a_broken_chunk_is_noticed_at_once(stage: Stage, face: Face, late: bool) -> None:
    """`late` comes when the client has read the tokens; the model's own limits are a minute and more."""
    read = asyncio.Event()
    stage.upstream.reply = flawed(read)
    late = late and face.streamed
    if not late:
        read.set()
    async with Client(stage.server.url) as client:
        await face.send(client, "hello")
        head, body = await client.head(), b""
        async for piece in client.pieces():
            body += piece
            if b"w2" in body:
                read.set()
    outcome = face.made(head, body)
    stage.checks(outcome, "upstream_garbled", "incomplete")
    if late:
        assert outcome.text == "w0 w1 w2"
    await stage.works()


@each_face
async def test_a_wrong_length_after_the_end_spoils_nothing(stage: Stage, face: Face) -> None:
    outcome = await face(stage.server.url, "fault-length-too-long")
    assert (outcome.text, outcome.failures, outcome.finished) == ("w0 w1 w2", [], True)
    await stage.works()


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@each_face
async def test_a_redirect_is_not_followed(stage: Stage, face: Face) -> None:
    async with Sink() as sink:
        for code in (301, 302, 307, 308):
            stage.upstream.reply = faults.redirect(f"{sink.url}/v1/chat/completions", code)
            outcome = await face(stage.server.url, "hello")
            stage.checks(outcome, "upstream_rejected")
        sink.assert_untouched()
    await stage.works()


def endless(piece: bytes) -> Reply:
    """Good tokens, then this for ever, as fast as it is read."""

    async def reply(connection: Connection, _request: Received) -> None:
        await faults.begin(connection, text(), 3)
        while not connection.closed_by_peer:
            await connection.chunk(piece)
            await asyncio.sleep(0)

    return reply


async def drained(client: Client) -> bytes:
    """The end of a body of any length."""
    tail = b""
    async for piece in client.pieces():
        tail = (tail + piece)[-2000:]
    return tail


@pytest.mark.demand("engine.upstream_rows_fault_matrix")
@each_face
@pytest.mark.parametrize(
    "piece", [frame(chunk({"content": "x" * 500_000})), b": " + b"x" * 500_000 + b"\n\n"], ids=["text", "comments"]
)
async def test_an_answer_without_end_is_ended(stage: Stage, face: Face, piece: bytes) -> None:
    stage.upstream.reply = endless(piece)
    asked = len(stage.upstream.requests)
    async with Peak(lambda: stage.server.rss).watched() as rss, Client(stage.server.url) as client:
        await face.send(client, "hello")
        await client.head()
        tail = await drained(client)
    assert b"upstream_garbled" in tail
    assert b"[DONE]" not in tail
    await stage.upstream.quiet()
    assert stage.upstream.requests[asked].left_at is not None
    assert "Traceback" not in stage.server.stderr
    await stage.works()
    assert rss.growth < 50 * MB, f"one answer took {rss.growth / MB:.0f} MB"


@pytest.mark.long
async def test_a_slow_but_steady_answer_is_no_fault(stage: Stage) -> None:
    # All of it takes longer than the limit, and no word takes a tenth of that.
    stage.upstream.reply = text(30, rate=10)
    outcomes = await through_all(stage, "hello", "quick")
    assert all(outcome.finished and outcome.text.endswith("w29") for _, outcome in outcomes)


async def test_every_fault_of_the_kit_is_here() -> None:
    elsewhere = {"redirect", "bad-chunk-size", "length-too-short", "length-too-long", "503"}
    waits = {"stall", "silent", "mute", "pings", "endless"}
    assert set(MATRIX) | elsewhere >= FAULTS.keys() | STATUSES.keys()
    assert waits == WAITS.keys()
