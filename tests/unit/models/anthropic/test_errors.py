"""Each fault ends in the right error, in our words, and what came before it is kept."""

import time
from email.utils import formatdate

import pytest

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.http.retry import parse_retry_after
from rightseat.types.chunks import FinishChunk
from tests.kit import connection_faults, faults, framing
from tests.kit.answers import SSE_HEADERS, UpstreamReply
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.vendors import anthropic as wire
from tests.unit.models.anthropic.model_calls import TEXT_BLOCK, collect_chunks, connect_model, join_text

pytestmark = pytest.mark.io

TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
NO_ROOM = "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000"
STATUSES: list[tuple[int, str, type[RightseatError], int]] = [
    (400, faults.CANARY, errors.UpstreamRejected, 1),
    (400, TOO_LONG, errors.ContextTooLong, 1),
    (400, NO_ROOM, errors.ContextTooLong, 1),
    (401, faults.CANARY, errors.UpstreamDenied, 1),
    (402, faults.CANARY, errors.UpstreamDenied, 1),
    (403, faults.CANARY, errors.UpstreamDenied, 1),
    (404, faults.CANARY, errors.UpstreamRejected, 1),
    (408, faults.CANARY, errors.UpstreamTimeout, 1),
    (413, faults.CANARY, errors.ContextTooLong, 1),
    (422, faults.CANARY, errors.UpstreamRejected, 1),
    (429, faults.CANARY, errors.UpstreamBusy, 3),
    (500, faults.CANARY, errors.UpstreamError, 3),
    (503, faults.CANARY, errors.UpstreamOverloaded, 3),
    (504, faults.CANARY, errors.UpstreamTimeout, 1),
    (529, faults.CANARY, errors.UpstreamOverloaded, 3),
]


@pytest.mark.demand("models.anthropic_stop_reasons_default", "models.vendor_errors_map_same")
@pytest.mark.parametrize(("status", "message", "error", "tries"), STATUSES)
async def test_a_status(status: int, message: str, error: type[RightseatError], tries: int) -> None:
    async with connect_model(tries=min(tries, 2)) as (upstream, model):
        upstream.reply = wire.fail_with_status(status, message)
        came, failure = await collect_chunks(model)
        assert len(upstream.requests) == min(tries, 2)
    assert type(failure) is error
    assert came == []
    assert message not in failure.message


async def test_an_unknown_model_is_called_one() -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = wire.fail_with_status(404)
        _, failure = await collect_chunks(model)
    assert failure is not None
    assert "does not know this model" in failure.message


@pytest.mark.demand("models.anthropic_stop_reasons_default")
async def test_a_wait_that_the_vendor_asks_for() -> None:
    async with connect_model() as (upstream, model):
        for status in (429, 529):
            upstream.reply = wire.fail_with_status(status, retry_after=7)
            _, failure = await collect_chunks(model)
            assert failure is not None
            assert failure.retry_after == 7
        assert len(upstream.requests) == 2, "longer than anybody waits: given up at once"


async def test_trying_again_helps() -> None:
    async with connect_model() as (upstream, model):
        upstream.queue_replies(
            wire.fail_with_status(529, retry_after=0.01),
            wire.fail_after_blocks(status=529),
            wire.answer_blocks(TEXT_BLOCK),
        )
        came, failure = await collect_chunks(model)
        assert len(upstream.requests) == 3
    assert failure is None
    assert join_text(came) == "w0 w1 w2"


@pytest.mark.demand("models.anthropic_stop_reasons_default", "models.vendor_errors_map_same")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, errors.UpstreamRejected),
        (401, errors.UpstreamDenied),
        (403, errors.UpstreamDenied),
        (404, errors.UpstreamRejected),
        (413, errors.ContextTooLong),
        (429, errors.UpstreamBusy),
        (500, errors.UpstreamError),
        (504, errors.UpstreamTimeout),
        (529, errors.UpstreamOverloaded),
    ],
)
async def test_an_error_in_the_stream(status: int, error: type[RightseatError]) -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = wire.fail_after_blocks(TEXT_BLOCK, status=status)
        came, failure = await collect_chunks(model)
        assert len(upstream.requests) == 1, "never again after the first token"
    assert type(failure) is error
    assert join_text(came) == "w0 w1 w2"
    assert faults.CANARY not in failure.message


async def test_a_prompt_that_turns_out_too_long_in_the_stream() -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = wire.fail_after_blocks(status=400, message=TOO_LONG)
        _, failure = await collect_chunks(model)
    assert type(failure) is errors.ContextTooLong


FIRST_EVENTS = [wire.encode_message_start(), *TEXT_BLOCK]


def reply_raw(*pieces: bytes) -> UpstreamReply:
    return framing.send_raw([*FIRST_EVENTS, *pieces])


async def reply_and_reset(connection: Connection, _request: ReceivedRequest) -> None:
    await connection.write_head(200, SSE_HEADERS)
    for piece in FIRST_EVENTS:
        await connection.write_chunk(piece)
    await connection.reset()


@pytest.mark.demand("models.model_contract_suite_passes")
@pytest.mark.parametrize(
    ("reply", "error", "kept"),
    [
        (reply_raw(), errors.Incomplete, True),
        (reply_raw(wire.encode_message_end("end_turn")[0]), errors.Incomplete, True),
        (
            reply_raw(wire.encode_message_end("end_turn")[0], b'event: message_stop\ndata: {"type'),
            errors.Incomplete,
            True,
        ),
        (framing.send_raw(FIRST_EVENTS, end=False), errors.Incomplete, True),
        (reply_and_reset, errors.Incomplete, True),
        (
            reply_raw(b'event: x\ndata: {"type": \n\n', *wire.encode_message_end("end_turn")),
            errors.UpstreamGarbled,
            True,
        ),
        (reply_raw(b"data: [7]\n\n", *wire.encode_message_end("end_turn")), errors.UpstreamGarbled, True),
        (reply_raw(b"data: " + b"x" * (2 << 20)), errors.UpstreamGarbled, True),
        (connection_faults.close_at_once(), errors.UpstreamRefused, False),
        (connection_faults.reset_at_once(), errors.UpstreamRefused, False),
        (connection_faults.send_garbage(), errors.UpstreamGarbled, False),
        (faults.send_html(), errors.UpstreamGarbled, False),
        (faults.answer_body(b'{"type": "message"}'), errors.UpstreamGarbled, False),
        (faults.send_gzip_bomb(), errors.UpstreamGarbled, False),
        (faults.send_redirect(), errors.UpstreamRejected, False),
        (faults.send_redirect(code=302), errors.UpstreamRejected, False),
    ],
)
async def test_a_broken_answer(reply: UpstreamReply, error: type[RightseatError], kept: bool) -> None:
    async with connect_model(tries=2) as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model)
        assert len(upstream.requests) == (2 if error is errors.UpstreamRefused else 1)
    assert type(failure) is error
    assert join_text(came) == ("w0 w1 w2" if kept else "")
    assert not any(isinstance(fragment, FinishChunk) for fragment in came)
    assert faults.CANARY not in failure.message


async def test_byte_by_byte_and_all_at_once_are_the_same_answer() -> None:
    whole = b"".join(wire.answer_blocks(TEXT_BLOCK).events)
    for pieces in ([whole], [bytes([byte]) for byte in whole]):
        async with connect_model() as (upstream, model):
            upstream.reply = framing.send_raw(pieces)
            came, failure = await collect_chunks(model)
        assert failure is None
        assert join_text(came) == "w0 w1 w2"
        assert came[-1] == FinishChunk("stop")


async def test_an_error_body_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.http.upstream.ERROR_BODY_SECONDS", 0.1)

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(400, {"Content-Length": "1000"})
        await connection_faults.send_nothing()(connection, request)

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        _, failure = await collect_chunks(model)
        await upstream.wait_closed(1)
    assert type(failure) is errors.UpstreamRejected


async def test_nobody_there() -> None:
    async with connect_model() as (upstream, model):
        gone = type(model)("claude-opus-5-5", base_url=upstream.origin, tries=1)
    # The upstream is gone, and its port with it.
    _, failure = await collect_chunks(gone)
    await gone.close()
    assert type(failure) is errors.UpstreamRefused


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("0.5", 0.5), ("", None), ("soon", None), ("999999999", 86_400.0), ("-1", None)]
)
def test_how_long_to_wait(value: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": value}) == seconds


def test_a_date_to_wait_for() -> None:
    found = parse_retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)})
    assert found is not None
    assert 3600 - HANG_TIMEOUT < found <= 3600
    assert parse_retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0
