"""Fast path for text deltas: most events of an answer differ only in one JSON string.

A fully parsed event provides the bytes before and after its text. Data with the same prefix and suffix and
one JSON string between them is an event with another text, so only that string is decoded.
"""

from __future__ import annotations

import re

import msgspec

# Quotes inside a JSON string are escaped, so this matches a key and its value.
_CONTENT = re.compile(rb'"content":( ?"(?:[^"\\]|\\.)*")')
# Some servers vary every chunk: stop learning after this many attempts.
_TRIES = 4
_decode_text = msgspec.json.Decoder(str).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode


class ChatDeltaFastPath:
    __slots__ = ("_after", "_before", "_seam", "_several", "_size", "_tries")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._seam = b""
        # Length of prefix and suffix; -1, which never matches, until an event is learned.
        self._size = -1
        # Data of at least this length may hold more than one event.
        self._several = 0
        self._tries = _TRIES

    def read_text(self, data: bytes) -> str | None:
        """Return the joined texts if all events match the learned form, else None."""
        length = len(data)
        inner = data.removeprefix(self._before).removesuffix(self._after)
        if length - len(inner) != self._size:
            return None
        try:
            # A JSON string contains no raw newline, so events cannot overlap.
            if length < self._several or inner.find(self._seam) < 0:
                return _decode_text(inner)
            strings = inner.split(self._seam)
            texts = _decode_texts(b"[%b]" % b",".join(strings))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        # More strings than events: the data does not have the learned form.
        return "".join(texts) if len(texts) == len(strings) else None

    def read_run(self, data: bytes) -> tuple[str, bytes] | None:
        """Return the joined texts of the matching events at the start of `data`, and the remaining data;
        None if the first event does not match."""
        if self._size < 0 or not data.startswith(self._before):
            return None
        *strings, last = data[len(self._before) :].split(self._seam)
        # The suffix ends with two newlines, which a JSON string cannot contain.
        string, after, remainder = last.partition(self._after)
        if after:
            strings.append(string)
        try:
            texts = _decode_texts(b"[%b]" % b",".join(strings))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if not texts or len(texts) != len(strings):
            return None
        return "".join(texts), remainder if after else self._before + last

    def learn(self, data: bytes, payload: bytes) -> None:
        """Learn prefix and suffix from a payload with only a text delta, if it ends the data."""
        event = b"data: %b\n\n" % payload
        if not self._tries or not data.endswith(event):
            return
        self._tries -= 1
        matches = [*_CONTENT.finditer(event)]
        if len(matches) == 1:
            self._before, self._after = event[: matches[0].start(1)], event[matches[0].end(1) :]
            self._seam = self._after + self._before
            self._size = len(self._seam)
            self._several = 2 * self._size
