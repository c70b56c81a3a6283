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
from tests.kit import connection_faults, faults
from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.chunks import Json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import CANARY
from tests.kit.framing import send_raw
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.vendors.google import (
    GoogleErrorReply,
    GoogleReply,
    answer_text,
    encode_frame,
    make_chunk,
    make_error_body,
    make_part,
    make_retry_info,
)
from tests.unit.models.google.model_calls import API_KEY, collect_chunks, connect_model

pytestmark = pytest.mark.io

FIRST_FRAMES = [encode_frame(make_chunk(make_part("so ")))]
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
LONG = f"The input token count (9) exceeds the maximum number of tokens allowed (8). {CANARY}"


def reply_then(*after: bytes, end: bool = True) -> UpstreamReply:
    return send_raw([*FIRST_FRAMES, *after], end=end)


def reply_and_stall(*more: bytes) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for piece in (*FIRST_FRAMES, *more):
            await connection.write_chunk(piece)
        await asyncio.Event().wait()

    return reply


def reply_and_reset() -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        await connection.write_chunk(FIRST_FRAMES[0])
        await connection.reset()

    return reply


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, make_error_body(400), UpstreamRejected),
        (400, make_error_body(400, details=[BAD_KEY]), UpstreamDenied),
        (400, make_error_body(400, f"API key not valid. {CANARY}"), UpstreamDenied),
        (400, make_error_body(400, LONG), ContextTooLong),
        (401, make_error_body(401), UpstreamDenied),
        (403, make_error_body(403), UpstreamDenied),
        (404, make_error_body(404), UpstreamRejected),
        (429, make_error_body(429, details=[make_retry_info("7s")]), UpstreamBusy),
        (500, make_error_body(500), UpstreamError),
        (503, make_error_body(503), UpstreamOverloaded),
        (504, make_error_body(504), UpstreamTimeout),
        (418, {CANARY: [CANARY]}, UpstreamRejected),
    ],
)
async def test_a_status(status: int, body: Json, kind: type[RightseatError], caplog: pytest.LogCaptureFixture) -> None:
    body = {**body, "echo": API_KEY}
    with caplog.at_level(logging.DEBUG):
        async with connect_model(GoogleErrorReply(status, body), tries=1) as (_, model):
            fragments, found = await collect_chunks(model)
    assert not fragments
    assert type(found) is kind
    assert found.retry_after == (7 if status == 429 else None)
    assert CANARY not in found.message
    assert API_KEY not in caplog.text
    # The reason is for the operator who asks for it.
    assert CANARY in caplog.text
    assert {record.name for record in caplog.records if CANARY in record.getMessage()} == {
        "rightseat.models.google.client"
    }


@pytest.mark.parametrize(
    ("details", "header", "wait"),
    [
        ([make_retry_info("1.5s")], None, 1.5),
        ([make_retry_info("soon")], "9", 9),
        ([], "9", 9),
        ([], "Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ([], None, None),
    ],
)
async def test_how_long_to_wait(details: Sequence[Json], header: str | None, wait: float | None) -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        more = {} if header is None else {"Retry-After": header}
        await write_json(connection, 429, make_error_body(429, details=details), **more)

    async with connect_model(reply, tries=1) as (_, model):
        _, found = await collect_chunks(model)
    assert isinstance(found, UpstreamBusy)
    assert found.retry_after == wait


@pytest.mark.demand("models.wire_level_fakes_speak")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (reply_then(encode_frame(make_error_body(503))), UpstreamOverloaded),
        (reply_then(encode_frame(make_error_body(429))), UpstreamBusy),
        (reply_then(encode_frame([make_error_body(500)])), UpstreamError),
        (reply_then(b"data: {" + CANARY.encode() + b"\r\n\r\n"), UpstreamGarbled),
        (reply_then(encode_frame({"error": CANARY})), UpstreamGarbled),
        (reply_then(b"<html>" + CANARY.encode() + b"\r\n"), Incomplete),
        (reply_then(encode_frame({"candidates": {"a": CANARY}})), UpstreamGarbled),
        (reply_then(encode_frame([[CANARY]])), UpstreamGarbled),
        (reply_then(encode_frame({"error": {"message": CANARY}})), UpstreamError),
        (reply_then(b"data: " + b"[" * 100_000 + b"\r\n\r\n"), UpstreamGarbled),
        (reply_then(b"data: \xff\xfe\r\n\r\n"), UpstreamGarbled),
        (reply_then(b"data: " + b"x" * (9 << 20) + b"\r\n\r\n"), UpstreamGarbled),
        (reply_then(), Incomplete),
        (reply_then(end=False), Incomplete),
        (reply_then(encode_frame(make_chunk(make_part("half")))[:40], end=False), Incomplete),
        (reply_and_reset(), Incomplete),
        (reply_and_stall(), UpstreamTimeout),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
async def test_an_answer_that_breaks(reply: UpstreamReply, kind: type[RightseatError]) -> None:
    async with connect_model(reply, idle_timeout=0.2 if kind is UpstreamTimeout else HANG_TIMEOUT) as (upstream, model):
        fragments, found = await collect_chunks(model)
        await upstream.wait_idle()
        # Nothing is asked again after the first token.
        assert len(upstream.requests) == 1
    assert fragments == [TextChunk("so ")]
    assert type(found) is kind
    assert CANARY not in found.message


@pytest.mark.parametrize(
    ("reply", "kind", "tries"),
    [
        (connection_faults.close_at_once(), UpstreamRefused, 2),
        (connection_faults.reset_at_once(), UpstreamRefused, 2),
        (connection_faults.send_garbage(), UpstreamGarbled, 1),
        (connection_faults.send_nothing(), UpstreamTimeout, 1),
        (connection_faults.send_head_only(), UpstreamTimeout, 1),
        (connection_faults.send_pings(), UpstreamTimeout, 1),
        (faults.send_html(), UpstreamGarbled, 1),
        (faults.send_redirect(), UpstreamRejected, 1),
        (faults.send_gzip_bomb(1 << 20), UpstreamGarbled, 1),
        (GoogleReply([]), Incomplete, 1),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
async def test_an_answer_that_never_begins(reply: UpstreamReply, kind: type[RightseatError], tries: int) -> None:
    seconds = 0.3 if kind is UpstreamTimeout else HANG_TIMEOUT
    async with connect_model(reply, tries=2, first_token_timeout=seconds) as (upstream, model):
        fragments, found = await collect_chunks(model)
        await upstream.wait_idle()
        assert len(upstream.requests) == tries
    assert not fragments
    assert type(found) is kind
    assert CANARY not in found.message


DONE = encode_frame(make_chunk(finish="STOP"))


@pytest.mark.parametrize("reply", [reply_then(DONE, end=False), reply_and_stall(DONE)], ids=["cut", "open"])
async def test_an_answer_that_is_over_needs_no_end_of_the_stream(reply: UpstreamReply) -> None:
    async with connect_model(reply) as (_, model):
        fragments, found = await collect_chunks(model)
    assert found is None
    assert fragments[0] == TextChunk("so ")
    assert fragments[-1] == FinishChunk("stop")


async def test_nobody_is_there() -> None:
    async with connect_model(answer_text("ok"), tries=1) as (upstream, model):
        address = str(model.address)
        await upstream.__aexit__(None, None, None)
        _, found = await collect_chunks(model)
    assert isinstance(found, UpstreamRefused)
    assert address not in found.message


async def test_a_server_that_cannot_be_connected_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async with connect_model(answer_text("ok"), connect_timeout=0.05, tries=1) as (_, model):
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", never)
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never)
        _, found = await collect_chunks(model)
    assert isinstance(found, UpstreamTimeout)
    assert "connected within 0.05 s" in found.message


async def test_what_may_pass_is_tried_again() -> None:
    async with connect_model(answer_text("ok")) as (upstream, model):
        upstream.queue_replies(GoogleErrorReply(500, make_error_body(500)), GoogleErrorReply(503, make_error_body(503)))
        fragments, found = await collect_chunks(model)
        assert found is None
        assert fragments[0] == TextChunk("ok")
        assert len(upstream.requests) == 3
