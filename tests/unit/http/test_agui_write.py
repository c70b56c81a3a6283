"""The AG-UI encoder's fast path for tokens."""

import json

from rightseat.http.agui.write import AguiEncoder
from rightseat.types.events import TextDelta


def test_half_a_character_is_replaced_and_the_rest_of_the_text_stays() -> None:
    encoder = AguiEncoder("thread", "run")
    texts = [encoder.encode_text(TextDelta("m", text)) for text in ('a"é\n', "b\ud800c")]
    deltas = [json.loads(text.removeprefix(b"data: "))["delta"] for text in texts]
    assert deltas == ['a"é\n', "b\ufffdc"]
