"""Messages API stream events → ModelChunks, without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import UpstreamGarbled
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.conversation import PROVIDER
from rightseat.models.anthropic.wire import EVENT, Block, Counts, Delta, Event
from rightseat.types.chunks import CallArgs, CallName, Finish, Fragment, Opaque, Reasoning, Text, Used
from rightseat.types.events import Usage

Reason = Literal["stop", "length", "content_filter", "calls"]

# Stop reasons that are not listed, also future ones, count as a normal end.
_REASONS: dict[str, Reason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # Only server tools pause a turn, and none are requested: report a truncated answer.
    "pause_turn": "length",
    "refusal": "content_filter",
}


class _Open(Struct):
    """A started content block. `text`: thinking text, or call arguments that came with the start event."""

    kind: str
    number: int = 0
    text: str = ""
    signature: str = ""
    data: str = ""
    length: int = 0


class Answer:
    """Parses one answer. `tool_names` maps names as sent to the API to the original tool names."""

    def __init__(self, name: str, names: Mapping[str, str], enforced: frozenset[str] = frozenset()) -> None:
        self._name = name
        self._names = names
        self._enforced = enforced
        self._blocks: dict[int, _Open] = {}
        self._calls = 0
        self._reason: str | None = None
        self._counts = Counts()
        self.begun = False
        """True once a content block has started, even if it is thinking that is not shown."""
        self.done = False

    def feed(self, payload: bytes) -> list[Fragment]:
        if self.done or not payload.strip():
            return []
        try:
            event = EVENT.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise faults.garbled("not the JSON of a message's event") from error
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise faults.garbled("JSON that is too deep") from None
        if event.type == "content_block_delta" and event.delta is not None:
            return self._more(event.index or 0, event.delta)
        return self._rare(event)

    def tail(self, payload: bytes) -> list[Fragment]:
        """Parse an event that the end of the stream left open; raise Incomplete if it is truncated."""
        try:
            return self.feed(payload)
        except UpstreamGarbled as error:
            raise faults.incomplete() from error

    def end(self) -> list[Fragment]:
        """Return the closing chunks. Raises Incomplete unless the server has ended the message."""
        if not self.done or self._reason is None:
            raise faults.incomplete()
        out: list[Fragment] = [*self._remembered(), *self._used()]
        out.append(Finish(_REASONS.get(self._reason) or ("calls" if self._calls else "stop")))
        return out

    def _rare(self, event: Event) -> list[Fragment]:
        match event.type:
            case "content_block_start" if event.content_block is not None:
                self.begun = True
                return self._started(event.index or 0, event.content_block)
            case "content_block_stop":
                return self._stopped(event.index or 0)
            case "message_start" if event.message is not None:
                self._count(event.message.usage)
            case "message_delta":
                self._count(event.usage)
                if event.delta is not None:
                    self._reason = event.delta.stop_reason or self._reason
            case "message_stop":
                self.done = True
            case "error":
                raise faults.of_payload(event.error)
            case _:
                # A ping, or an event type added later.
                pass
        return []

    def _started(self, index: int, block: Block) -> list[Fragment]:
        opened = self._blocks[index] = _Open(block.type)
        match block.type:
            case "text":
                return self._text(opened, block.text)
            case "thinking":
                opened.signature = block.signature or ""
                return self._thought(opened, block.thinking)
            case "redacted_thinking":
                opened.data = block.data or ""
            case "tool_use":
                return self._called(opened, block)
            case _:
                # A block of a server tool is not part of the answer.
                pass
        return []

    def _called(self, opened: _Open, block: Block) -> list[Fragment]:
        if not block.name:
            raise faults.garbled("a call without a name")
        opened.number = self._calls
        self._calls += 1
        # The start event holds `{}`, or the whole arguments if no deltas follow.
        opened.text = bytes(block.input).decode() if isinstance(block.input, msgspec.Raw) else "{}"
        name = self._names.get(block.name, block.name)
        return [CallName(opened.number, name, block.name in self._enforced)]

    def _more(self, index: int, delta: Delta) -> list[Fragment]:
        opened = self._blocks.get(index)
        if opened is None:
            raise faults.garbled("a piece of a block that did not begin")
        kind = opened.kind
        if kind == "text":
            return self._text(opened, delta.text)
        if kind == "tool_use" and delta.partial_json:
            opened.length += 1
            return [CallArgs(opened.number, delta.partial_json)]
        if kind == "thinking":
            opened.signature += delta.signature or ""
            return self._thought(opened, delta.thinking)
        return []

    def _stopped(self, index: int) -> list[Fragment]:
        opened = self._blocks.get(index)
        if opened is None or opened.kind != "tool_use" or opened.length:
            return []
        opened.length += 1
        return [CallArgs(opened.number, opened.text)]

    def _text(self, opened: _Open, text: str | None) -> list[Fragment]:
        if not text:
            return []
        opened.length += len(text)
        return [Text(text)]

    def _thought(self, opened: _Open, text: str | None) -> list[Fragment]:
        if not text:
            return []
        opened.text += text
        return [Reasoning(text)]

    def _count(self, counts: Counts | None) -> None:
        for field in Counts.__struct_fields__:
            if (found := getattr(counts, field, None)) is not None:
                setattr(self._counts, field, found)

    def _used(self) -> list[Fragment]:
        counts = self._counts
        if counts.input_tokens is None and counts.output_tokens is None:
            return []
        cached = counts.cache_read_input_tokens or 0
        fresh = (counts.input_tokens or 0) + (counts.cache_creation_input_tokens or 0)
        return [Used(Usage(fresh + cached, counts.output_tokens or 0, cached))]

    def _remembered(self) -> list[Fragment]:
        """Return an opaque chunk with the signed thinking blocks and their positions among text and calls."""
        steps = [step for _, opened in sorted(self._blocks.items()) if (step := _step(opened)) is not None]
        if not any("block" in step for step in steps):
            return []
        return [Opaque(PROVIDER, {"model": self._name, "steps": steps})]


def _step(opened: _Open) -> dict[str, Any] | None:
    match opened.kind:
        case "text":
            return {"text": opened.length}
        case "tool_use":
            return {"call": opened.number}
        case "thinking" if opened.signature:
            thought = {"type": "thinking", "thinking": opened.text, "signature": opened.signature}
            return {"block": thought}
        case "redacted_thinking":
            return {"block": {"type": "redacted_thinking", "data": opened.data}}
        case _:
            return None
