"""A connection that serves many answers keeps none of them."""

import gc

import pytest

from rightseat.http.client import Response
from tests.kit.answers import SSE
from tests.kit.connection import Connection, Received
from tests.unit.models.asking import asked, connected

pytestmark = pytest.mark.io


def responses() -> int:
    gc.collect()
    return sum(type(thing) is Response for thing in gc.get_objects())


async def test_a_kept_connection_does_not_hold_on_to_its_answers() -> None:
    async def reply(connection: Connection, request: Received) -> None:
        # Head and body apart, else the answer is over before anyone reads it.
        await connection.head(200, {**SSE, "Transfer-Encoding": "chunked"})
        await connection.delivered()
        await connection.chunk(b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n')
        await connection.chunk(b"data: [DONE]\n\n")
        await connection.write(b"0\r\n\r\n")

    async with connected() as (upstream, model):
        upstream.reply = reply
        await asked(model)
        before = responses()
        for _ in range(5):
            _, failure = await asked(model)
            assert failure is None
        assert len(upstream.connections) == 1
        assert responses() <= before
