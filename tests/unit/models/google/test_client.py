"""The model as a client: what it sends along, how it leaves, and what it leaves behind."""

import asyncio
import itertools
import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.google import model
from rightseat.types.chunks import ModelChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.streams import closing
from tests.contract.models.cases import collect_answer
from tests.kit import connection_faults
from tests.kit.answers import UpstreamReply
from tests.kit.framing import send_raw
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors.google import GoogleReply, answer_text, encode_frame, make_call_part, make_chunk, make_part
from tests.unit.models.google.model_calls import API_KEY, HELLO, collect_chunks, connect_model

pytestmark = pytest.mark.io

LONG = GoogleReply([make_chunk(make_part("w"))] * 1000, rate=10)


async def test_the_key_is_a_header_and_never_in_the_address() -> None:
    async with connect_model(answer_text("ok"), headers={"X-Team": "blue"}) as (upstream, model):
        assert (await collect_chunks(model))[1] is None
        request = upstream.requests[0]
    assert request.headers["x-goog-api-key"] == API_KEY
    assert API_KEY not in request.target
    assert API_KEY.encode() not in request.body
    assert request.headers["x-team"] == "blue"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.demand("models.google_gemini_api")
async def test_leaving_closes_the_socket_at_once() -> None:
    async with connect_model(LONG) as (upstream, model):
        async with closing(model.stream(HELLO)) as stream:
            await anext(stream)
        # The answer itself would take longer than a stuck program, or for ever.
        await upstream.wait_closed(1)


async def test_leaving_with_words_unread_closes_it_too() -> None:
    """A thousand chunks lie in the buffer: they are not read just to be thrown away."""
    flood = send_raw([encode_frame(make_chunk(make_part("w"))) * 1000], end=False)
    async with connect_model(flood) as (_, model):
        async with closing(model.stream(HELLO)) as stream:
            await anext(stream)
        assert [task for task in asyncio.all_tasks() if "aclose" in repr(task)] == []


@pytest.mark.parametrize(
    "reply",
    [
        LONG,
        GoogleReply([make_chunk(make_part("", thought=True))] * 1000, rate=10),
        connection_faults.send_head_only(),
        connection_faults.send_nothing(),
    ],
    ids=["speaking", "not yet", "a head", "nothing"],
)
async def test_cancelling_closes_the_socket_at_once(reply: UpstreamReply) -> None:
    async with connect_model(reply) as (upstream, model):
        task = asyncio.create_task(collect_chunks(model))
        await upstream.wait_requests(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The answer itself would take longer than a stuck program, or for ever.
        await upstream.wait_closed(1)


async def test_connections_are_used_again() -> None:
    async with connect_model(answer_text("ok")) as (upstream, model):
        for _ in range(3):
            assert (await collect_chunks(model))[1] is None
        assert len(upstream.connections) == 1


async def test_a_model_that_was_closed_can_be_asked_again() -> None:
    async with connect_model(answer_text("ok")) as (_, model):
        assert (await collect_chunks(model))[1] is None
        await model.close()
        assert (await collect_chunks(model))[1] is None


async def test_the_client_says_nothing_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with connect_model(answer_text("ok", finish="SOMETHING_NEW")) as (_, model):
        await collect_chunks(model)
    assert {record.name.split(".")[0] for record in caplog.records} <= {"asyncio", "rightseat"}


WHOLE_ANSWER = GoogleReply(
    [
        make_chunk(make_part("I think", thought=True)),
        make_chunk(make_part("héllo 世界 🙂\n\n\u2028\u0085 ")),
        make_chunk(make_call_part("add", {"a": "é\u2028"})),
        make_chunk(finish="STOP"),
    ]
)
BYTES = b"".join(map(encode_frame, WHOLE_ANSWER.chunks))


async def stream_pieces(pieces: list[bytes]) -> list[ModelChunk]:
    async with connect_model(send_raw(pieces)) as (_, model):
        fragments, error = await collect_chunks(model)
        assert error is None
        return fragments


@pytest.mark.demand("models.google_gemini_api")
@given(cuts=st.sets(st.integers(1, len(BYTES) - 1), max_size=8))
def test_split_anywhere_it_is_the_same_answer(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(BYTES)]
    pieces = [BYTES[start:end] for start, end in itertools.pairwise(places)]
    found = asyncio.run(stream_pieces(pieces))
    assert found == asyncio.run(stream_pieces([BYTES]))
    assert collect_answer(found).calls == (("add", '{"a": "é\u2028"}'),)


@pytest.mark.parametrize(
    "change",
    [
        lambda wire: wire.replace(b"\r\n", b"\n"),
        lambda wire: wire.replace(b"data: ", b"data:"),
        lambda wire: wire.replace(b"data: ", b": ping\r\n\r\nevent: message\r\nid: 7\r\ndata: "),
        lambda wire: wire.replace(b',"role"', b',\r\ndata: "role"'),
    ],
    ids=["lf", "no space", "comments", "several lines"],
)
async def test_every_framing_is_the_same_answer(change: Callable[[bytes], bytes]) -> None:
    assert change(BYTES) != BYTES
    assert await stream_pieces([change(BYTES)]) == await stream_pieces([BYTES])


@pytest.mark.demand("models.wire_level_fakes_speak", "models.model_contract_suite_passes")
def test_split_at_every_byte() -> None:
    assert asyncio.run(stream_pieces([bytes([one]) for one in BYTES])) == asyncio.run(stream_pieces([BYTES]))


async def test_a_finish_reason_with_every_chunk_ends_nothing() -> None:
    """Some models send one each time: the answer goes on while chunks come, each in a read of its own."""
    pieces = [encode_frame(make_chunk(make_part(text), finish="STOP")) for text in "ABC"]
    assert collect_answer(await stream_pieces(pieces)).text == "ABC"


async def test_an_answer_that_is_finished_ends_where_the_connection_stays_open() -> None:
    frame = encode_frame(make_chunk(make_part("A"), finish="STOP", usage=None))
    async with connect_model(send_raw([frame], end=False), idle_timeout=600) as (_, model):
        fragments, error = await collect_chunks(model)
    assert error is None
    assert collect_answer(fragments).text == "A"


async def test_counts_may_be_texts() -> None:
    usage = {"promptTokenCount": "12", "candidatesTokenCount": "3", "totalTokenCount": "15"}
    fragments = await stream_pieces([encode_frame(make_chunk(make_part("A"), finish="STOP", usage=usage))])
    assert [chunk.usage for chunk in fragments if isinstance(chunk, UsageChunk)] == [Usage(12, 3)]


async def test_a_configured_key_replaces_ours_whatever_its_case() -> None:
    async with connect_model(answer_text("ok"), headers={"X-Goog-Api-Key": "theirs"}) as (upstream, model):
        assert (await collect_chunks(model))[1] is None
    [request] = upstream.requests
    assert request.headers["x-goog-api-key"] == "theirs"


@pytest.mark.parametrize(("base", "path"), [("", "/v1/"), ("/v1beta", "/v1beta/")])
async def test_the_version_is_v1_unless_the_address_names_one(base: str, path: str) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = answer_text("ok")
        google_model = model("gemini-kit", {"base_url": upstream.origin + base, "api_key": API_KEY})
        assert (await collect_chunks(google_model))[1] is None
        await google_model.close()
    assert upstream.requests[0].target.startswith(f"{path}models/gemini-kit:streamGenerateContent")
