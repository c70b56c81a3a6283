"""Output that a run does not stream: messages of a snapshot, and CopilotKit's manual emits, which newer peers
send as CUSTOM events only."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.agents.agui.ledger import Ledger
from rightseat.types.events import Event
from rightseat.types.turn import Turn


class Snapshot:
    def __init__(self, turn: Turn, sent: list[str], ledger: Ledger) -> None:
        self.sent = set(sent)
        self.posted = {message.text for message in turn.messages if message.role == "assistant"}
        self.ledger = ledger
        self.resumes = bool(turn.answers)
        self.answered: dict[str, str] = {}
        """Message ids of tool results, by call."""
        self.told: set[str] = set()
        """Messages and calls emitted here; if they are streamed later, they are not repeated."""

    def take(self, messages: Any) -> list[Event]:
        found: list[Event] = []
        for message in self.new(messages):
            match message:
                case {"role": "assistant", "id": str(id)}:
                    found += self.say(id, text_of(message.get("content")))
                    for call in message.get("toolCalls") or ():
                        found += self.call(id, call)
                case _:
                    pass
        return found + self.results(messages)

    def results(self, messages: Any) -> list[Event]:
        """Return the results of this run's calls, at any place in the snapshot."""
        found: list[Event] = []
        for message in messages if isinstance(messages, list) else ():
            match message:
                case {"role": "tool", "toolCallId": str(id)} if id in self.ledger.calls:
                    failed = bool(message.get("error"))
                    if isinstance(name := message.get("id"), str):
                        self.answered[id] = name
                    found += self.ledger.answer(id, text_of(message.get("content")), failed)
                case _:
                    pass
        return found

    def new(self, messages: Any) -> list[dict[str, Any]]:
        """Return the messages after the last posted one, or after the last user message."""
        listed = [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
        known = [n for n, item in enumerate(listed) if item.get("id") in self.sent]
        known = known or [n for n, item in enumerate(listed) if item.get("role") == "user"]
        if self.resumes:
            # A text-only client does not post the messages before the interrupt by their ids.
            ours = [n for n, item in enumerate(listed) if item.get("id") in self.ledger.words]
            known += ours[-1:] or [n for n, item in enumerate(listed) if item.get("role") == "tool"]
        return listed[max(known) + 1 :] if known else listed

    def say(self, id: str, text: str) -> list[Event]:
        said = {"".join(words) for words in self.ledger.words.values()}
        if not text or id in self.told or id in self.ledger.words or text in said or self.old(text):
            return []
        self.told.add(id)
        return [*self.ledger.say(id, text), *self.ledger.end_text(id)]

    def old(self, text: str) -> bool:
        """Whether the client posted this text. A text-only client appends the question to it."""
        return text in self.posted or (self.resumes and any(text in posted for posted in self.posted))

    def call(self, message: str, call: Any) -> list[Event]:
        match call:
            case {"id": str(id), "function": {"name": str(tool), "arguments": str(arguments)}}:
                if id in self.ledger.calls:
                    return self.ledger.mend(id, arguments)
                return self.whole(id, tool, arguments, message)
            case _:
                return []

    def whole(self, id: str, tool: str, arguments: str, message: str) -> list[Event]:
        self.told.add(id)
        begun = self.ledger.begin_call(id, tool, message)
        return [*begun, *self.ledger.argue(id, arguments), *self.ledger.end_call(id, now=True)]

    def emitted(self, value: Any) -> list[Event]:
        match value:
            case {"message": str(text), "message_id": str(id)}:
                return self.say(id, text)
            case _:
                return []

    def called(self, value: Any) -> list[Event]:
        match value:
            case {"name": str(tool), "args": args, "id": str(id)} if id not in self.ledger.calls:
                arguments = args if isinstance(args, str) else msgspec.json.encode(args).decode()
                return self.whole(id, tool, arguments, id)
            case _:
                return []


def text_of(content: Any) -> str:
    """Join the text parts of a message's content; other parts are dropped."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
