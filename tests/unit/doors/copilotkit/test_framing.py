"""Frames that are written from a form are those that would be written one by one."""

import pytest

from rightseat.doors.copilotkit.framing import ChunkFrames, encode_event, encode_part

PATH = b'],"path":["generateCopilotResponse","messages",12,"content",'


@pytest.mark.parametrize("sized", [True, False])
def test_a_series_counts_and_measures_its_frames(sized: bool) -> None:
    chunks = ChunkFrames(PATH, sized=sized)
    for number in range(1200):
        item = b'"%d \xe2\x82\xac 100%%"' % number
        payload = b'{"incremental":[{"items":[%b%b%d]}],"hasNext":true}' % (item, PATH, number)
        assert chunks.encode_next(item) == (encode_part(payload) if sized else encode_event(payload))


def test_chunks_told_elsewhere_are_counted_too() -> None:
    chunks = ChunkFrames(PATH, sized=True)
    chunks.count = 1234
    payload = b'{"incremental":[{"items":["x"%b1234]}],"hasNext":true}' % PATH
    assert chunks.encode_next(b'"x"') == encode_part(payload)
