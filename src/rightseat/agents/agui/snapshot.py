"""Output that a run does not stream: messages of a snapshot, and CopilotKit's manual emits, which newer peers
send as CUSTOM events only."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.agents.agui.ledger import OpenItems
from rightseat.types.events import Event
from rightseat.types.turn import Turn


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
        return text in self.posted_texts or (
            self.is_resume and any(text in posted for posted in self.posted_texts)
        )

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
        return [
            *start_events,
            *self.items.append_arguments(id, arguments),
            *self.items.end_call(id, force=True),
        ]

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
