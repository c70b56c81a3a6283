"""Assemble streamed tool calls by index, else by id, else by order."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from rightseat.models.openai.wire import STRING_DECODER, UpstreamFunctionDelta, UpstreamToolCallDelta
from rightseat.types.chunks import ModelChunk, ToolCallArgs, ToolCallStart


class _OpenChatCall(Struct):
    number: int
    id: str | None
    name: str | None = None
    arguments: list[str] = []


class ChatCallAssembler:
    """Numbers calls in order of appearance. Emits each name once, before its arguments."""

    def __init__(self, enforced: frozenset[str]) -> None:
        self._enforced = enforced
        self._open: list[_OpenChatCall] = []
        self._by_index: dict[int, _OpenChatCall] = {}
        self._by_id: dict[str, _OpenChatCall] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def has_nameless_call(self) -> bool:
        return any(call.name is None for call in self._open)

    def feed(self, piece: UpstreamToolCallDelta) -> list[ModelChunk]:
        function = piece.function or UpstreamFunctionDelta()
        name, arguments = function.name or None, _decode_arguments(function)
        if not (name or arguments or piece.id):
            return []
        call = self._find_call(piece, name)
        call.id = call.id or piece.id
        if arguments:
            call.arguments.append(arguments)
        if call.name is not None:
            return [ToolCallArgs(call.number, arguments)] if arguments else []
        if name is None:
            return []
        call.name = name
        out: list[ModelChunk] = [ToolCallStart(call.number, name, name in self._enforced)]
        if call.arguments:
            out.append(ToolCallArgs(call.number, "".join(call.arguments)))
        return out

    def _find_call(self, piece: UpstreamToolCallDelta, name: str | None) -> _OpenChatCall:
        if piece.index is not None:
            call = self._by_index.get(piece.index)
            # Some servers send index 0 for every call: then a new id starts a new call.
            if call is None or (
                piece.id and call.id and piece.id != call.id and _starts_new_call(call, name)
            ):
                call = self._by_index[piece.index] = self._open_call(piece.id)
            return call
        if piece.id:
            return self._by_id.get(piece.id) or self._open_call(piece.id)
        if not self._open or _starts_new_call(self._open[-1], name):
            return self._open_call(None)
        return self._open[-1]

    def _open_call(self, id: str | None) -> _OpenChatCall:
        call = _OpenChatCall(len(self._open), id)
        self._open.append(call)
        if id:
            self._by_id[id] = call
        return call


def _starts_new_call(call: _OpenChatCall, name: str | None) -> bool:
    """Whether a piece with `name` starts a new call instead of repeating the name of `call`."""
    if name is None or call.name is None:
        return False
    return name != call.name or _is_json("".join(call.arguments))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _decode_arguments(function: UpstreamFunctionDelta) -> str:
    if not isinstance(function.arguments, msgspec.Raw):
        return ""
    raw = bytes(function.arguments)
    if raw.startswith(b'"'):
        return STRING_DECODER.decode(raw)
    return "" if raw == b"null" else raw.decode()
