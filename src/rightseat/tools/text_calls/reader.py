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
import json
import re
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

import msgspec

from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk, ToolCallArgs, ToolCallStart

T = TypeVar("T")
ParseSteps = Generator[None, None, T]
Emit = Callable[[str], None]
SPACE = " \t\r\n"
MAX_MARKUP_SPACE = 1000
"""White space before a marker that belongs to the markup, in characters. More is text: held back without a limit, it
would be searched again with each piece."""
_STRING = re.compile(r'["\\]')
_NESTED = re.compile(r'["{}\[\]]')
_BARE_END = re.compile(r"[,\]}\s]")
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
_SURROGATE = re.compile("[\ud800-\udfff]")


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
        """Emit text up to the first of the markers; consume and return the marker, or None at the end. White
        space before a marker belongs to the markup and is dropped with it."""
        emit = emit or self.emit_text
        longest_first = sorted(markers, key=len, reverse=True)
        never_matches = "(?!)"
        pattern = re.compile("|".join(map(re.escape, longest_first)) or never_matches)
        while True:
            match = pattern.search(self._buffer)
            partial = len(self._buffer) if self._closed else find_partial_marker(self._buffer, markers)
            # A longer marker may begin at or before the one found.
            if match and partial > match.start():
                emit(strip_markup_space(self._buffer[: match.start()]))
                self._buffer = self._buffer[match.end() :]
                return match.group()
            if markers and not self._closed:
                # Hold a partial marker and the space before it.
                partial = len(strip_markup_space(self._buffer[:partial]))
            passed, self._buffer = self._buffer[:partial], self._buffer[partial:]
            if self._length_limited:
                # The beginning of a marker that the limit cut is no text.
                passed = passed[: find_partial_marker(passed, markers)]
            # White space after a call is not content.
            emit(passed if not self._closed or passed.strip(SPACE) or not self.calls else "")
            if self._closed and self._length_limited and self.inside_call:
                # A truncated call must not end as a complete one.
                raise EndOfText
            if self._closed:
                return None
            yield

    def read_until(self, end: str) -> ParseSteps[str]:
        """Return the text before `end` and consume both."""
        searched = 0
        while (at := self._buffer.find(end, searched)) < 0:
            searched = max(0, len(self._buffer) - len(end) + 1)
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
        while len(self._buffer) < len(expected) and expected.startswith(self._buffer):
            yield from self.wait_for_more()
        if not (yield from self.accept(expected)):
            raise TextFormatError(f"expected {expected!r}")

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
        text, self._buffer = self._buffer[:count], self._buffer[count:]
        return text

    def read_up_to(self, stop: re.Pattern[str]) -> ParseSteps[str]:
        """Consume buffered text up to a character that matches `stop`; empty only if the next one matches.
        The caller repeats the call until then."""
        if not self._buffer:
            yield from self.wait_for_more()
        match = stop.search(self._buffer)
        end = match.start() if match else len(self._buffer)
        text, self._buffer = self._buffer[:end], self._buffer[end:]
        return text


def strip_markup_space(text: str) -> str:
    """Return the text without the white space at its end, of which at most MAX_MARKUP_SPACE characters go."""
    tail = text[-MAX_MARKUP_SPACE:]
    return text[: len(text) - len(tail)] + tail.rstrip(SPACE)


def find_partial_marker(text: str, markers: tuple[str, ...]) -> int:
    """Return the start of the longest suffix of the text that is a proper prefix of a marker, else its length."""
    longest, prefixes = _marker_prefixes(markers)
    starts = range(max(0, len(text) - longest), len(text))
    return next((start for start in starts if text[start:] in prefixes), len(text))


@functools.lru_cache(maxsize=64)
def _marker_prefixes(markers: tuple[str, ...]) -> tuple[int, frozenset[str]]:
    """Return the longest prefix length and all proper prefixes of the markers; needed for every chunk."""
    prefixes = {marker[:size] for marker in markers for size in range(1, len(marker))}
    return max(map(len, prefixes), default=0), frozenset(prefixes)


def copy_value(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    """Copy the text of one JSON value to `emit`, piece by piece; only its end is checked."""
    first = yield from reader.peek_char()
    if first == '"':
        yield from copy_string(reader, emit, raw=True)
    elif first in "{[":
        yield from _copy_nested(reader, emit)
    else:
        yield from _copy_scalar(reader, emit)


def _copy_nested(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    depth = 0
    while True:
        emit((yield from reader.read_up_to(_NESTED)))
        mark = yield from reader.peek_char()
        if mark == '"':
            yield from copy_string(reader, emit, raw=True)
        elif mark in "{}[]":
            emit((yield from reader.read_chars(1)))
            depth += 1 if mark in "{[" else -1
            if depth == 0:
                return


def _copy_scalar(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    """Copy a number, true, false or null, up to a delimiter or the end of the text."""
    is_empty = True
    while not (yield from reader.at_end()) and (piece := (yield from reader.read_up_to(_BARE_END))):
        emit(piece)
        is_empty = False
    if is_empty:
        raise TextFormatError("expected a JSON value")


def copy_string(reader: ModelTextReader, emit: Emit, *, raw: bool = False) -> ParseSteps[None]:
    """Copy a JSON string to `emit`: its content, unescaped and without quotes, or (`raw`) as it is written."""
    quote = '"' if raw else ""
    yield from reader.expect('"')
    emit(quote)
    while True:
        emit((yield from reader.read_up_to(_STRING)))
        mark = yield from reader.peek_char()
        if mark == '"':
            yield from reader.read_chars(1)
            emit(quote)
            return
        if mark == "\\":
            emit((yield from reader.read_chars(2) if raw else _read_escape(reader)))


def read_string(reader: ModelTextReader) -> ParseSteps[str]:
    parts: list[str] = []
    yield from copy_string(reader, parts.append)
    return "".join(parts)


def _read_escape(reader: ModelTextReader) -> ParseSteps[str]:
    """Read an escape, or both of a surrogate pair. A lone surrogate, which cannot be encoded, becomes U+FFFD."""
    escape = yield from reader.read_chars(2)
    if escape == "\\u":
        escape += yield from reader.read_chars(4)
        if _HIGH_SURROGATE.fullmatch(escape) and (yield from reader.accept("\\u")):
            escape += "\\u" + (yield from reader.read_chars(4))
    try:
        return _SURROGATE.sub("\ufffd", json.loads(f'"{escape}"'))
    except ValueError:
        raise TextFormatError(f"{escape} is no escape of JSON") from None


def read_key(reader: ModelTextReader) -> ParseSteps[str]:
    """Read a property's name and its colon; return the name."""
    name = yield from read_string(reader)
    yield from reader.skip_space()
    yield from reader.expect(":")
    yield from reader.skip_space()
    return name


def read_call_object(
    reader: ModelTextReader, *, name: tuple[str, ...] = ("name",), arguments: tuple[str, ...] = ("arguments",)
) -> ParseSteps[None]:
    """Read a call as `{"name": …, "arguments": …}`, in either order; other properties are skipped. Arguments that
    come before the name are buffered until the name is known."""
    called_name, early_arguments, done = "", "", False
    yield from reader.skip_space()
    yield from reader.expect("{")
    reader.inside_call = True
    yield from reader.skip_space()
    while (yield from reader.peek_char()) != "}":
        property_name = yield from read_key(reader)
        if property_name in name and not called_name:
            called_name = yield from read_string(reader)
        elif property_name in arguments and called_name and not done:
            emit = reader.begin_call(called_name)
            # Some models write the arguments as JSON text within a string.
            is_string = (yield from reader.peek_char()) == '"'
            yield from (copy_string if is_string else copy_value)(reader, emit)
            done = True
        else:
            texts: list[str] = []
            yield from copy_value(reader, texts.append)
            early_arguments = "".join(texts) if property_name in arguments else early_arguments
        yield from reader.skip_space()
        if (yield from reader.accept(",")):
            yield from reader.skip_space()
    yield from reader.expect("}")
    if not called_name:
        raise TextFormatError("a call without a name")
    if not done:
        reader.begin_call(called_name)(unquote_arguments(early_arguments) or "{}")
    reader.end_call()


def read_call_list(
    reader: ModelTextReader,
    *,
    name: tuple[str, ...] = ("name",),
    arguments: tuple[str, ...] = ("arguments",),
    opened: bool = False,
) -> ParseSteps[None]:
    """Read calls as a JSON array of objects. `opened`: its bracket is consumed already."""
    if not opened:
        yield from reader.skip_space()
        yield from reader.expect("[")
    yield from reader.skip_space()
    while (yield from reader.peek_char()) != "]":
        yield from read_call_object(reader, name=name, arguments=arguments)
        # Truncated here, the answer may lack a call.
        reader.inside_call = True
        yield from reader.skip_space()
        if not (yield from reader.accept(",")) and (yield from reader.peek_char()) != "]":
            raise TextFormatError("expected another call, or the end of the calls")
        yield from reader.skip_space()
    yield from reader.read_chars(1)
    reader.end_call()


def unquote_arguments(text: str) -> str:
    """Decode arguments that are JSON text within a JSON string."""
    if not text.startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text


class StopSequenceFilter:
    """Passes chunks up to the first stop sequence in their text; a possible beginning of one is held back."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = tuple(word for word in words if word)
        self._longest = max(map(len, self._words), default=1) - 1
        self._held = ""
        self.stopped = False

    def filter(self, chunks: Iterable[ModelChunk], *, last: bool = False) -> list[ModelChunk]:
        """Return the chunks up to a stop sequence. `last`: no more chunks follow."""
        if not self._words:
            return [*chunks]
        passed: list[ModelChunk] = []
        for chunk in chunks:
            if self.stopped:
                break
            if isinstance(chunk, TextChunk):
                passed.append(TextChunk(self._push(chunk.text)))
            else:
                passed += [TextChunk(self._flush()), chunk]
        if last:
            passed.append(TextChunk(self._flush()))
        return [chunk for chunk in passed if chunk != TextChunk("")]

    def _push(self, text: str) -> str:
        text = self._held + text
        positions = [at for at in (text.find(word) for word in self._words) if at >= 0]
        if positions:
            self.stopped, self._held = True, ""
            return text[: min(positions)]
        keep = len(text) - self._partial_length(text)
        self._held = text[keep:]
        return text[:keep]

    def _flush(self) -> str:
        held, self._held = self._held, ""
        return held

    def _partial_length(self, text: str) -> int:
        """Return how many of the last characters may begin a stop sequence. Without a table of prefixes: these words
        are the client's, and one of 100,000 characters would fill the memory."""
        sizes = range(min(len(text), self._longest), 0, -1)
        return next((size for size in sizes if any(word.startswith(text[-size:]) for word in self._words)), 0)
