"""What goes wrong at Google, and what a client is then told."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from rightseat.errors import (
    ContextTooLong,
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamError,
    UpstreamGarbled,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamRejected,
    UpstreamTimeout,
)
from rightseat.types.chunks import FinishChunk, TextChunk
from tests.kit import breaks, faults
from tests.kit.answers import SSE, Reply, write_json
from tests.kit.chunks import Json
from tests.kit.connection import Connection, Received
from tests.kit.faults import CANARY
from tests.kit.framing import raw
from tests.kit.patience import STUCK
from tests.kit.vendors.google import Failed, Streamed, chunk, error, frame, part, retry_info, say
from tests.unit.models.google.asking import KEY, asked, connected

pytestmark = pytest.mark.io

BEGUN = [frame(chunk(part("so ")))]
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
LONG = f"The input token count (9) exceeds the maximum number of tokens allowed (8). {CANARY}"


def then(*after: bytes, end: bool = True) -> Reply:
    return raw([*BEGUN, *after], end=end)


def stall(*more: bytes) -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        await connection.head(200, SSE)
        for piece in (*BEGUN, *more):
            await connection.chunk(piece)
        await asyncio.Event().wait()

    return reply


def reset() -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        await connection.head(200, SSE)
        await connection.chunk(BEGUN[0])
        await connection.reset()

    return reply


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error(400), UpstreamRejected),
        (400, error(400, details=[BAD_KEY]), UpstreamDenied),
        (400, error(400, f"API key not valid. {CANARY}"), UpstreamDenied),
        (400, error(400, LONG), ContextTooLong),
        (401, error(401), UpstreamDenied),
        (403, error(403), UpstreamDenied),
        (404, error(404), UpstreamRejected),
        (429, error(429, details=[retry_info("7s")]), UpstreamBusy),
        (500, error(500), UpstreamError),
        (503, error(503), UpstreamOverloaded),
        (504, error(504), UpstreamTimeout),
        (418, {CANARY: [CANARY]}, UpstreamRejected),
    ],
)
async def test_a_status(status: int, body: Json, kind: type[RightseatError], caplog: pytest.LogCaptureFixture) -> None:
    body = {**body, "echo": KEY}
    with caplog.at_level(logging.DEBUG):
        async with connected(Failed(status, body), tries=1) as (_, model):
            fragments, found = await asked(model)
    assert not fragments
    assert type(found) is kind
    assert found.retry_after == (7 if status == 429 else None)
    assert CANARY not in found.message
    assert KEY not in caplog.text
    # The reason is for the operator who asks for it.
    assert CANARY in caplog.text
    assert {record.name for record in caplog.records if CANARY in record.getMessage()} == {
        "rightseat.models.google.client"
    }


@pytest.mark.parametrize(
    ("details", "header", "wait"),
    [
        ([retry_info("1.5s")], None, 1.5),
        ([retry_info("soon")], "9", 9),
        ([], "9", 9),
        ([], "Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ([], None, None),
    ],
)
async def test_how_long_to_wait(details: Sequence[Json], header: str | None, wait: float | None) -> None:
    async def reply(connection: Connection, _request: Received) -> None:
        more = {} if header is None else {"Retry-After": header}
        await write_json(connection, 429, error(429, details=details), **more)

    async with connected(reply, tries=1) as (_, model):
        _, found = await asked(model)
    assert isinstance(found, UpstreamBusy)
    assert found.retry_after == wait


@pytest.mark.demand("models.wire_level_fakes_speak")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (then(frame(error(503))), UpstreamOverloaded),
        (then(frame(error(429))), UpstreamBusy),
        (then(frame([error(500)])), UpstreamError),
        (then(b"data: {" + CANARY.encode() + b"\r\n\r\n"), UpstreamGarbled),
        (then(frame({"error": CANARY})), UpstreamGarbled),
        (then(b"<html>" + CANARY.encode() + b"\r\n"), UpstreamGarbled),
        (then(frame({"candidates": {"a": CANARY}})), UpstreamGarbled),
        (then(frame([[CANARY]])), UpstreamGarbled),
        (then(frame({"error": {"message": CANARY}})), UpstreamError),
        (then(b"data: " + b"[" * 100_000 + b"\r\n\r\n"), UpstreamGarbled),
        (then(b"data: \xff\xfe\r\n\r\n"), UpstreamGarbled),
        (then(b"data: " + b"x" * (9 << 20) + b"\r\n\r\n"), UpstreamGarbled),
        (then(), Incomplete),
        (then(end=False), Incomplete),
        (then(frame(chunk(part("half")))[:40], end=False), Incomplete),
        (reset(), Incomplete),
        (stall(), UpstreamTimeout),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
async def test_an_answer_that_breaks(reply: Reply, kind: type[RightseatError]) -> None:
    async with connected(reply, idle_timeout=0.2 if kind is UpstreamTimeout else STUCK) as (upstream, model):
        fragments, found = await asked(model)
        await upstream.quiet()
        # Nothing is asked again after the first token.
        assert len(upstream.requests) == 1
    assert fragments == [TextChunk("so ")]
    assert type(found) is kind
    assert CANARY not in found.message


@pytest.mark.parametrize(
    ("reply", "kind", "tries"),
    [
        (breaks.close_at_once(), UpstreamRefused, 2),
        (breaks.reset_at_once(), UpstreamRefused, 2),
        (breaks.garbage(), UpstreamGarbled, 1),
        (breaks.mute(), UpstreamTimeout, 1),
        (breaks.silent(), UpstreamTimeout, 1),
        (breaks.pings(), UpstreamTimeout, 1),
        (faults.html(), UpstreamGarbled, 1),
        (faults.redirect(), UpstreamRejected, 1),
        (faults.gzip_bomb(1 << 20), UpstreamGarbled, 1),
        (Streamed([]), Incomplete, 1),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
async def test_an_answer_that_never_begins(reply: Reply, kind: type[RightseatError], tries: int) -> None:
    seconds = 0.3 if kind is UpstreamTimeout else STUCK
    async with connected(reply, tries=2, first_token_timeout=seconds) as (upstream, model):
        fragments, found = await asked(model)
        await upstream.quiet()
        assert len(upstream.requests) == tries
    assert not fragments
    assert type(found) is kind
    assert CANARY not in found.message


DONE = frame(chunk(finish="STOP"))


@pytest.mark.parametrize("reply", [then(DONE, end=False), stall(DONE)], ids=["cut", "open"])
async def test_an_answer_that_is_over_needs_no_end_of_the_stream(reply: Reply) -> None:
    async with connected(reply) as (_, model):
        fragments, found = await asked(model)
    assert found is None
    assert fragments[0] == TextChunk("so ")
    assert fragments[-1] == FinishChunk("stop")


async def test_nobody_is_there() -> None:
    async with connected(say("ok"), tries=1) as (upstream, model):
        address = str(model.address)
        await upstream.__aexit__(None, None, None)
        _, found = await asked(model)
    assert isinstance(found, UpstreamRefused)
    assert address not in found.message


async def test_a_server_that_cannot_be_connected_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async with connected(say("ok"), connect_timeout=0.05, tries=1) as (_, model):
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never)
        _, found = await asked(model)
    assert isinstance(found, UpstreamTimeout)
    assert "connected within 0.05 s" in found.message


async def test_what_may_pass_is_tried_again() -> None:
    async with connected(say("ok")) as (upstream, model):
        upstream.queue(Failed(500, error(500)), Failed(503, error(503)))
        fragments, found = await asked(model)
        assert found is None
        assert fragments[0] == TextChunk("ok")
        assert len(upstream.requests) == 3
