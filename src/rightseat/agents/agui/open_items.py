"""Open texts, reasoning, calls and steps of a run, by the peer's ids: each is started once and ended once.

Output that a run does not stream: messages of a snapshot, and CopilotKit's manual emits, which newer peers send as
CUSTOM events only.

A peer may omit a start or an end, or use an id twice. The events stay well-formed: a used id gets a number,
and an empty text is never started.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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
    """A tool call of the peer's run."""

    id: str
    name: str
    client: bool
    message: str
    arguments: list[str]
    open: bool = True
    lost_start: bool = False
    """The arguments do not begin with `{`: the peer lost their first piece."""
    end_received: bool = False
    answered: bool = False
    result: str = ""


class OpenItems:
    """Open items of one run. `tools` names the client's tools: the client runs calls to them."""

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
        events: list[Event] = []
        if not text:
            return events
        our_id = self.open_texts.get(id)
        if our_id is None:
            our_id = self.open_texts[id] = self.make_unique_id(id)
            self.text_parts.setdefault(id, [])
            events.append(TextStart(our_id))
        self.text_parts[id].append(text)
        events.append(TextDelta(our_id, text))
        return events

    def end_text(self, id: str) -> list[Event]:
        our_id = self.open_texts.pop(id, None)
        return [] if our_id is None else [TextEnd(our_id)]

    def append_reasoning(self, id: str, text: str) -> list[Event]:
        if not text:
            return []
        our_id = self.open_reasoning.get(id)
        if our_id is not None:
            return [ReasoningDelta(our_id, text)]
        our_id = self.open_reasoning[id] = self.make_unique_id(id)
        return [ReasoningStart(our_id), ReasoningDelta(our_id, text)]

    def end_reasoning(self, id: str) -> list[Event]:
        our_id = self.open_reasoning.pop(id, None)
        return [] if our_id is None else [ReasoningEnd(our_id)]

    # Calls.

    def start_call(self, id: str, name: str, message: str) -> list[Event]:
        known = self.calls.get(id)
        if known is not None and known.open:
            return []
        our_id = self.make_unique_id(id)
        call = self.calls[id] = PeerCall(our_id, name, name in self.tools, message or our_id, [])
        return [CallStart(call.id, name, call.message, call.client)]

    def append_arguments(self, id: str, json: str) -> list[Event]:
        call = self.calls.get(id)
        if call is None or not call.open or call.end_received or not json:
            return []
        call.lost_start = call.lost_start or not (call.arguments or json.lstrip().startswith("{"))
        call.arguments.append(json)
        return [] if call.lost_start else [CallArgs(call.id, json)]

    def end_call(self, id: str, *, force: bool = False) -> list[Event]:
        """End a call. Some peers lose arguments that arrive in one piece with the call's name, and send them
        in a snapshot at the end of the run: a call without arguments stays open for them unless `force`."""
        call = self.calls.get(id)
        if call is None or not call.open:
            return []
        call.end_received = True
        if (call.lost_start or not call.arguments) and not force:
            return []
        if call.client and not is_json_object("".join(call.arguments)):
            # The client must not run a truncated call. A call of the peer itself is passed on as it is.
            return []
        call.open = False
        return [*([CallArgs(call.id, "{}")] if call.lost_start or not call.arguments else []), CallEnd(call.id)]

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
            tool_call = ToolCall(call.id, call.name, "".join(call.arguments) or "{}")
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
        events: list[Event] = []
        for id in list(self.open_texts):
            events += self.end_text(id)
        for id in list(self.open_reasoning):
            events += self.end_reasoning(id)
        for id, call in self.calls.items():
            if call.open and (call.end_received or is_json_object("".join(call.arguments))):
                events += self.end_call(id, force=True)
            if not (call.open or call.client or call.answered or id in continued):
                events += self.add_result(id, "")
        for name in reversed(self.open_steps):
            events.append(StepEnd(name))
        self.open_steps.clear()
        return events


def is_json_object(arguments: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(arguments or "{}"), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


class UnstreamedOutput:
    def __init__(self, turn: Turn, sent_ids: list[str], items: OpenItems) -> None:
        self.sent_ids = set(sent_ids)
        self.posted_texts = {message.text for message in turn.messages if message.role == "assistant"}
        self.items = items
        self.is_resume = bool(turn.answers)
        self.result_message_ids: dict[str, str] = {}
        """Message ids of tool results, by call."""
        self.emitted_ids: set[str] = set()
        """Messages and calls emitted here; if they are streamed later, they are not repeated."""

    def add_messages(self, messages: Any) -> list[Event]:
        events: list[Event] = []
        for message in self.select_new(messages):
            match message:
                case {"role": "assistant", "id": str(id)}:
                    events += self.add_text(id, join_content_text(message.get("content")))
                    for call in message.get("toolCalls") or ():
                        events += self.add_call(id, call)
                case _:
                    pass
        return events + self.add_results(messages)

    def add_results(self, messages: Any) -> list[Event]:
        """Return the results of this run's calls, at any place in the snapshot."""
        events: list[Event] = []
        for message in messages if isinstance(messages, list) else ():
            match message:
                case {"role": "tool", "toolCallId": str(id)} if id in self.items.calls:
                    failed = bool(message.get("error"))
                    if isinstance(message_id := message.get("id"), str):
                        self.result_message_ids[id] = message_id
                    events += self.items.add_result(id, join_content_text(message.get("content")), failed)
                case _:
                    pass
        return events

    def select_new(self, messages: Any) -> list[dict[str, Any]]:
        """Return the messages after the last posted one, or after the last user message."""
        items = [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
        known = [n for n, item in enumerate(items) if item.get("id") in self.sent_ids]
        known = known or [n for n, item in enumerate(items) if item.get("role") == "user"]
        if self.is_resume:
            # A text-only client does not post the messages before the interrupt by their ids.
            ours = [n for n, item in enumerate(items) if item.get("id") in self.items.text_parts]
            known += ours[-1:] or [n for n, item in enumerate(items) if item.get("role") == "tool"]
        return items[max(known) + 1 :] if known else items

    def add_text(self, id: str, text: str) -> list[Event]:
        streamed_texts = {"".join(words) for words in self.items.text_parts.values()}
        if (
            not text
            or id in self.emitted_ids
            or id in self.items.text_parts
            or text in streamed_texts
            or self.was_posted(text)
        ):
            return []
        self.emitted_ids.add(id)
        return [*self.items.append_text(id, text), *self.items.end_text(id)]

    def was_posted(self, text: str) -> bool:
        """Whether the client posted this text. A text-only client appends the question to it."""
        return text in self.posted_texts or (self.is_resume and any(text in posted for posted in self.posted_texts))

    def add_call(self, message: str, call: Any) -> list[Event]:
        match call:
            case {"id": str(id), "function": {"name": str(tool), "arguments": str(arguments)}}:
                if id in self.items.calls:
                    return self.items.complete_arguments(id, arguments)
                return self.add_complete_call(id, tool, arguments, message)
            case _:
                return []

    def add_complete_call(self, id: str, tool: str, arguments: str, message: str) -> list[Event]:
        self.emitted_ids.add(id)
        start_events = self.items.start_call(id, tool, message)
        return [*start_events, *self.items.append_arguments(id, arguments), *self.items.end_call(id, force=True)]

    def on_emitted_message(self, value: Any) -> list[Event]:
        match value:
            case {"message": str(text), "message_id": str(id)}:
                return self.add_text(id, text)
            case _:
                return []

    def on_emitted_call(self, value: Any) -> list[Event]:
        match value:
            case {"name": str(tool), "args": args, "id": str(id)} if id not in self.items.calls:
                arguments = args if isinstance(args, str) else msgspec.json.encode(args).decode()
                return self.add_complete_call(id, tool, arguments, id)
            case _:
                return []


def join_content_text(content: Any) -> str:
    """Join the text parts of a message's content; other parts are dropped."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
