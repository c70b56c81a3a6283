"""What comes from LangGraph, read: frames however they are cut, and JSON that is still being written."""

import json
from typing import Any

import pytest

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents.langgraph.wire import EVENT_SIZE_LIMIT, ServerSentEvent, ServerSentEventParser
from rightseat.errors import UpstreamTooLarge
from rightseat.types.partial_json import parse_partial_json
from tests.kit.cases import each_case

WIRE = (
    b'event: metadata\r\ndata: {"run_id": "r"}\r\nid: 1-0\r\n\r\n'
    b": heartbeat\r\n\r\n"
    b'event: values\r\ndata: {"a":\r\ndata: "\xe2\x80\xa8"}\r\nid: 2-0\r\n\r\n'
    b"event: end\r\n\r\n"
)
FRAMES = [
    ServerSentEvent("metadata", b'{"run_id": "r"}', "1-0"),
    ServerSentEvent("values", b'{"a":\n"\xe2\x80\xa8"}', "2-0"),
    ServerSentEvent("end", b"", ""),
]


@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_however_they_are_cut(end: bytes, size: int) -> None:
    wire = WIRE.replace(b"\r\n", end)
    frames = ServerSentEventParser(PeerErrors("desk"))
    found = [frame for start in range(0, len(wire), size) for frame in frames.feed(wire[start : start + size])]
    assert found == FRAMES


def test_an_event_without_end() -> None:
    frames = ServerSentEventParser(PeerErrors("desk"))
    assert frames.feed(b"x" * EVENT_SIZE_LIMIT) == []
    with pytest.raises(UpstreamTooLarge):
        frames.feed(b"x")


@each_case(
    ("text", "value"),
    [
        ("", None),
        ("{", {}),
        ('{"docu', {}),
        ('{"document"', {}),
        ('{"document":', {}),
        ('{"document": "He', {"document": "He"}),
        ('{"document": "He\\', {"document": "He"}),
        ('{"document": "He\\u00', {"document": "He"}),
        ('{"document": "He\\ud83d', {"document": "He"}),
        ('{"document": "He\\ud83d\\ude', {"document": "He"}),
        ('{"document": "He\\"', {"document": 'He"'}),
        ('{"a": 1', {}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": tru', {}),
        ('{"a": null, "b": [1, 2', {"a": None, "b": [1]}),
        ('{"a": {"b": ["x", "y', {"a": {"b": ["x", "y"]}}),
        ('[{"a": -1.5e3}', [{"a": -1500.0}]),
        ('"abc', "abc"),
        ("nonsense", None),
    ],
)
def test_json_that_is_still_written(text: str, value: Any) -> None:
    assert parse_partial_json(text) == value


def test_every_beginning_of_a_json_can_be_read() -> None:
    value = {"a": [1, 2.5, {"b": 'é \\ " 🙂 \u2028'}], "c": {"d": [True, False, None]}, "e": "x" * 50}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        for end in range(len(text)):
            parse_partial_json(text[:end])
        assert parse_partial_json(text) == value


def test_json_nested_without_end() -> None:
    assert parse_partial_json("[" * 100) is not None
    assert parse_partial_json("[" * 100_000) is None


@pytest.mark.parametrize("end", ["", "7", "\\"])
def test_a_text_full_of_quotes_is_read_once(end: str) -> None:
    """A document that an agent writes may hold code. Read once for each quote, this would take hours."""
    text = 'print(\\"1\\")\\n' * 100_000
    assert parse_partial_json('{"document": "' + text + end)["document"].startswith('print("1")\n')


def test_digits_at_the_end_stay_in_a_string_and_wait_outside() -> None:
    assert parse_partial_json('{"a": "x1') == {"a": "x1"}
    assert parse_partial_json('{"a": "x", "b": -1.5e') == {"a": "x"}
    assert parse_partial_json("[" + "1" * 1_000_000) == []
