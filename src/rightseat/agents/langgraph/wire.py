"""What LangGraph says, as far as it is read: the rest of an event is skipped unread, which is most of it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

STEP = "graph:step"
SILENT = ("langsmith:nostream", "nostream")


class Metadata(Struct, frozen=True):
    """Written by LangGraph and, where a name has a colon, by CopilotKit's helpers in the graph."""

    node: str | None = field(default=None, name="langgraph_node")
    place: str | None = field(default=None, name="langgraph_checkpoint_ns")
    messages: Any = field(default=True, name="copilotkit:emit-messages")
    calls: Any = field(default=True, name="copilotkit:emit-tool-calls")
    states: Any = field(default=None, name="copilotkit:emit-intermediate-state")

    @property
    def nested(self) -> bool:
        """In a graph inside the graph."""
        return "|" in (self.place or "")

    def shows(self, call: str) -> bool:
        """Whether a call to this tool is to be seen: all, none, or those that are named."""
        if isinstance(self.calls, list):
            return call in self.calls
        return call == self.calls if isinstance(self.calls, str) else self.calls is not False

    @property
    def predictions(self) -> dict[str, Prediction]:
        """By the tool whose arguments show a part of the state before it is there."""
        found: dict[str, Prediction] = {}
        for item in self.states if isinstance(self.states, list) else ():
            match item:
                case {"state_key": str(key), "tool": str(tool)}:
                    argument = item.get("tool_argument")
                    found[tool] = Prediction(key, argument if isinstance(argument, str) else None)
        return found


class Prediction(Struct, frozen=True):
    key: str
    argument: str | None = None


class Happening(Struct, frozen=True):
    """One event of LangChain's `astream_events`."""

    event: str
    name: str | None = None
    run_id: str = ""
    tags: list[str] = []
    metadata: Metadata = Metadata()
    data: Raw = Raw(b"null")
    parents: list[str] | None = field(default=None, name="parent_ids")

    @property
    def is_node(self) -> bool:
        """Whether it is about a node itself, not about something that runs in it."""
        named = self.name is not None and self.name == self.metadata.node and not self.name.startswith("__")
        return named and any(tag.startswith(STEP) for tag in self.tags)


class CallChunk(Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    args: str | None = None
    index: int | str | None = None


class Chunk(Struct, frozen=True):
    """A piece of a model's answer."""

    id: str | None = None
    content: Any = ""
    tool_call_chunks: list[CallChunk] | None = None
    additional_kwargs: dict[str, Any] = {}


class Streamed(Struct, frozen=True):
    chunk: Chunk


class Ended(Struct, frozen=True):
    output: Any = None


happening = msgspec.json.Decoder(Happening).decode
streamed = msgspec.json.Decoder(Streamed).decode
ended = msgspec.json.Decoder(Ended).decode
anything = msgspec.json.Decoder().decode


def texts(content: Any) -> str:
    """The words of a content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(words(block) for block in content) if isinstance(content, list) else ""


def words(block: Any) -> str:
    match block:
        case str():
            return block
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return ""


def thoughts(content: Any, more: dict[str, Any]) -> str:
    """What a model thinks aloud, in the words of several vendors."""
    found = [thought(block) for block in content] if isinstance(content, list) else []
    aside = more.get("reasoning_content")
    return "".join(found) + (aside if isinstance(aside, str) else "")


def thought(block: Any) -> str:
    match block:
        case {"type": "thinking", "thinking": str(text)} | {"type": "reasoning", "reasoning": str(text)}:
            return text
        case {"type": "reasoning", "summary": list(parts)}:
            return "".join(part["text"] for part in parts if isinstance(part, dict) and "text" in part)
        case _:
            return ""
