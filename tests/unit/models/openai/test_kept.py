"""A connection that serves many answers keeps none of them."""

import gc

import pytest

from rightseat.http.client import Response
from tests.kit.answers import SSE_HEADERS
from tests.kit.connection import Connection, ReceivedRequest
from tests.unit.models.model_calls import collect_chunks, connect_model

pytestmark = pytest.mark.io


def count_responses() -> int:
    gc.collect()
    return sum(type(thing) is Response for thing in gc.get_objects())


async def test_a_kept_connection_does_not_hold_on_to_its_answers() -> None:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        # Head and body apart, else the answer is over before anyone reads it.
        await connection.write_head(200, {**SSE_HEADERS, "Transfer-Encoding": "chunked"})
        await connection.wait_delivered()
        await connection.write_chunk(
            b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
        )
        await connection.write_chunk(b"data: [DONE]\n\n")
        await connection.write(b"0\r\n\r\n")

    async with connect_model() as (upstream, model):
        upstream.reply = reply
        await collect_chunks(model)
        before = count_responses()
        for _ in range(5):
            _, failure = await collect_chunks(model)
            assert failure is None
        assert len(upstream.connections) == 1
        assert count_responses() <= before
