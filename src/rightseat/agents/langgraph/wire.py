"""LangGraph's events as Structs. Only used fields are declared; the rest is skipped undecoded."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

STEP = "graph:step"
SILENT = ("langsmith:nostream", "nostream")


class Metadata(Struct, frozen=True):
    """Event metadata of LangGraph and, under names with a colon, of CopilotKit's helpers."""

    node: str | None = field(default=None, name="langgraph_node")
    place: str | None = field(default=None, name="langgraph_checkpoint_ns")
    messages: Any = field(default=True, name="copilotkit:emit-messages")
    calls: Any = field(default=True, name="copilotkit:emit-tool-calls")
    states: Any = field(default=None, name="copilotkit:emit-intermediate-state")

    @property
    def nested(self) -> bool:
        """Whether the event comes from a subgraph."""
        return "|" in (self.place or "")

    def shows(self, call: str) -> bool:
        """Whether calls to this tool are emitted: all, none, or the listed ones."""
        if isinstance(self.calls, list):
            return call in self.calls
        return call == self.calls if isinstance(self.calls, str) else self.calls is not False

    @property
    def predictions(self) -> dict[str, Prediction]:
        """Predicted state keys, by the tool whose arguments predict them."""
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
        """Whether the event is about a node itself, not about something that runs in it."""
        named = self.name is not None and self.name == self.metadata.node and not self.name.startswith("__")
        return named and any(tag.startswith(STEP) for tag in self.tags)


class CallChunk(Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    args: str | None = None
    index: int | str | None = None


class Chunk(Struct, frozen=True):
    """A chunk of a model's answer (AIMessageChunk)."""

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
    """Join the text of a content, which is a string or a list of blocks."""
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
    """Join the reasoning of a content, in the formats of several vendors."""
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
