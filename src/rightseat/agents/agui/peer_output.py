"""Output of a run by the peer's ids: texts, reasoning, calls and steps, each started once and ended once.

A peer may omit a start or an end, use an id twice, or send in a snapshot what it streamed. The events stay
well-formed: a used id gets a number, and an empty text is never started.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.agents._peer.json_text import decode_json_or_text, dict_items
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepEnd,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.turn import Turn


class PeerCall(Struct):
    id: str
    name: str
    client: bool
    message: str
    pieces: list[str]
    open: bool = True
    lost_start: bool = False
    """The arguments do not begin with `{`: the peer lost their first piece."""
    end_received: bool = False
    answered: bool = False
    result: str = ""

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class PeerOutput:
    """Output of one run. `tools` names the client's tools: the client runs calls to them."""

    def __init__(self, tools: Collection[str]) -> None:
        self.tools = tools
        self.calls: dict[str, PeerCall] = {}
        """By the peer's id; the latest if an id was used twice."""
        self.open_texts: dict[str, str] = {}
        self.text_parts: dict[str, list[str]] = {}
        """Pieces of each text of this run by the peer's id, because a snapshot may repeat it."""
        self.open_reasoning: dict[str, str] = {}
        self.open_steps: list[str] = []
        self.used_ids: set[str] = set()

    def make_unique_id(self, id: str) -> str:
        name, number = id or "text", 1
        while name in self.used_ids:
            number += 1
            name = f"{id}-{number}"
        self.used_ids.add(name)
        return name

    # Texts and reasoning.

    def append_text(self, id: str, text: str) -> list[Event]:
        if not text:
            return []
        self.text_parts.setdefault(id, []).append(text)
        if id in self.open_texts:
            return [TextDelta(self.open_texts[id], text)]
        our_id = self.open_texts[id] = self.make_unique_id(id)
        return [TextStart(our_id), TextDelta(our_id, text)]

    def end_text(self, id: str) -> list[Event]:
        return [TextEnd(self.open_texts.pop(id))] if id in self.open_texts else []

    def append_reasoning(self, id: str, text: str) -> list[Event]:
        if not text:
            return []
        if id in self.open_reasoning:
            return [ReasoningDelta(self.open_reasoning[id], text)]
        our_id = self.open_reasoning[id] = self.make_unique_id(id)
        return [ReasoningStart(our_id), ReasoningDelta(our_id, text)]

    def end_reasoning(self, id: str) -> list[Event]:
        return [ReasoningEnd(self.open_reasoning.pop(id))] if id in self.open_reasoning else []

    # Calls.

    def start_call(self, id: str, name: str, message: str) -> list[Event]:
        if id in self.calls and self.calls[id].open:
            return []
        our_id = self.make_unique_id(id)
        call = self.calls[id] = PeerCall(our_id, name, name in self.tools, message or our_id, [])
        return [CallStart(call.id, name, call.message, call.client)]

    def append_arguments(self, id: str, json: str) -> list[Event]:
        call = self.calls.get(id)
        if call is None or not call.open or call.end_received or not json:
            return []
        call.lost_start = call.lost_start or not (call.pieces or json.lstrip().startswith("{"))
        call.pieces.append(json)
        return [] if call.lost_start else [CallArgs(call.id, json)]

    def end_call(self, id: str, *, force: bool = False) -> list[Event]:
        """End a call. Some peers lose arguments that arrive in one piece with the call's name, and send them
        in a snapshot at the end of the run: a call without arguments stays open for them unless `force`."""
        call = self.calls.get(id)
        if call is None or not call.open:
            return []
        call.end_received = True
        lacks_arguments = call.lost_start or not call.pieces
        # The client must not run a truncated call. A call of the peer itself is passed on as it is.
        if (lacks_arguments and not force) or (call.client and not is_json_object(call.arguments)):
            return []
        call.open = False
        return [CallArgs(call.id, "{}"), CallEnd(call.id)] if lacks_arguments else [CallEnd(call.id)]

    def complete_arguments(self, id: str, arguments: str) -> list[Event]:
        """Set the complete arguments of a call that waits for them, and end it."""
        call = self.calls[id]
        if not (call.open and call.end_received and is_json_object(arguments)):
            return []
        call.open = False
        return [CallArgs(call.id, arguments or "{}"), CallEnd(call.id)]

    def add_result(self, id: str, content: str, failed: bool = False) -> list[Event]:
        """Add a call's result, ending the call first. An unknown call was started by an earlier run."""
        call = self.calls.get(id)
        if call is None:
            return [CallResult(id, content, failed)]
        if call.answered:
            return []
        ended = self.end_call(id, force=True)
        call.answered, call.result = True, content
        return [*ended, CallResult(call.id, content, failed)]

    @property
    def messages(self) -> list[Message]:
        """The run's texts, calls and results as a client would post them again."""
        messages = {id: text_message("assistant", "".join(words), id=id) for id, words in self.text_parts.items()}
        results: dict[str, list[Message]] = {}
        for call in self.calls.values():
            before = messages.get(call.message) or Message("assistant", id=call.message)
            tool_call = ToolCall(call.id, call.name, call.arguments or "{}")
            messages[call.message] = replace(before, calls=(*before.calls, tool_call))
            if call.answered:
                result = text_message("tool", call.result, call_id=call.id, id=f"result-{call.id}")
                results.setdefault(call.message, []).append(result)
        return [each for id, message in messages.items() for each in (message, *results.get(id, ()))]

    @property
    def pending_call_ids(self) -> tuple[str, ...]:
        """Ids of the client's calls without a result."""
        calls = self.calls.values()
        return tuple(call.id for call in calls if call.client and not call.open and not call.answered)

    # Steps and the end.

    def start_step(self, name: str) -> list[Event]:
        if not name:
            return []
        self.open_steps.append(name)
        return [StepStart(name)]

    def end_step(self, name: str) -> list[Event]:
        if name not in self.open_steps:
            return []
        self.open_steps.remove(name)
        return [StepEnd(name)]

    def close(self, continued: Collection[str]) -> list[Event]:
        """End everything that the peer left open, except truncated calls. The peer's own calls without a
        result get an empty one, except those in `continued`, which go on in another run."""
        events: list[Event] = [*map(TextEnd, self.open_texts.values())]
        events += map(ReasoningEnd, self.open_reasoning.values())
        for id, call in self.calls.items():
            if call.open and (call.end_received or is_json_object(call.arguments)):
                events += self.end_call(id, force=True)
            if not (call.open or call.client or call.answered or id in continued):
                events += self.add_result(id, "")
        return [*events, *map(StepEnd, reversed(self.open_steps))]


def is_json_object(arguments: str) -> bool:
    return isinstance(decode_json_or_text(arguments or "{}"), dict)


class UnstreamedOutput:
    """Output that a run does not stream: messages of a snapshot, and CopilotKit's manual emits, which newer peers
    send as CUSTOM events only."""

    def __init__(self, turn: Turn, sent_ids: list[str], output: PeerOutput) -> None:
        self.sent_ids = set(sent_ids)
        self.posted_texts = {message.text for message in turn.messages if message.role == "assistant"}
        self.output = output
        self.is_resume = bool(turn.answers)
        self.result_message_ids: dict[str, str] = {}
        """Message ids of tool results, by call."""
        self.emitted_ids: set[str] = set()
        """Messages and calls emitted here; if they are streamed later, they are not repeated."""

    def add_messages(self, messages: Any) -> list[Event]:
        items = dict_items(messages)
        events: list[Event] = []
        for message in self.select_new(items):
            match message:
                case {"role": "assistant", "id": str(id)}:
                    events += self.add_text(id, join_part_texts(message.get("content")))
                    for call in message.get("toolCalls") or ():
                        events += self.add_call(id, call)
        # Results of this run's calls, at any place in the snapshot.
        for message in items:
            match message:
                case {"role": "tool", "toolCallId": str(id)} if id in self.output.calls:
                    if isinstance(message_id := message.get("id"), str):
                        self.result_message_ids[id] = message_id
                    content = join_part_texts(message.get("content"))
                    events += self.output.add_result(id, content, bool(message.get("error")))
        return events

    def select_new(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages after the last posted one, or after the last user message."""
        known = [n for n, item in enumerate(items) if item.get("id") in self.sent_ids]
        known = known or [n for n, item in enumerate(items) if item.get("role") == "user"]
        if self.is_resume:
            # A text-only client does not post the messages before the interrupt by their ids.
            ours = [n for n, item in enumerate(items) if item.get("id") in self.output.text_parts]
            known += ours[-1:] or [n for n, item in enumerate(items) if item.get("role") == "tool"]
        return items[max(known) + 1 :] if known else items

    def add_text(self, id: str, text: str) -> list[Event]:
        is_streamed = id in self.output.text_parts or text in map("".join, self.output.text_parts.values())
        if not text or id in self.emitted_ids or is_streamed or self.was_posted(text):
            return []
        self.emitted_ids.add(id)
        return [*self.output.append_text(id, text), *self.output.end_text(id)]

    def was_posted(self, text: str) -> bool:
        """Whether the client posted this text. A text-only client appends the question to it."""
        return text in self.posted_texts or (self.is_resume and any(text in posted for posted in self.posted_texts))

    def add_call(self, message: str, call: Any) -> list[Event]:
        match call:
            case {"id": str(id), "function": {"name": str(tool), "arguments": str(arguments)}}:
                if id in self.output.calls:
                    return self.output.complete_arguments(id, arguments)
                return self.add_complete_call(id, tool, arguments, message)
            case _:
                return []

    def add_complete_call(self, id: str, tool: str, arguments: str, message: str) -> list[Event]:
        self.emitted_ids.add(id)
        start_events = self.output.start_call(id, tool, message)
        return [*start_events, *self.output.append_arguments(id, arguments), *self.output.end_call(id, force=True)]


def join_part_texts(content: Any) -> str:
    """Join the texts of a message's parts, whatever types peers give them; other parts have no text."""
    if isinstance(content, list):
        return "".join(text for part in dict_items(content) if isinstance(text := part.get("text"), str))
    return content if isinstance(content, str) else ""
