"""Assemble streamed tool calls by index, else by id, else by order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.types.chunks import CallArgs, CallName, Fragment


class _Open(Struct):
    number: int
    id: str | None
    name: str | None = None
    arguments: list[str] = []

    @property
    def whole(self) -> bool:
        try:
            msgspec.json.decode("".join(self.arguments))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
        return True


class Calls:
    """Numbers calls in order of appearance. Emits each name once, before its arguments."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._by_index: dict[Any, _Open] = {}
        self._by_id: dict[str, _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def nameless(self) -> bool:
        return any(call.name is None for call in self._open)

    def take(self, piece: Mapping[str, Any]) -> list[Fragment]:
        """Parse one of `tool_call_chunks`; every field may be missing or None."""
        index, id, name, arguments = (piece.get(key) for key in ("index", "id", "name", "args"))
        if not (name or arguments or id):
            return []
        call = self._find(index, id, name)
        if call is None:
            return []
        call.id = call.id or id
        text = arguments if isinstance(arguments, str) else ""
        if text:
            call.arguments.append(text)
        if call.name is not None:
            return [CallArgs(call.number, text)] if text else []
        if not name:
            return []
        call.name = name
        early = "".join(call.arguments)
        return [CallName(call.number, name), *([CallArgs(call.number, early)] if early else [])]

    def _find(self, index: Any, id: str | None, name: str | None) -> _Open | None:
        """Return the call that a piece belongs to; None for the repetition of a complete call."""
        if index is not None:
            known = self._by_index.get(index)
            if known is None or (id and known.id and id != known.id):
                known = self._by_index[index] = self._add(id)
            return known
        if id:
            known = self._by_id.get(id)
            if known is not None and known.whole:
                return None
            return known or self._add(id)
        if not self._open or (name and (self._open[-1].name not in (None, name) or self._open[-1].whole)):
            return self._add(None)
        return self._open[-1]

    def _add(self, id: str | None) -> _Open:
        call = _Open(len(self._open), id)
        self._open.append(call)
        if id:
            self._by_id[id] = call
        return call
