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

from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk, ToolCallArgs, ToolCallStart

T = TypeVar("T")
ParseSteps = Generator[None, None, T]
Emit = Callable[[str], None]

SPACE = " \t\r\n"
NEVER_MATCHES = "(?!)"


class TextFormatError(Exception):
    """The text does not match the format."""


class EndOfText(Exception):
    """The text ended where more was expected."""


class ModelTextReader:
    """Incremental parser. `enforced`: tools whose arguments are surely valid and may be streamed early."""

    def __init__(
        self, read: Callable[[ModelTextReader], ParseSteps[None]], *, enforced: frozenset[str] = frozenset()
    ) -> None:
        self._buffer = ""
        self._closed = self._length_limited = False
        self._chunks: list[ModelChunk] = []
        self._enforced = enforced
        self.calls = 0
        self.inside_call = False
        """Whether a call is open: an answer that ends now has a partial call."""
        self.truncated = False
        """Whether the text ended where more was expected."""
        self._steps = read(self)
        self._done = False
        self._advance()

    def feed(self, text: str) -> list[ModelChunk]:
        """Add text and return the new chunks; raise TextFormatError, which loses pending chunks."""
        self._buffer += text
        return self._advance()

    def close(self, *, length_limited: bool = False) -> list[ModelChunk]:
        """End the text and return the last chunks. `length_limited`: the answer was truncated. `inside_call`
        is set afterwards if it ended within a call."""
        self._closed = True
        self._length_limited = length_limited
        return self._advance()

    def _advance(self) -> list[ModelChunk]:
        if not self._done:
            try:
                next(self._steps)
            except StopIteration:
                self._done = True
            except EndOfText:
                self._done = self.truncated = True
        out, self._chunks = self._chunks, []
        return out

    # ---- output

    def emit_text(self, text: str) -> None:
        if text:
            self._chunks.append(TextChunk(text))

    def emit_reasoning(self, text: str) -> None:
        if text:
            self._chunks.append(ReasoningChunk(text))

    def begin_call(self, name: str) -> Emit:
        """Start a call and return the function that emits its arguments; `end_call` completes it."""
        index = self.calls
        self.calls += 1
        self.inside_call = True
        self._chunks.append(ToolCallStart(index, name, name in self._enforced))

        def emit(json: str) -> None:
            if json:
                self._chunks.append(ToolCallArgs(index, json))

        return emit

    def end_call(self) -> None:
        self.inside_call = False

    # ---- input

    def wait_for_more(self) -> ParseSteps[None]:
        """Wait for more text; raise EndOfText if there is none."""
        had = len(self._buffer)
        while len(self._buffer) == had:
            if self._closed:
                raise EndOfText
            yield

    def at_end(self) -> ParseSteps[bool]:
        """Whether the text has ended; waits until that is known."""
        while not self._buffer and not self._closed:
            yield
        return not self._buffer

    def text_until(self, *markers: str, emit: Emit | None = None) -> ParseSteps[str | None]:
        """Emit text up to the first of the markers; consume and return the marker, or None at the end.

        White space before a marker belongs to the markup and is dropped with it.
        """
        emit = emit or self.emit_text
        longest_first = sorted(markers, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)) if markers else NEVER_MATCHES)
        while True:
            match = pattern.search(self._buffer)
            if match and not self._may_be_longer_marker(match.start(), markers):
                emit(self._buffer[: match.start()].rstrip(SPACE))
                self._buffer = self._buffer[match.end() :]
                return match.group()
            passed_length = len(self._buffer) if self._closed else self._hold_from(markers)
            passed, self._buffer = self._buffer[:passed_length], self._buffer[passed_length:]
            # White space after a call is not content.
            emit(passed if not self._closed or passed.strip(SPACE) or not self.calls else "")
            if self._closed and self._length_limited and self.inside_call:
                # A truncated call must not end as a complete one.
                raise EndOfText
            if self._closed:
                return None
            yield

    def _may_be_longer_marker(self, start: int, markers: tuple[str, ...]) -> bool:
        """Whether a longer marker may begin at or before the one found."""
        return not self._closed and self._partial_marker_start(markers) <= start

    def _hold_from(self, markers: tuple[str, ...]) -> int:
        """Return the position from which text is held: a partial marker and the space before it."""
        if not markers:
            return len(self._buffer)
        return len(self._buffer[: self._partial_marker_start(markers)].rstrip(SPACE))

    def _partial_marker_start(self, markers: tuple[str, ...]) -> int:
        """Return the start of the longest suffix that is a proper prefix of a marker."""
        size = len(self._buffer)
        longest, beginnings = _marker_prefixes(markers)
        for start in range(max(0, size - longest), size):
            if self._buffer[start:] in beginnings:
                return start
        return size

    def read_until(self, end: str) -> ParseSteps[str]:
        """Return the text before `end` and consume both."""
        while (at := self._buffer.find(end)) < 0:
            yield from self.wait_for_more()
        text, self._buffer = self._buffer[:at], self._buffer[at + len(end) :]
        return text

    def peek(self, *options: str) -> ParseSteps[str | None]:
        """Return the first option that the text continues with, unconsumed; waits only if needed."""
        for option in options:
            while not self._closed and len(self._buffer) < len(option) and option.startswith(self._buffer):
                yield
            if self._buffer.startswith(option):
                return option
        return None

    def expect(self, expected: str) -> ParseSteps[None]:
        while len(self._buffer) < len(expected):
            if not expected.startswith(self._buffer):
                raise TextFormatError(f"expected {expected!r}")
            yield from self.wait_for_more()
        if not self._buffer.startswith(expected):
            raise TextFormatError(f"expected {expected!r}")
        self._buffer = self._buffer[len(expected) :]

    def accept(self, expected: str) -> ParseSteps[bool]:
        """Consume `expected` if the text continues with it; return whether it did."""
        if (yield from self.peek(expected)) is None:
            return False
        self._buffer = self._buffer[len(expected) :]
        return True

    def skip_space(self) -> ParseSteps[None]:
        """Skip white space, up to the next other character or the end."""
        while True:
            self._buffer = self._buffer.lstrip(SPACE)
            if self._buffer or self._closed:
                return
            yield

    def peek_char(self) -> ParseSteps[str]:
        """Return the next character without consuming it; raise EndOfText if there is none."""
        if not self._buffer:
            yield from self.wait_for_more()
        return self._buffer[0]

    def read_chars(self, count: int) -> ParseSteps[str]:
        while len(self._buffer) < count:
            yield from self.wait_for_more()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def read_up_to(self, stop: re.Pattern[str]) -> ParseSteps[str]:
        """Consume buffered text up to a character that matches `stop`; empty only if the next one matches.
        The caller repeats the call until then."""
        if not self._buffer:
            yield from self.wait_for_more()
        match = stop.search(self._buffer)
        end = match.start() if match else len(self._buffer)
        taken, self._buffer = self._buffer[:end], self._buffer[end:]
        return taken


@functools.lru_cache(maxsize=64)
def _marker_prefixes(markers: tuple[str, ...]) -> tuple[int, frozenset[str]]:
    """Return the longest prefix length and all proper prefixes of the markers; needed for every chunk."""
    prefixes = {marker[:size] for marker in markers for size in range(1, len(marker))}
    return max(map(len, prefixes), default=0), frozenset(prefixes)
