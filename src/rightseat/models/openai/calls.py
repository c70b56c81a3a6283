"""Assemble streamed tool calls by index, else by id, else by order."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from rightseat.models.openai.wire import TEXT, Function, ToolCall
from rightseat.types.chunks import CallArgs, CallName, Fragment


class _Open(Struct):
    number: int
    id: str | None
    name: str | None = None
    arguments: list[str] = []


class Calls:
    """Numbers calls in order of appearance. Emits each name once, before its arguments."""

    def __init__(self, enforced: frozenset[str]) -> None:
        self._enforced = enforced
        self._open: list[_Open] = []
        self._by_index: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def nameless(self) -> bool:
        return any(call.name is None for call in self._open)

    def take(self, piece: ToolCall) -> list[Fragment]:
        function = piece.function or Function()
        name, arguments = function.name or None, _text(function)
        if not (name or arguments or piece.id):
            return []
        call = self._find(piece, name)
        call.id = call.id or piece.id
        if arguments:
            call.arguments.append(arguments)
        if call.name is not None:
            return [CallArgs(call.number, arguments)] if arguments else []
        if name is None:
            return []
        call.name = name
        out: list[Fragment] = [CallName(call.number, name, name in self._enforced)]
        if call.arguments:
            out.append(CallArgs(call.number, "".join(call.arguments)))
        return out

    def _find(self, piece: ToolCall, name: str | None) -> _Open:
        if piece.index is not None:
            known = self._by_index.get(piece.index)
            # Some servers send index 0 for every call: then a new id starts a new call.
            if known is None or (piece.id and known.id and piece.id != known.id and _is_next(known, name)):
                known = self._by_index[piece.index] = self._add(piece.id)
            return known
        if piece.id:
            return self._by_id.get(piece.id) or self._add(piece.id)
        if not self._open or _is_next(self._open[-1], name):
            return self._add(None)
        return self._open[-1]

    def _add(self, id: str | None) -> _Open:
        call = _Open(len(self._open), id)
        self._open.append(call)
        if id:
            self._by_id[id] = call
        return call


def _is_next(call: _Open, name: str | None) -> bool:
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


def _text(function: Function) -> str:
    if not isinstance(function.arguments, msgspec.Raw):
        return ""
    raw = bytes(function.arguments)
    if raw.startswith(b'"'):
        return TEXT.decode(raw)
    return "" if raw == b"null" else raw.decode()
