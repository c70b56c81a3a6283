"""Sizes of results: nested values count, and a reply is bounded."""

from typing import Any

import msgspec

from rightseat.plugins.sql.child import QueryReply, encode_reply
from rightseat.plugins.sql.query import Rows, measure_cell
from tests.kit.cases import each_case


@each_case(("cell", "size"), [("abc", 3), ("价格", 6), (1.5, 8), (None, 8), (["abc", 1], 19), ({"key": "abc"}, 14)])
def test_nested_values_count(cell: Any, size: int) -> None:
    assert measure_cell(cell) == size


def test_a_result_that_grows_when_it_is_encoded_is_refused() -> None:
    rows = Rows(("a",), (("\x01" * 1_000_000,),))
    reply = msgspec.json.decode(encode_reply(QueryReply("rows", rows=rows), 1_000_000), type=QueryReply)
    assert (reply.kind, reply.text) == ("failed", "The result is too large. Ask for fewer rows or shorter values.")
    small = Rows(("a",), (("x",),))
    assert msgspec.json.decode(encode_reply(QueryReply("rows", rows=small), 1000), type=QueryReply).rows == small
