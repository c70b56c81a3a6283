"""The model as a client: what it sends along, how it leaves, and what it leaves behind."""

import asyncio
import itertools
import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.types.chunks import ModelChunk
from rightseat.types.streams import closing
from tests.contract.models.cases import heard
from tests.kit import breaks
from tests.kit.answers import Reply
from tests.kit.framing import raw
from tests.kit.vendors.google import Streamed, call, chunk, frame, part, say
from tests.unit.models.google.asking import HELLO, KEY, asked, connected

pytestmark = pytest.mark.io

LONG = Streamed([chunk(part("w"))] * 1000, rate=10)


async def test_the_key_is_a_header_and_never_in_the_address() -> None:
    async with connected(say("ok"), headers={"X-Team": "blue"}) as (upstream, model):
        assert (await asked(model))[1] is None
        request = upstream.requests[0]
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.target
    assert KEY.encode() not in request.raw
    assert request.headers["x-team"] == "blue"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.demand("models.google_name_google_genai")
async def test_leaving_closes_the_socket_at_once() -> None:
    async with connected(LONG) as (upstream, model):
        async with closing(model.stream(HELLO)) as stream:
            await anext(stream)
        # The answer itself would take longer than a stuck program, or for ever.
        await upstream.all_closed(1)


async def test_leaving_with_words_unread_closes_it_too() -> None:
    """A thousand chunks lie in the buffer: they are not read just to be thrown away."""
    flood = raw([frame(chunk(part("w"))) * 1000], end=False)
    async with connected(flood) as (_, model):
        async with closing(model.stream(HELLO)) as stream:
            await anext(stream)
        assert [task for task in asyncio.all_tasks() if "aclose" in repr(task)] == []


@pytest.mark.parametrize(
    "reply",
    [LONG, Streamed([chunk(part("", thought=True))] * 1000, rate=10), breaks.silent(), breaks.mute()],
    ids=["speaking", "not yet", "a head", "nothing"],
)
async def test_cancelling_closes_the_socket_at_once(reply: Reply) -> None:
    async with connected(reply) as (upstream, model):
        task = asyncio.create_task(asked(model))
        await upstream.received(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The answer itself would take longer than a stuck program, or for ever.
        await upstream.all_closed(1)


async def test_connections_are_used_again() -> None:
    async with connected(say("ok")) as (upstream, model):
        for _ in range(3):
            assert (await asked(model))[1] is None
        assert len(upstream.connections) == 1


async def test_a_model_that_was_closed_can_be_asked_again() -> None:
    async with connected(say("ok")) as (_, model):
        await model.start()
        assert (await asked(model))[1] is None
        await model.close()
        assert (await asked(model))[1] is None


async def test_the_client_says_nothing_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected(say("ok", finish="SOMETHING_NEW")) as (_, model):
        await asked(model)
    assert {record.name.split(".")[0] for record in caplog.records} <= {"asyncio", "rightseat"}


SPOKEN = Streamed(
    [
        chunk(part("I think", thought=True)),
        chunk(part("héllo 世界 🙂\n\n\u2028\u0085 ")),
        chunk(call("add", {"a": "é\u2028"})),
        chunk(finish="STOP"),
    ]
)
BYTES = b"".join(map(frame, SPOKEN.chunks))


async def of(pieces: list[bytes]) -> list[ModelChunk]:
    async with connected(raw(pieces)) as (_, model):
        fragments, error = await asked(model)
        assert error is None
        return fragments


@pytest.mark.demand("models.google_name_google_genai")
@given(cuts=st.sets(st.integers(1, len(BYTES) - 1), max_size=8))
def test_split_anywhere_it_is_the_same_answer(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(BYTES)]
    pieces = [BYTES[start:end] for start, end in itertools.pairwise(places)]
    found = asyncio.run(of(pieces))
    assert found == asyncio.run(of([BYTES]))
    assert heard(found).calls == (("add", '{"a": "é\u2028"}'),)


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
    assert await of([change(BYTES)]) == await of([BYTES])


@pytest.mark.demand("models.wire_level_fakes_speak", "models.model_contract_suite_passes")
def test_split_at_every_byte() -> None:
    assert asyncio.run(of([bytes([one]) for one in BYTES])) == asyncio.run(of([BYTES]))
