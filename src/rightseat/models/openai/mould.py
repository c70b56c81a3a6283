"""The events of one answer mostly differ in one string. Where they do, only that string is read.

An event that was read whole gives the mould: the bytes before and after its text. Bytes that begin and end
alike, and are one JSON string between, can mean nothing but an event with another text.
"""

from __future__ import annotations

import re

import msgspec

# Inside a JSON string every quote is escaped, so this is a key and its value.
_CONTENT = re.compile(rb'"content":( ?"(?:[^"\\]|\\.)*")')
# Some servers put something new into every chunk: then learning again and again would only cost.
_TRIES = 4
_text = msgspec.json.Decoder(str).decode
_texts = msgspec.json.Decoder(list[str]).decode


class Mould:
    __slots__ = ("_after", "_before", "_seam", "_several", "_size", "_tries")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._seam = b""
        # Of an event without its text; -1 before one was read: no data is that much longer than its text.
        self._size = -1
        # From here on there may be more than one event.
        self._several = 0
        self._tries = _TRIES

    def text(self, data: bytes) -> str | None:
        """The texts of events that differ in nothing else, as one; None: to be read whole."""
        length = len(data)
        inner = data.removeprefix(self._before).removesuffix(self._after)
        if length - len(inner) != self._size:
            return None
        try:
            # No line ends inside: JSON has none in a string.
            if length < self._several or inner.find(self._seam) < 0:
                return _text(inner)
            strings = inner.split(self._seam)
            found = _texts(b"[%b]" % b",".join(strings))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        # Where one event held two strings, it was no event of this mould, nor of any other.
        return "".join(found) if len(found) == len(strings) else None

    def run(self, data: bytes) -> tuple[str, bytes] | None:
        """The texts of the events that `data` begins with and that differ in nothing else, as one, and what
        comes after them. None where not even the first is such a one."""
        if self._size < 0 or not data.startswith(self._before):
            return None
        *strings, last = data[len(self._before) :].split(self._seam)
        # Where the last of them ends: no line ends inside a string, and this does with two.
        string, after, rest = last.partition(self._after)
        if after:
            strings.append(string)
        try:
            found = _texts(b"[%b]" % b",".join(strings))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if not found or len(found) != len(strings):
            return None
        return "".join(found), rest if after else self._before + last

    def learn(self, data: bytes, payload: bytes) -> None:
        """From an event whose payload was a text and nothing else, if nothing came after it."""
        event = b"data: %b\n\n" % payload
        if not self._tries or not data.endswith(event):
            return
        self._tries -= 1
        found = [*_CONTENT.finditer(event)]
        if len(found) == 1:
            self._before, self._after = event[: found[0].start(1)], event[found[0].end(1) :]
            self._seam = self._after + self._before
            self._size = len(self._seam)
            self._several = 2 * self._size
