"""ModelTextReader: incremental parser of a model's text. The chunks do not depend on how the text is split.

A format describes what it expects as a generator over a reader, as if the text were complete:

    def read(self, reader):
        while (yield from reader.text_until("<tool_call>")):
            yield from read_call_object(reader)
            yield from reader.expect("</tool_call>")

Each `yield` inside waits for more text. Text is passed on at once, unless it may be the beginning of a
marker.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Generator
from typing import TypeVar

from rightseat.types.chunks import CallArgs, CallName, Fragment, Reasoning, Text

T = TypeVar("T")
Reading = Generator[None, None, T]
Emit = Callable[[str], None]

SPACE = " \t\r\n"
NOWHERE = "(?!)"


class Unreadable(Exception):
    """The text does not match the format."""


class Ended(Exception):
    """The text ended where more was expected."""


class Reader:
    """Incremental parser. `enforced`: tools whose arguments are surely valid and may be streamed early."""

    def __init__(
        self, read: Callable[[Reader], Reading[None]], *, enforced: frozenset[str] = frozenset()
    ) -> None:
        self._buffer = ""
        self._closed = self._limited = False
        self._out: list[Fragment] = []
        self._enforced = enforced
        self.calls = 0
        self.inside = False
        """Whether a call is open: an answer that ends now has a partial call."""
        self.cut = False
        """Whether the text ended where more was expected."""
        self._reading = read(self)
        self._over = False
        self._go()

    def feed(self, text: str) -> list[Fragment]:
        """Add text and return the new chunks; raise TextFormatError, which loses pending chunks."""
        self._buffer += text
        return self._go()

    def close(self, *, limited: bool = False) -> list[Fragment]:
        """End the text and return the last chunks. `length_limited`: the answer was truncated. `inside_call`
        is set afterwards if it ended within a call."""
        self._closed = True
        self._limited = limited
        return self._go()

    def _go(self) -> list[Fragment]:
        if not self._over:
            try:
                next(self._reading)
            except StopIteration:
                self._over = True
            except Ended:
                self._over = self.cut = True
        out, self._out = self._out, []
        return out

    # ---- output

    def say(self, text: str) -> None:
        if text:
            self._out.append(Text(text))

    def think(self, text: str) -> None:
        if text:
            self._out.append(Reasoning(text))

    def begin(self, name: str) -> Emit:
        """Start a call and return the function that emits its arguments; `end_call` completes it."""
        index = self.calls
        self.calls += 1
        self.inside = True
        self._out.append(CallName(index, name, name in self._enforced))

        def emit(json: str) -> None:
            if json:
                self._out.append(CallArgs(index, json))

        return emit

    def end(self) -> None:
        self.inside = False

    # ---- input

    def more(self) -> Reading[None]:
        """Wait for more text; raise EndOfText if there is none."""
        had = len(self._buffer)
        while len(self._buffer) == had:
            if self._closed:
                raise Ended
            yield

    def at_end(self) -> Reading[bool]:
        """Whether the text has ended; waits until that is known."""
        while not self._buffer and not self._closed:
            yield
        return not self._buffer

    def text(self, *markers: str, emit: Emit | None = None) -> Reading[str | None]:
        """Emit text up to the first of the markers; consume and return the marker, or None at the end.

        White space before a marker belongs to the markup and is dropped with it.
        """
        emit = emit or self.say
        longest_first = sorted(markers, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)) if markers else NOWHERE)
        while True:
            found = pattern.search(self._buffer)
            if found and not self._undecided(found.start(), markers):
                emit(self._buffer[: found.start()].rstrip(SPACE))
                self._buffer = self._buffer[found.end() :]
                return found.group()
            keep = len(self._buffer) if self._closed else self._held(markers)
            passed, self._buffer = self._buffer[:keep], self._buffer[keep:]
            # White space after a call is not content.
            emit(passed if not self._closed or passed.strip(SPACE) or not self.calls else "")
            if self._closed and self._limited and self.inside:
                # A truncated call must not end as a complete one.
                raise Ended
            if self._closed:
                return None
            yield

    def _undecided(self, start: int, markers: tuple[str, ...]) -> bool:
        """Whether a longer marker may begin at or before the one found."""
        return not self._closed and self._begun(markers) <= start

    def _held(self, markers: tuple[str, ...]) -> int:
        """Return the position from which text is held: a partial marker and the space before it."""
        if not markers:
            return len(self._buffer)
        return len(self._buffer[: self._begun(markers)].rstrip(SPACE))

    def _begun(self, markers: tuple[str, ...]) -> int:
        """Return the start of the longest suffix that is a proper prefix of a marker."""
        size = len(self._buffer)
        longest, beginnings = _beginnings(markers)
        for start in range(max(0, size - longest), size):
            if self._buffer[start:] in beginnings:
                return start
        return size

    def upto(self, end: str) -> Reading[str]:
        """Return the text before `end` and consume both."""
        while (at := self._buffer.find(end)) < 0:
            yield from self.more()
        found, self._buffer = self._buffer[:at], self._buffer[at + len(end) :]
        return found

    def peek(self, *options: str) -> Reading[str | None]:
        """Return the first option that the text continues with, unconsumed; waits only if needed."""
        for option in options:
            while not self._closed and len(self._buffer) < len(option) and option.startswith(self._buffer):
                yield
            if self._buffer.startswith(option):
                return option
        return None

    def literal(self, expected: str) -> Reading[None]:
        while len(self._buffer) < len(expected):
            if not expected.startswith(self._buffer):
                raise Unreadable(f"expected {expected!r}")
            yield from self.more()
        if not self._buffer.startswith(expected):
            raise Unreadable(f"expected {expected!r}")
        self._buffer = self._buffer[len(expected) :]

    def maybe(self, expected: str) -> Reading[bool]:
        """Consume `expected` if the text continues with it; return whether it did."""
        if (yield from self.peek(expected)) is None:
            return False
        self._buffer = self._buffer[len(expected) :]
        return True

    def space(self) -> Reading[None]:
        """Skip white space, up to the next other character or the end."""
        while True:
            self._buffer = self._buffer.lstrip(SPACE)
            if self._buffer or self._closed:
                return
            yield

    def next(self) -> Reading[str]:
        """Return the next character without consuming it; raise EndOfText if there is none."""
        if not self._buffer:
            yield from self.more()
        return self._buffer[0]

    def take(self, count: int) -> Reading[str]:
        while len(self._buffer) < count:
            yield from self.more()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def run(self, stop: re.Pattern[str]) -> Reading[str]:
        """Consume buffered text up to a character that matches `stop`; empty only if the next one matches.
        The caller repeats the call until then."""
        if not self._buffer:
            yield from self.more()
        found = stop.search(self._buffer)
        end = found.start() if found else len(self._buffer)
        taken, self._buffer = self._buffer[:end], self._buffer[end:]
        return taken


@functools.lru_cache(maxsize=64)
def _beginnings(markers: tuple[str, ...]) -> tuple[int, frozenset[str]]:
    """Return the longest prefix length and all proper prefixes of the markers; needed for every chunk."""
    found = {marker[:size] for marker in markers for size in range(1, len(marker))}
    return max(map(len, found), default=0), frozenset(found)
