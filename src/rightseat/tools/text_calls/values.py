"""Incremental parsing of JSON values and calls in a model's text."""

from __future__ import annotations

import re

import msgspec

from rightseat.tools.text_calls.reader import Emit, Reader, Reading, Unreadable

_STRING = re.compile(r'["\\]')
_NESTED = re.compile(r'["{}\[\]]')
_BARE_END = re.compile(r"[,\]}\s]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


def value(reader: Reader, emit: Emit) -> Reading[None]:
    """Copy the text of one JSON value to `emit`, piece by piece; only its end is checked."""
    first = yield from reader.next()
    if first == '"':
        yield from _quoted(reader, emit)
    elif first in "{[":
        yield from _nested(reader, emit)
    else:
        yield from _bare(reader, emit)


def _quoted(reader: Reader, emit: Emit) -> Reading[None]:
    emit((yield from reader.take(1)))
    while True:
        emit((yield from reader.run(_STRING)))
        mark = yield from reader.next()
        if mark == "\\":
            emit((yield from reader.take(2)))
        elif mark == '"':
            emit((yield from reader.take(1)))
            return


def _nested(reader: Reader, emit: Emit) -> Reading[None]:
    depth = 0
    while True:
        emit((yield from reader.run(_NESTED)))
        mark = yield from reader.next()
        if mark == '"':
            yield from _quoted(reader, emit)
        elif mark in "{}[]":
            emit((yield from reader.take(1)))
            depth += 1 if mark in "{[" else -1
            if depth == 0:
                return


def _bare(reader: Reader, emit: Emit) -> Reading[None]:
    """Copy a number, true, false or null, up to a delimiter or the end of the text."""
    empty = True
    while not (yield from reader.at_end()):
        piece = yield from reader.run(_BARE_END)
        emit(piece)
        empty = empty and not piece
        if not (yield from reader.at_end()) and _BARE_END.match((yield from reader.next())):
            break
    if empty:
        raise Unreadable("expected a JSON value")


def string(reader: Reader, emit: Emit) -> Reading[None]:
    """Copy the content of a JSON string to `emit`, unescaped and without quotes."""
    yield from reader.literal('"')
    while True:
        emit((yield from reader.run(_STRING)))
        mark = yield from reader.next()
        if mark == '"':
            yield from reader.take(1)
            return
        if mark == "\\":
            emit((yield from _escaped(reader)))


def _escaped(reader: Reader) -> Reading[str]:
    kind = (yield from reader.take(2))[1]
    if kind != "u":
        if kind not in _ESCAPES:
            raise Unreadable(f"\\{kind} is no escape of JSON")
        return _ESCAPES[kind]
    code = yield from _unit(reader)
    if 0xD800 <= code < 0xDC00 and (yield from reader.maybe("\\u")):
        low = yield from _unit(reader)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return "\ufffd\ufffd" if 0xD800 <= low < 0xE000 else "\ufffd" + chr(low)
    # A lone surrogate cannot be encoded.
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _unit(reader: Reader) -> Reading[int]:
    digits = yield from reader.take(4)
    try:
        return int(digits, 16)
    except ValueError:
        raise Unreadable(f"\\u{digits} is no character") from None


def key(reader: Reader) -> Reading[str]:
    """Read a property's name and its colon; return the name."""
    parts: list[str] = []
    yield from string(reader, parts.append)
    yield from reader.space()
    yield from reader.literal(":")
    yield from reader.space()
    return "".join(parts)


def call_object(
    reader: Reader, *, name: tuple[str, ...] = ("name",), arguments: tuple[str, ...] = ("arguments",)
) -> Reading[None]:
    """Read a call as `{"name": …, "arguments": …}`, in either order; other properties are skipped.

    Arguments that come before the name are buffered until the name is known.
    """
    called, held, done = "", "", False
    yield from reader.space()
    yield from reader.literal("{")
    reader.inside = True
    yield from reader.space()
    while (yield from reader.next()) != "}":
        found = yield from key(reader)
        if found in name and not called:
            parts: list[str] = []
            yield from string(reader, parts.append)
            called = "".join(parts)
        elif found in arguments and called and not done:
            emit = reader.begin(called)
            # Some models write the arguments as JSON text within a string.
            written = (yield from reader.next()) == '"'
            yield from (string if written else value)(reader, emit)
            done = True
        else:
            texts: list[str] = []
            yield from value(reader, texts.append)
            held = "".join(texts) if found in arguments else held
        yield from reader.space()
        if (yield from reader.maybe(",")):
            yield from reader.space()
    yield from reader.literal("}")
    if not called:
        raise Unreadable("a call without a name")
    if not done:
        reader.begin(called)(unquoted(held) or "{}")
    reader.end()


def call_list(
    reader: Reader, *, name: tuple[str, ...] = ("name",), arguments: tuple[str, ...] = ("arguments",)
) -> Reading[None]:
    """Read calls as a JSON array of objects."""
    yield from reader.space()
    yield from reader.literal("[")
    yield from reader.space()
    while (yield from reader.next()) != "]":
        yield from call_object(reader, name=name, arguments=arguments)
        # Truncated here, the answer may lack a call.
        reader.inside = True
        yield from reader.space()
        if not (yield from reader.maybe(",")) and (yield from reader.next()) != "]":
            raise Unreadable("expected another call, or the end of the calls")
        yield from reader.space()
    yield from reader.take(1)
    reader.end()


def unquoted(text: str) -> str:
    """Decode arguments that are JSON text within a JSON string."""
    if not text.startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text
