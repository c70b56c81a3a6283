"""JSON of what Python tools return: text that is no valid Unicode."""

import pytest

from rightseat.types.json_values import encode_json, to_json_value


@pytest.mark.parametrize(
    ("value", "text"),
    [("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("\ude00\ud83d", "\ufffd\ufffd"), ("é😀", "é😀")],
)
def test_a_lone_surrogate_becomes_one_sign_and_a_pair_its_character(value: str, text: str) -> None:
    assert to_json_value({value: [value]}) == {text: [text]}
    assert encode_json(value) == f'"{text}"'.encode()
