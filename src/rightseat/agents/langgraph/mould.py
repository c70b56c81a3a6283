"""Most events of a run are the last one with another word in it: only that word is read.

Such an event is some thousand bytes, nearly all of them about the run. Between two of them a process sleeps,
so each pays for cold caches: what counts is how little of it is touched.
"""

from __future__ import annotations

import msgspec

from rightseat.agents.langgraph.speech import Utterance
from rightseat.types.events import Event, TextDelta

_KEY = b'"content":'
_word = msgspec.json.Decoder(str).decode
_encode = msgspec.json.encode


class Mould:
    """What stands before and after the word, as long as its text is open."""

    __slots__ = ("_after", "_before", "_text", "_utterance")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._text = ""
        self._utterance: Utterance | None = None

    def learn(self, data: bytes, word: str, utterance: Utterance) -> None:
        self._utterance = None
        before, found, after = data.partition(_KEY + _encode(word))
        # Seen once only, so that nothing else in the event can be taken for it.
        if found and word and data.count(_KEY) == 1:
            self._before, self._after = before + _KEY, after
            self._text, self._utterance = utterance.text, utterance

    def words(self, data: bytes) -> list[Event] | None:
        """None where the event is another one."""
        utterance = self._utterance
        if utterance is None or utterance.text != self._text:
            return None
        before, after = self._before, self._after
        if not (data.startswith(before) and data.endswith(after)):
            return None
        try:
            word = _word(data[len(before) : len(data) - len(after)])
        except msgspec.DecodeError:
            # Not one string: something else stands there too.
            return None
        utterance.texts.append(word)
        return [TextDelta(self._text, word)] if word else []
