"""The fault matrix of one upstream: each fault ends in the right error, and what came before it is kept."""

import time
from email.utils import formatdate
from typing import Any

import pytest

from rightseat import errors
from rightseat.http.retry import parse_retry_after
from rightseat.types.chunks import FinishChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from tests.kit import catalogue, connection_faults, faults, framing
from tests.kit.answers import UpstreamReply, answer_text, write_json
from tests.kit.chunks import make_completion, make_error_body
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.models.model_calls import collect_chunks, connect_model, join_text

pytestmark = pytest.mark.io

EXPECTED_ERRORS = {
    "400": errors.UpstreamRejected,
    "401": errors.UpstreamDenied,
    "404": errors.UpstreamRejected,
    "429": errors.UpstreamBusy,
    "500": errors.UpstreamError,
    "503": errors.UpstreamOverloaded,
    "error-midway": errors.UpstreamOverloaded,
    "eof": errors.Incomplete,
    "reset": errors.Incomplete,
    "reset-at-once": errors.UpstreamRefused,
    "cut": errors.Incomplete,
    "cut-between": errors.Incomplete,
    "close-at-once": errors.UpstreamRefused,
    "bad-json": errors.UpstreamGarbled,
    "bad-chunk-size": errors.UpstreamGarbled,
    "wrong-shape": errors.UpstreamGarbled,
    "html": errors.UpstreamGarbled,
    "length-too-short": errors.UpstreamGarbled,
    "garbage": errors.UpstreamGarbled,
    "gzip-bomb": errors.UpstreamGarbled,
    "redirect": errors.UpstreamRejected,
    "huge": errors.UpstreamGarbled,
}
# Whether the flaw arrives together with the head or after it is a matter of reads.
EITHER = {"bad-chunk-size", "length-too-short"}
# [DONE] came: that the body's length was a lie can no longer spoil the answer.
HARMLESS = {"length-too-long"}
KEEPS_TOKENS = {"error-midway", "eof", "reset", "cut", "cut-between", "bad-json"}
RETRIED_FAULTS = {"500", "503", "reset-at-once", "close-at-once"}


def test_every_fault_of_the_kit_is_in_the_matrix() -> None:
    assert EXPECTED_ERRORS.keys() | HARMLESS == catalogue.FAULTS.keys() | catalogue.STATUSES.keys() | {"huge"}


@pytest.mark.parametrize("name", EXPECTED_ERRORS)
async def test_a_fault(name: str) -> None:
    async with connect_model() as (upstream, model):
        came, failure = await collect_chunks(model, Prompt(messages=(text_message("user", f"fault-{name}"),)))
        tries = len(upstream.requests)
    assert type(failure) in {EXPECTED_ERRORS[name], errors.Incomplete if name in EITHER else EXPECTED_ERRORS[name]}
    assert not any(isinstance(fragment, FinishChunk) for fragment in came)
    assert faults.CANARY not in str(failure)
    if name not in EITHER:
        assert join_text(came) == ("w0 w1 w2" if name in KEEPS_TOKENS else "")
    assert tries == (3 if name in RETRIED_FAULTS else 1)


async def test_a_length_that_lies_after_done() -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = faults.overstate_length()
        came, failure = await collect_chunks(model)
    assert failure is None
    assert join_text(came) == "w0 w1 w2"


@pytest.mark.parametrize("name", catalogue.FRAMINGS)
async def test_a_framing(name: str) -> None:
    async with connect_model() as (_, model):
        came, failure = await collect_chunks(model, Prompt(messages=(text_message("user", f"fault-{name}"),)))
    assert failure is None
    assert join_text(came) == framing.TEXT
    assert came[-1] == FinishChunk("stop")


@pytest.mark.parametrize(("name", "message"), [("silent", "0.2 s"), ("mute", "0.2 s"), ("pings", "0.2 s")])
async def test_no_first_token(name: str, message: str) -> None:
    async with connect_model(first_token_timeout=0.2, idle_timeout=0.1) as (upstream, model):
        began = time.monotonic()
        came, failure = await collect_chunks(model, Prompt(messages=(text_message("user", f"fault-{name}"),)))
        took = time.monotonic() - began
        await upstream.wait_closed(1)
        assert len(upstream.requests) == 1
    assert type(failure) is errors.UpstreamTimeout
    assert "first_token_timeout" in failure.message
    assert 0.19 <= took < HANG_TIMEOUT
    assert came == []


@pytest.mark.demand("engine.retries_backoff_retry_after")
async def test_a_stall_ends_after_the_idle_timeout() -> None:
    async with connect_model(first_token_timeout=HANG_TIMEOUT, idle_timeout=0.2) as (upstream, model):
        upstream.reply = connection_faults.stall_stream()
        began = time.monotonic()
        came, failure = await collect_chunks(model)
        took = time.monotonic() - began
        await upstream.wait_closed(1)
    assert type(failure) is errors.UpstreamTimeout
    assert "idle_timeout" in failure.message
    assert join_text(came) == "w0 w1 w2"
    assert 0.19 <= took < HANG_TIMEOUT


@pytest.mark.long
async def test_a_slow_but_steady_answer_is_not_idle() -> None:
    # All of it takes longer than the limit, and no word takes a tenth of that.
    async with connect_model(first_token_timeout=1, idle_timeout=1) as (upstream, model):
        upstream.reply = answer_text(30, rate=20)
        came, failure = await collect_chunks(model)
    assert failure is None
    assert len(join_text(came).split()) == 30


async def test_an_error_body_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.http.upstream.ERROR_BODY_SECONDS", 0.1)

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(400, {"Content-Length": "1000"})
        await connection_faults.send_nothing()(connection, _request)

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        _, failure = await collect_chunks(model)
        await upstream.wait_closed(1)
    assert type(failure) is errors.UpstreamRejected


@pytest.mark.parametrize(
    ("param", "named"),
    [
        ("max_tokens", "max_tokens"),
        ("tools[0].function.parameters", "tools"),
        ("messages.[1].content", "messages"),
        ("canary", None),
        (7, None),
        (None, None),
    ],
)
async def test_a_field_that_the_server_refuses_is_named(param: Any, named: str | None) -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, 400, {"error": {"message": "canary", "param": param}})

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        _, failure = await collect_chunks(model)
    assert isinstance(failure, errors.UpstreamRejected)
    assert failure.param == named
    assert (f"`{named}`" in failure.message) is (named is not None)
    assert "canary" not in failure.message


async def test_nobody_there() -> None:
    async with connect_model() as (upstream, model):
        url = upstream.base_url
    # The upstream is gone, and its port with it.
    async with connect_model() as (_, model):
        model = type(model)("kit-model", base_url=url, tries=2)
        _, failure = await collect_chunks(model)
        await model.close()
    assert type(failure) is errors.UpstreamRefused


def make_error_reply(status: int, code: str, message: str = "canary") -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, status, make_error_body(message, code))

    return reply


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (make_error_reply(400, "context_length_exceeded"), errors.ContextTooLong),
        (make_error_reply(400, "x", "This model's maximum context length is 5"), errors.ContextTooLong),
        (make_error_reply(422, "x"), errors.UpstreamRejected),
        (make_error_reply(403, "x"), errors.UpstreamDenied),
        (make_error_reply(408, "x"), errors.UpstreamTimeout),
        (make_error_reply(504, "x"), errors.UpstreamTimeout),
        (faults.send_redirect(code=302), errors.UpstreamRejected),
    ],
)
async def test_statuses(reply: UpstreamReply, kind: type[errors.RightseatError]) -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = reply
        _, failure = await collect_chunks(model)
        assert len(upstream.requests) == 1
    assert type(failure) is kind
    assert "canary" not in str(failure)


@pytest.mark.demand("engine.retries_backoff_retry_after")
async def test_a_long_retry_after_is_told_at_once() -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = faults.fail_with_status(503, 30)
        _, failure = await collect_chunks(model)
        assert len(upstream.requests) == 1
    assert type(failure) is errors.UpstreamOverloaded
    assert failure.retry_after == 30


@pytest.mark.demand("engine.retries_backoff_retry_after")
async def test_a_second_try_may_succeed() -> None:
    async with connect_model() as (upstream, model):
        upstream.queue_replies(faults.fail_with_status(500), connection_faults.close_at_once())
        came, failure = await collect_chunks(model)
        assert len(upstream.requests) == 3
    assert failure is None
    assert join_text(came) == "w0 w1 w2"


async def test_an_error_in_the_stream_before_the_first_token_is_tried_again() -> None:
    async with connect_model() as (upstream, model):
        upstream.queue_replies(faults.fail_midway(0))
        came, failure = await collect_chunks(model)
        assert len(upstream.requests) == 2
    assert failure is None
    assert join_text(came) == "w0 w1 w2"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "999999999"}, 86_400),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


def test_retry_after_as_a_date() -> None:
    wait = parse_retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)})
    assert wait is not None
    assert 3600 - HANG_TIMEOUT < wait <= 3600


async def test_a_server_that_does_not_stream() -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, 200, make_completion({"content": "all at once"}))

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model)
    assert failure is None
    assert join_text(came) == "all at once"
    assert came[-1] == FinishChunk("stop")


async def test_an_event_stream_that_is_called_json() -> None:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        body = b"".join(answer_text().encode_frames(request))
        await connection.write_head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        await connection.write(body)

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model)
    assert failure is None
    assert join_text(came) == "w0 w1 w2"


async def test_a_whole_answer_without_end_is_refused() -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        while True:
            await connection.write_chunk(b" " * (1 << 16))

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        _, failure = await collect_chunks(model)
        await upstream.wait_closed(1)
    assert type(failure) is errors.UpstreamGarbled
