"""Assemble streamed tool calls by index, else by id, else by order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.types.chunks import ModelChunk, ToolCallArgs, ToolCallStart


class _OpenLangChainCall(Struct):
    number: int
    id: str | None
    name: str | None = None
    arguments: list[str] = []

    @property
    def is_complete(self) -> bool:
        try:
            msgspec.json.decode("".join(self.arguments))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
        return True


class LangChainCallAssembler:
    """Numbers calls in order of appearance. Emits each name once, before its arguments."""

    def __init__(self) -> None:
        self._open: list[_OpenLangChainCall] = []
        self._by_index: dict[Any, _OpenLangChainCall] = {}
        self._by_id: dict[str, _OpenLangChainCall] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def has_nameless_call(self) -> bool:
        return any(call.name is None for call in self._open)

    def feed(self, piece: Mapping[str, Any]) -> list[ModelChunk]:
        """Parse one of `tool_call_chunks`; every field may be missing or None."""
        index, id, name, arguments = (piece.get(key) for key in ("index", "id", "name", "args"))
        if not (name or arguments or id):
            return []
        call = self._find_call(index, id, name)
        if call is None:
            return []
        call.id = call.id or id
        text = arguments if isinstance(arguments, str) else ""
        if text:
            call.arguments.append(text)
        if call.name is not None:
            return [ToolCallArgs(call.number, text)] if text else []
        if not name:
            return []
        call.name = name
        early = "".join(call.arguments)
        return [ToolCallStart(call.number, name), *([ToolCallArgs(call.number, early)] if early else [])]

    def _find_call(self, index: Any, id: str | None, name: str | None) -> _OpenLangChainCall | None:
        """Return the call that a piece belongs to; None for the repetition of a complete call."""
        if index is not None:
            call = self._by_index.get(index)
            if call is None or (id and call.id and id != call.id):
                call = self._by_index[index] = self._open_call(id)
            return call
        if id:
            call = self._by_id.get(id)
            if call is not None and call.is_complete:
                return None
            return call or self._open_call(id)
        if not self._open or (
            name and (self._open[-1].name not in (None, name) or self._open[-1].is_complete)
        ):
            return self._open_call(None)
        return self._open[-1]

    def _open_call(self, id: str | None) -> _OpenLangChainCall:
        call = _OpenLangChainCall(len(self._open), id)
        self._open.append(call)
        if id:
            self._by_id[id] = call
        return call
