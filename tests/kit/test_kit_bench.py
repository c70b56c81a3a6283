"""The bench must be able to go red: on a figure over its limit, and on a token that is not there."""

import pytest

from bench.doors import AGUI, OPENAI
from bench.load import Order, find_order
from bench.peers import all_peers
from bench.rows import Row, table
from bench.scenarios import all_scenarios
from bench.streams import Stream, Wrong
from bench.upstream import pieces


def test_a_row_is_judged_by_its_ratio_else_by_its_median() -> None:
    assert Row("m", "p", "µs", [500, 10, 20], ratio=3.9, limit=4).good
    assert not Row("m", "p", "µs", [1, 1, 1], ratio=4.1, limit=4).good
    assert Row("m", "p", "MB", [70, 90, 80], limit=80).good
    bad = Row("m", "p", "MB", [70, 90, 81], limit=80)
    assert not bad.good
    assert "TOO MUCH" in table([bad])
    assert Row("m", "p", "ms", [1e9]).good


def test_an_order_survives_every_door() -> None:
    order = Order(17, 120, 20, "never")
    for door in (OPENAI, AGUI):
        assert find_order(door.request(order.prompt)) == order


async def test_a_lost_token_is_seen() -> None:
    order = Order(0, 5, 20)
    whole = Stream(b"")
    for piece in pieces(5):
        whole.data_received(piece)
    assert whole.done.done()
    whole.verify(OPENAI, order)
    lossy = Stream(b"")
    for piece in pieces(5)[:2] + pieces(5)[3:]:
        lossy.data_received(piece)
    with pytest.raises(Wrong, match="stream 0"):
        lossy.verify(OPENAI, order)


async def test_an_error_status_ends_the_stream() -> None:
    stream = Stream(b"")
    stream.data_received(b"HTTP/1.1 503 Busy\r\n\r\n")
    with pytest.raises(Wrong, match="503"):
        await stream.done


def test_peers_and_scenarios_are_found() -> None:
    assert {"splice", "rightseat"} <= all_peers().keys()
    assert list(all_scenarios())[:3] == ["footprint", "paced", "disconnect"]
