"""Over the wire."""

import asyncio
import logging

import pytest

from rightseat.errors import CallerError, ConfigError, Incomplete, UpstreamTimeout
from rightseat.models.anthropic import AnthropicModel
from rightseat.types.chunks import FinishChunk, TextChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.kit import connection_faults, faults
from tests.kit.answers import SSE_HEADERS, UpstreamReply
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.vendors import anthropic as wire
from tests.unit.models.anthropic.model_calls import HELLO, TEXT_BLOCK, collect_chunks, connect_model, join_text

pytestmark = pytest.mark.io

KEY = "sk-ant-canary-0123456789"
LONG = wire.answer_blocks(wire.encode_text(0, *("w " for _ in range(1000))), rate=10)


@pytest.mark.demand("models.anthropic_messages_api", "models.wire_level_fakes_speak")
async def test_what_goes_over_the_wire() -> None:
    async with connect_model(api_key=KEY, headers={"X-Team": "blue"}) as (upstream, model):
        came, failure = await collect_chunks(model)
        request = upstream.requests[0]
    assert failure is None
    assert join_text(came) == "w0 w1 w2"
    assert (request.method, request.target) == ("POST", "/v1/messages")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"] == "rightseat"
    assert request.json["stream"] is True


async def test_without_a_key_none_is_sent_and_none_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    async with connect_model() as (upstream, model):
        _, failure = await collect_chunks(model)
        assert failure is None
        assert not {"authorization", "x-api-key"} & upstream.requests[0].headers.keys()


async def test_a_base_url_with_v1_is_the_same() -> None:
    async with connect_model() as (upstream, _):
        model = AnthropicModel("claude-opus-5-5", base_url=f"{upstream.origin}/deep/v1/")
        await collect_chunks(model)
        await model.close()
        assert upstream.requests[0].target == "/deep/v1/messages"


async def test_a_connection_serves_again() -> None:
    async with connect_model() as (upstream, model):
        for _ in range(3):
            _, failure = await collect_chunks(model)
            assert failure is None
        assert len(upstream.connections) == 1


async def test_a_connection_whose_body_ends_a_little_later_serves_again() -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        await connection.write_chunk(b"".join(wire.answer_blocks(TEXT_BLOCK).events))
        # So that the end comes in a read of its own.
        await asyncio.sleep(0.02)
        await connection.write_chunk(b"")

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        await collect_chunks(model)
        await collect_chunks(model)
        assert len(upstream.connections) == 1


async def test_cookies_are_not_kept() -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, {**SSE_HEADERS, "Set-Cookie": "a=b; Path=/"})
        for event in wire.answer_blocks(TEXT_BLOCK).events:
            await connection.write_chunk(event)
        await connection.write_chunk(b"")

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        await collect_chunks(model)
        await collect_chunks(model)
        assert "cookie" not in upstream.requests[1].headers


async def test_the_last_event_is_the_end_even_when_the_body_goes_on() -> None:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for event in wire.answer_blocks(TEXT_BLOCK).events:
            await connection.write_chunk(event)
        await connection_faults.send_nothing()(connection, request)

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        async with asyncio.timeout(HANG_TIMEOUT):
            came, failure = await collect_chunks(model)
            await upstream.wait_closed(1)
    assert failure is None
    assert came[-1] == FinishChunk("stop")


async def test_leaving_closes_the_connection_at_once() -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = LONG
        async with closing(model.stream(HELLO)) as stream:
            await anext(stream)
            assert upstream.closed_count == 0
        await upstream.wait_closed(1)


STALLED = wire.AnthropicReply([wire.encode_message_start(), *TEXT_BLOCK[:2]])


async def reply_and_stall(connection: Connection, _request: ReceivedRequest) -> None:
    await connection.write_head(200, SSE_HEADERS)
    for event in STALLED.events:
        await connection.write_chunk(event)
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "reply", [connection_faults.send_nothing(), connection_faults.send_head_only(), reply_and_stall]
)
async def test_cancelling_closes_the_connection_at_once(reply: UpstreamReply) -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = reply
        task = asyncio.create_task(collect_chunks(model))
        await upstream.wait_requests(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.wait_closed(1)


@pytest.mark.long
async def test_a_client_that_reads_slowly_is_not_a_silent_upstream() -> None:
    async def pause() -> None:
        # Longer than idle_timeout: this is what is tested.
        await asyncio.sleep(0.25)

    async with connect_model(first_token_timeout=HANG_TIMEOUT, idle_timeout=0.2) as (upstream, model):
        upstream.reply = wire.answer_blocks(wire.encode_tool_use(0, "add", *"12345"))
        came, failure = await collect_chunks(model, pause=pause)
    assert failure is None
    assert len(came) >= 6


@pytest.mark.parametrize(
    "reply", [connection_faults.send_nothing(), connection_faults.send_head_only(), connection_faults.send_pings()]
)
async def test_no_first_token(reply: UpstreamReply) -> None:
    async with connect_model(first_token_timeout=0.2, idle_timeout=0.1) as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model)
        await upstream.wait_closed(1)
        assert len(upstream.requests) == 1
    assert type(failure) is UpstreamTimeout
    assert "first_token_timeout" in failure.message
    assert came == []


async def test_a_stall_ends_after_the_idle_timeout() -> None:
    async with connect_model(first_token_timeout=HANG_TIMEOUT, idle_timeout=0.2) as (upstream, model):
        upstream.reply = reply_and_stall
        came, failure = await collect_chunks(model)
        await upstream.wait_closed(1)
    assert type(failure) is UpstreamTimeout
    assert "idle_timeout" in failure.message
    assert came == [TextChunk("w0")]


@pytest.mark.long
async def test_hidden_thoughts_are_a_beginning() -> None:
    """Nothing is shown for longer than the first token may take, but the model is at work and pings."""

    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        hidden, *rest = wire.encode_thinking(0)
        for event in (
            wire.encode_message_start(),
            hidden,
            *([wire.PING] * 8),
            *rest,
            *wire.encode_message_end("end_turn"),
        ):
            await connection.write_chunk(event)
            await asyncio.sleep(0.15 if event is wire.PING else 0)
        await connection.write_chunk(b"")

    async with connect_model(first_token_timeout=1, idle_timeout=HANG_TIMEOUT) as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model)
    assert failure is None
    assert came[-1] == FinishChunk("stop")


async def test_what_arrived_before_a_cut_is_kept() -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for event in (wire.encode_message_start(), *TEXT_BLOCK):
            await connection.write_chunk(event)
        await connection.fin()

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model)
    assert type(failure) is Incomplete
    assert join_text(came) == "w0 w1 w2"


@pytest.mark.demand("models.secrets_prompts_never_messages")
async def test_neither_keys_nor_prompts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    prompt = Prompt(messages=(text_message("user", "my-private-words"),))
    with caplog.at_level(logging.DEBUG):
        async with connect_model(api_key=KEY, headers={"X-Key": "secret-header"}) as (upstream, model):
            await collect_chunks(model, prompt)
            upstream.reply = wire.fail_with_status(401, f"{faults.CANARY} {KEY} secret-header {'x' * 1000}")
            _, failure = await collect_chunks(model, prompt)
            upstream.reply = wire.fail_after_blocks(TEXT_BLOCK)
            await collect_chunks(model, prompt)
    assert caplog.text.count(faults.CANARY) == 2, "the vendor's words are in the debug log"
    for secret in (KEY, "secret-header", "my-private-words", "x" * 300):
        assert secret not in caplog.text
    assert KEY not in repr(failure)
    assert faults.CANARY not in repr(failure)


async def test_half_a_character_is_the_callers_fault() -> None:
    async with connect_model() as (upstream, model):
        _, failure = await collect_chunks(model, Prompt(messages=(text_message("user", "\ud800"),)))
        assert upstream.requests == []
    assert type(failure) is CallerError


@pytest.mark.parametrize("base_url", ["", "api.test", "ftp://api.test", "http://a:b@api.test", "http://x:99999"])
def test_a_wrong_base_url(base_url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        AnthropicModel("m", base_url=base_url)


@pytest.mark.parametrize("key", ["sk\n", "sk\r\nX: y", "s\0k", "ключ"])
def test_a_key_that_is_no_header(key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        AnthropicModel("m", api_key=key)
    assert key not in raised.value.message


async def test_closing_twice_and_asking_after() -> None:
    async with connect_model() as (_, model):
        await model.close()
        await collect_chunks(model)
        await model.close()
        await model.close()
        _, failure = await collect_chunks(model)
        assert failure is None


def test_it_says_what_it_can_do() -> None:
    made = AnthropicModel("claude-opus-5-5", api_key="sk")
    assert made.capabilities.tools
    assert made.capabilities.images
    assert not AnthropicModel("claude-2", api_key="sk").capabilities.images
