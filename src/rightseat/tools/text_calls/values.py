"""Incremental parsing of JSON values and calls in a model's text."""

from __future__ import annotations

import re

import msgspec

from rightseat.tools.text_calls.reader import Emit, ModelTextReader, ParseSteps, TextFormatError

_STRING = re.compile(r'["\\]')
_NESTED = re.compile(r'["{}\[\]]')
_BARE_END = re.compile(r"[,\]}\s]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


def copy_value(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    """Copy the text of one JSON value to `emit`, piece by piece; only its end is checked."""
    first = yield from reader.peek_char()
    if first == '"':
        yield from _copy_quoted(reader, emit)
    elif first in "{[":
        yield from _copy_nested(reader, emit)
    else:
        yield from _copy_scalar(reader, emit)


def _copy_quoted(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    emit((yield from reader.read_chars(1)))
    while True:
        emit((yield from reader.read_up_to(_STRING)))
        mark = yield from reader.peek_char()
        if mark == "\\":
            emit((yield from reader.read_chars(2)))
        elif mark == '"':
            emit((yield from reader.read_chars(1)))
            return


def _copy_nested(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    depth = 0
    while True:
        emit((yield from reader.read_up_to(_NESTED)))
        mark = yield from reader.peek_char()
        if mark == '"':
            yield from _copy_quoted(reader, emit)
        elif mark in "{}[]":
            emit((yield from reader.read_chars(1)))
            depth += 1 if mark in "{[" else -1
            if depth == 0:
                return


def _copy_scalar(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    """Copy a number, true, false or null, up to a delimiter or the end of the text."""
    empty = True
    while not (yield from reader.at_end()):
        piece = yield from reader.read_up_to(_BARE_END)
        emit(piece)
        empty = empty and not piece
        if not (yield from reader.at_end()) and _BARE_END.match((yield from reader.peek_char())):
            break
    if empty:
        raise TextFormatError("expected a JSON value")


def copy_string(reader: ModelTextReader, emit: Emit) -> ParseSteps[None]:
    """Copy the content of a JSON string to `emit`, unescaped and without quotes."""
    yield from reader.expect('"')
    while True:
        emit((yield from reader.read_up_to(_STRING)))
        mark = yield from reader.peek_char()
        if mark == '"':
            yield from reader.read_chars(1)
            return
        if mark == "\\":
            emit((yield from _read_escape(reader)))


def _read_escape(reader: ModelTextReader) -> ParseSteps[str]:
    kind = (yield from reader.read_chars(2))[1]
    if kind != "u":
        if kind not in _ESCAPES:
            raise TextFormatError(f"\\{kind} is no escape of JSON")
        return _ESCAPES[kind]
    code = yield from _read_code_unit(reader)
    if 0xD800 <= code < 0xDC00 and (yield from reader.accept("\\u")):
        low = yield from _read_code_unit(reader)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return "\ufffd\ufffd" if 0xD800 <= low < 0xE000 else "\ufffd" + chr(low)
    # A lone surrogate cannot be encoded.
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _read_code_unit(reader: ModelTextReader) -> ParseSteps[int]:
    digits = yield from reader.read_chars(4)
    try:
        return int(digits, 16)
    except ValueError:
        raise TextFormatError(f"\\u{digits} is no character") from None


def read_key(reader: ModelTextReader) -> ParseSteps[str]:
    """Read a property's name and its colon; return the name."""
    parts: list[str] = []
    yield from copy_string(reader, parts.append)
    yield from reader.skip_space()
    yield from reader.expect(":")
    yield from reader.skip_space()
    return "".join(parts)


def read_call_object(
    reader: ModelTextReader, *, name: tuple[str, ...] = ("name",), arguments: tuple[str, ...] = ("arguments",)
) -> ParseSteps[None]:
    """Read a call as `{"name": …, "arguments": …}`, in either order; other properties are skipped.

    Arguments that come before the name are buffered until the name is known.
    """
    called_name, early_arguments, done = "", "", False
    yield from reader.skip_space()
    yield from reader.expect("{")
    reader.inside_call = True
    yield from reader.skip_space()
    while (yield from reader.peek_char()) != "}":
        property_name = yield from read_key(reader)
        if property_name in name and not called_name:
            parts: list[str] = []
            yield from copy_string(reader, parts.append)
            called_name = "".join(parts)
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
    reader: ModelTextReader, *, name: tuple[str, ...] = ("name",), arguments: tuple[str, ...] = ("arguments",)
) -> ParseSteps[None]:
    """Read calls as a JSON array of objects."""
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
