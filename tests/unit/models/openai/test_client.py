import asyncio
import logging

import pytest

from rightseat.errors import CallerError, ConfigError, Incomplete
from rightseat.models.openai import OpenAIModel
from rightseat.types.chunks import FinishChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.types.streams import closing
from tests.kit import answers, connection_faults, faults
from tests.kit.answers import SSE_HEADERS, write_json
from tests.kit.chunks import make_error_body
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.models.model_calls import HELLO, collect_chunks, connect_model, join_text

pytestmark = pytest.mark.io

KEY = "sk-canary-0123456789"


async def test_what_goes_over_the_wire() -> None:
    async with connect_model(api_key=KEY, headers={"X-Team": "blue"}) as (upstream, model):
        prompt = Prompt(messages=(text_message("user", "hi"),), settings=SamplingSettings(temperature=0, seed=0))
        await collect_chunks(model, prompt)
        request = upstream.requests[0]
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.json["model"] == "kit-model"
    assert request.json["stream"] is True
    assert (request.json["temperature"], request.json["seed"]) == (0, 0)


async def test_a_configured_header_replaces_ours_in_any_case() -> None:
    async with connect_model(api_key=KEY, headers={"authorization": "Basic x"}) as (upstream, model):
        await collect_chunks(model)
        assert upstream.requests[0].headers["authorization"] == "Basic x"


async def test_without_a_key_none_is_sent() -> None:
    async with connect_model() as (upstream, model):
        await collect_chunks(model)
        assert "authorization" not in upstream.requests[0].headers


async def test_a_query_in_the_base_url_is_kept() -> None:
    async with connect_model() as (upstream, _):
        model = OpenAIModel("m", base_url=f"{upstream.origin}/deep/?api-version=1")
        await collect_chunks(model)
        await model.close()
        assert upstream.requests[0].target == "/deep/chat/completions?api-version=1"


async def test_a_connection_serves_again() -> None:
    async with connect_model() as (upstream, model):
        for _ in range(3):
            _, failure = await collect_chunks(model)
            assert failure is None
        assert len(upstream.connections) == 1


async def test_cookies_are_not_kept() -> None:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, {**SSE_HEADERS, "Set-Cookie": "a=b; Path=/"})
        for frame in answers.answer_text().encode_frames(request):
            await connection.write_chunk(frame)
        await connection.write_chunk(b"")

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        await collect_chunks(model)
        await collect_chunks(model)
        assert "cookie" not in upstream.requests[1].headers


async def test_done_is_the_end_even_when_the_body_goes_on() -> None:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for frame in answers.answer_text().encode_frames(request):
            await connection.write_chunk(frame)
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
        upstream.reply = answers.answer_text(1000, rate=10)
        async with closing(model.stream(HELLO)) as stream:
            await anext(stream)
            assert upstream.closed_count == 0
        await upstream.wait_closed(1)


@pytest.mark.parametrize(
    "reply", [connection_faults.send_nothing(), connection_faults.send_head_only(), connection_faults.stall_stream()]
)
async def test_cancelling_closes_the_connection_at_once(reply: answers.UpstreamReply) -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = reply
        task = asyncio.create_task(collect_chunks(model))
        await upstream.wait_requests(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.wait_closed(1)


async def test_a_client_that_reads_slowly_is_not_a_silent_upstream() -> None:
    async def pause() -> None:
        # Longer than idle_timeout: this is what is tested.
        await asyncio.sleep(0.25)

    async with connect_model(first_token_timeout=HANG_TIMEOUT, idle_timeout=0.2) as (upstream, model):
        upstream.reply = answers.answer_text(5)
        came, failure = await collect_chunks(model, pause=pause)
    assert failure is None
    assert join_text(came) == "w0 w1 w2 w3 w4"


async def test_tokens_that_arrived_with_the_cut_are_kept() -> None:
    """The reader is held up while tokens and the end arrive together."""
    begun, cut = asyncio.Event(), asyncio.Event()

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        frames = answers.answer_text(50).encode_frames(request)
        await connection.write_head(200, SSE_HEADERS)
        await connection.write_chunk(frames[1])
        await begun.wait()
        for frame in frames[2:20]:
            await connection.write_chunk(frame)
        await connection.fin()
        cut.set()

    async def pause() -> None:
        begun.set()
        await cut.wait()
        for _ in range(20):
            await asyncio.sleep(0.001)

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        came, failure = await collect_chunks(model, pause=pause)
    assert type(failure) is Incomplete
    assert len(join_text(came).split()) == 19


async def test_the_log_has_the_servers_words_but_no_key(caplog: pytest.LogCaptureFixture) -> None:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, 401, make_error_body(f"{faults.CANARY} {KEY} secret-header {'x' * 1000}", "x"))

    with caplog.at_level(logging.DEBUG):
        async with connect_model(api_key=KEY, headers={"X-Key": "secret-header"}) as (upstream, model):
            upstream.reply = reply
            _, failure = await collect_chunks(model)
    assert faults.CANARY in caplog.text
    assert KEY not in caplog.text
    assert "secret-header" not in caplog.text
    assert "x" * 300 not in caplog.text
    assert KEY not in repr(failure)


async def test_an_error_in_the_stream_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with connect_model() as (upstream, model):
            upstream.reply = faults.fail_midway()
            await collect_chunks(model)
    assert faults.CANARY in caplog.text


async def test_half_a_character_is_the_callers_fault() -> None:
    async with connect_model() as (upstream, model):
        _, failure = await collect_chunks(model, Prompt(messages=(text_message("user", "\ud800"),)))
        assert upstream.requests == []
    assert type(failure) is CallerError


@pytest.mark.parametrize(
    "base_url", ["", "api.test/v1", "ftp://api.test", "http://", "http://a:b@api.test/v1", "http://x:99999/v1"]
)
def test_a_wrong_base_url(base_url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIModel("m", base_url=base_url)


@pytest.mark.parametrize("key", ["sk\n", "sk\r\nX: y", "s\0k", "ключ"])
def test_a_key_that_is_no_header(key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        OpenAIModel("m", api_key=key)
    assert key not in raised.value.message


async def test_closing_twice_and_asking_after() -> None:
    async with connect_model() as (_, model):
        await model.close()
        await collect_chunks(model)
        await model.close()
        await model.close()
        _, failure = await collect_chunks(model)
        assert failure is None
