"""Fast path for text deltas: most events equal the previous one except for the text, and only that is
decoded.

Such an event has some thousand bytes of run metadata. The process sleeps between two of them, so caches are
cold and the time depends on the bytes touched.
"""

from __future__ import annotations

import msgspec

from rightseat.agents.langgraph.speech import Utterance
from rightseat.types.events import Event, TextDelta

_KEY = b'"content":'
_word = msgspec.json.Decoder(str).decode
_encode = msgspec.json.encode


class Mould:
    """The bytes before and after the delta of the last event, valid while its text is open."""

    __slots__ = ("_after", "_before", "_text", "_utterance")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._text = ""
        self._utterance: Utterance | None = None

    def learn(self, data: bytes, word: str, utterance: Utterance) -> None:
        self._utterance = None
        before, found, after = data.partition(_KEY + _encode(word))
        # The key must be unique, so that no other part of the event can match.
        if found and word and data.count(_KEY) == 1:
            self._before, self._after = before + _KEY, after
            self._text, self._utterance = utterance.text, utterance

    def words(self, data: bytes) -> list[Event] | None:
        """Return the event's text delta, or None if the event does not match the template."""
        utterance = self._utterance
        if utterance is None or utterance.text != self._text:
            return None
        before, after = self._before, self._after
        if not (data.startswith(before) and data.endswith(after)):
            return None
        try:
            word = _word(data[len(before) : len(data) - len(after)])
        except msgspec.DecodeError:
            # Not a single string.
            return None
        utterance.texts.append(word)
        return [TextDelta(self._text, word)] if word else []
