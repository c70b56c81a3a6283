"""Fast path for text deltas: most events equal the previous one except for the text, and only that is
decoded.

Such an event has some thousand bytes of run metadata. The process sleeps between two of them, so caches are
cold and the time depends on the bytes touched.
"""

from __future__ import annotations

import msgspec

from rightseat.agents.langgraph.speech import ModelOutput
from rightseat.types.events import Event, TextDelta

_CONTENT_KEY = b'"content":'
_decode_string = msgspec.json.Decoder(str).decode
_encode = msgspec.json.encode


class LangGraphDeltaFastPath:
    """The bytes before and after the delta of the last event, valid while its text is open."""

    __slots__ = ("_after", "_before", "_text", "_utterance")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._text = ""
        self._utterance: ModelOutput | None = None

    def learn_template(self, data: bytes, word: str, output: ModelOutput) -> None:
        self._utterance = None
        before, found, after = data.partition(_CONTENT_KEY + _encode(word))
        # The key must be unique, so that no other part of the event can match.
        if found and word and data.count(_CONTENT_KEY) == 1:
            self._before, self._after = before + _CONTENT_KEY, after
            self._text, self._utterance = output.open_text_id, output

    def match_delta(self, data: bytes) -> list[Event] | None:
        """Return the event's text delta, or None if the event does not match the template."""
        output = self._utterance
        if output is None or output.open_text_id != self._text:
            return None
        before, after = self._before, self._after
        if not (data.startswith(before) and data.endswith(after)):
            return None
        try:
            word = _decode_string(data[len(before) : len(data) - len(after)])
        except msgspec.DecodeError:
            # Not a single string.
            return None
        output.text_parts.append(word)
        return [TextDelta(self._text, word)] if word else []
