"""What the parsers of all vendors share: decoding of payloads, assembly of tool calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import ClassVar, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.json import Decoder

from rightseat.errors import UpstreamGarbled
from rightseat.models._vendor.errors import VendorErrors
from rightseat.types.chunks import FinishChunk, ModelChunk, ToolCallArgs, ToolCallStart, UsageChunk
from rightseat.types.events import Usage

FinishReason = Literal["stop", "length", "content_filter", "calls"]
DecodedT = TypeVar("DecodedT")


class StreamParser(ABC):
    """Parses the payloads of one answer into ModelChunks, without I/O.

    `done`: no further payload counts. `started`: the model is at work, although it has not said anything yet.
    """

    errors: ClassVar[VendorErrors]
    event_name: ClassVar[str]
    """What a payload is, for error messages."""

    def __init__(self) -> None:
        self.done = False
        self.started = False
        self._usage: Usage | None = None

    @property
    def finished(self) -> bool:
        """Whether the answer is complete, so that a timeout is no error."""
        return self.done

    @abstractmethod
    def feed(self, payload: bytes) -> list[ModelChunk]: ...

    @abstractmethod
    def finish(self) -> list[ModelChunk]:
        """Return the closing chunks. Raises Incomplete unless the server has ended the answer."""

    def feed_tail(self, payload: bytes) -> list[ModelChunk]:
        """Parse an event that the end of the stream left open; raise Incomplete if it is truncated."""
        try:
            return self.feed(payload)
        except UpstreamGarbled as error:
            raise self.errors.incomplete_stream() from error

    def _end_answer(self, reason: FinishReason) -> list[ModelChunk]:
        usage: list[ModelChunk] = [] if self._usage is None else [UsageChunk(self._usage)]
        return [*usage, FinishChunk(reason)]

    def _decode(self, payload: bytes, decoder: Decoder[DecodedT]) -> DecodedT:
        try:
            return decoder.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self.errors.invalid_response(f"not the JSON of {self.event_name}") from error
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise self.errors.invalid_response("JSON that is too deep") from None


class _OpenCall(Struct):
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

    def is_followed_by(self, name: str | None) -> bool:
        """Whether a piece with `name` starts the next call instead of repeating the name of this one."""
        if name is None or self.name is None:
            return False
        return name != self.name or self.is_complete


class ToolCallAssembler:
    """Assembles streamed calls by index, else by id, else by order, and numbers them in order of appearance.

    Each name is emitted once, before its arguments. `enforced`: tools whose arguments surely fit their schema.
    `trusts_ids`: a new id always starts a new call; some servers send a new one with each piece.
    """

    def __init__(self, enforced: frozenset[str] = frozenset(), *, trusts_ids: bool = False) -> None:
        self._enforced = enforced
        self._trusts_ids = trusts_ids
        self._open: list[_OpenCall] = []
        self.last_number = 0
        """Number of the call that the last piece belongs to."""
        self._by_index: dict[Hashable, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def has_nameless_call(self) -> bool:
        return any(call.name is None for call in self._open)

    def feed(self, index: Hashable, id: str | None, name: str | None, arguments: str) -> list[ModelChunk]:
        """Return the chunks of one piece of a call; any part of it may be None or empty."""
        if not (name or arguments or id):
            return []
        call = self._find_call(index, id, name or None)
        if call is None:
            return []
        self.last_number = call.number
        call.id = call.id or id
        if arguments:
            call.arguments.append(arguments)
        if call.name is not None:
            return [ToolCallArgs(call.number, arguments)] if arguments else []
        if not name:
            return []
        call.name = name
        out: list[ModelChunk] = [ToolCallStart(call.number, name, name in self._enforced)]
        if call.arguments:
            out.append(ToolCallArgs(call.number, "".join(call.arguments)))
        return out

    def _find_call(self, index: Hashable, id: str | None, name: str | None) -> _OpenCall | None:
        """Return the call that a piece belongs to; None for the repetition of a complete call."""
        if index is not None:
            call = self._by_index.get(index)
            # Some servers send index 0 for every call: then a new id starts a new call.
            has_new_id = call is not None and id and call.id and id != call.id
            if call is None or (has_new_id and (self._trusts_ids or call.is_followed_by(name))):
                call = self._by_index[index] = self._open_call(id)
            return call
        if id:
            call = self._by_id.get(id)
            if call is None or (name and call.name and name != call.name):
                return self._open_call(id)
            # Only a piece with a name may repeat a call: for the others the arguments are not decoded.
            return None if name and call.is_complete else call
        if not self._open or self._open[-1].is_followed_by(name):
            return self._open_call(None)
        return self._open[-1]

    def _open_call(self, id: str | None) -> _OpenCall:
        call = _OpenCall(len(self._open), id)
        self._open.append(call)
        if id:
            self._by_id[id] = call
        return call
