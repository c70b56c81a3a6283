"""Reads a model's text while it is written: Fragments come out, the same ones however the text is cut.

A format says what it expects as a generator over a Reader, as if the text were whole already:

    def read(self, reader):
        while (yield from reader.text("<tool_call>")):
            yield from call_object(reader)
            yield from reader.literal("</tool_call>")

Each `yield` inside waits for more text. What is certain is passed on at once; what may be the beginning of a
marker is held until it is known.
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
    """The text is not what the format expects."""


class Ended(Exception):
    """There is no more text, and more was expected."""


class Reader:
    """`enforced`: the tools whose arguments are certain to be valid, so that they may be shown early."""

    def __init__(
        self, read: Callable[[Reader], Reading[None]], *, enforced: frozenset[str] = frozenset()
    ) -> None:
        self._buffer = ""
        self._closed = self._limited = False
        self._out: list[Fragment] = []
        self._enforced = enforced
        self.calls = 0
        self.inside = False
        """Whether a call is under way: an answer that ends now has half a call."""
        self.cut = False
        """Whether the text ended where more of it was expected."""
        self._reading = read(self)
        self._over = False
        self._go()

    def feed(self, text: str) -> list[Fragment]:
        """Raises Unreadable; what came out before it is lost, as an answer that breaks its format is."""
        self._buffer += text
        return self._go()

    def close(self, *, limited: bool = False) -> list[Fragment]:
        """No more text comes; `limited`: more would have. `inside` tells afterwards whether it ended within
        a call."""
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

    # ---- what comes out

    def say(self, text: str) -> None:
        if text:
            self._out.append(Text(text))

    def think(self, text: str) -> None:
        if text:
            self._out.append(Reasoning(text))

    def begin(self, name: str) -> Emit:
        """A call begins; its arguments go to what comes back. `end` says that it is whole."""
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

    # ---- what is expected

    def more(self) -> Reading[None]:
        """Waits until there is more text than now; Ended if there never will be."""
        had = len(self._buffer)
        while len(self._buffer) == had:
            if self._closed:
                raise Ended
            yield

    def at_end(self) -> Reading[bool]:
        """Whether the text is over; waits until that is known."""
        while not self._buffer and not self._closed:
            yield
        return not self._buffer

    def text(self, *markers: str, emit: Emit | None = None) -> Reading[str | None]:
        """Passes text on up to the first of the markers, which is taken and returned; None at the end.

        White space in front of a marker belongs to the markup: it is held, and dropped with the marker.
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
            # After a call there is often a line's end, and nobody's text.
            emit(passed if not self._closed or passed.strip(SPACE) or not self.calls else "")
            if self._closed and self._limited and self.inside:
                # Its end would make a whole call of half a one.
                raise Ended
            if self._closed:
                return None
            yield

    def _undecided(self, start: int, markers: tuple[str, ...]) -> bool:
        """Whether a longer marker may begin where one was found, or before it."""
        return not self._closed and self._begun(markers) <= start

    def _held(self, markers: tuple[str, ...]) -> int:
        """Where the longest ending begins that may be the beginning of a marker, or the space before one."""
        if not markers:
            return len(self._buffer)
        return len(self._buffer[: self._begun(markers)].rstrip(SPACE))

    def _begun(self, markers: tuple[str, ...]) -> int:
        """Where the longest ending begins that is the beginning of a marker, but not all of it."""
        size = len(self._buffer)
        longest, beginnings = _beginnings(markers)
        for start in range(max(0, size - longest), size):
            if self._buffer[start:] in beginnings:
                return start
        return size

    def upto(self, end: str) -> Reading[str]:
        """All text before this, exactly; `end` is taken too."""
        while (at := self._buffer.find(end)) < 0:
            yield from self.more()
        found, self._buffer = self._buffer[:at], self._buffer[at + len(end) :]
        return found

    def peek(self, *options: str) -> Reading[str | None]:
        """The first of these that the text goes on with, without taking it; waits only as long as it must."""
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
        """Takes the text if it goes on with this."""
        if (yield from self.peek(expected)) is None:
            return False
        self._buffer = self._buffer[len(expected) :]
        return True

    def space(self) -> Reading[None]:
        """Passes over white space; knows its end only when something else comes."""
        while True:
            self._buffer = self._buffer.lstrip(SPACE)
            if self._buffer or self._closed:
                return
            yield

    def next(self) -> Reading[str]:
        """The next character, which stays; Ended if there is none."""
        if not self._buffer:
            yield from self.more()
        return self._buffer[0]

    def take(self, count: int) -> Reading[str]:
        while len(self._buffer) < count:
            yield from self.more()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def run(self, stop: re.Pattern[str]) -> Reading[str]:
        """What there is up to the first place that the pattern (of one character) finds; never empty unless
        that place is here. The caller asks again until it is."""
        if not self._buffer:
            yield from self.more()
        found = stop.search(self._buffer)
        end = found.start() if found else len(self._buffer)
        taken, self._buffer = self._buffer[:end], self._buffer[end:]
        return taken


@functools.lru_cache(maxsize=64)
def _beginnings(markers: tuple[str, ...]) -> tuple[int, frozenset[str]]:
    """What may become a marker, and the length of the longest of it. Asked for at every piece of text."""
    found = {marker[:size] for marker in markers for size in range(1, len(marker))}
    return max(map(len, found), default=0), frozenset(found)
