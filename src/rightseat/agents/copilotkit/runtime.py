"""Lines of an agent of type `crewai`: events of CopilotKit's older runtime, translated to AG-UI events and
mapped as such."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.agents._peer.faults import Faults
from rightseat.agents.agui.mapping import Mapping
from rightseat.types.events import Event
from rightseat.types.turn import Turn

# Runtime event → AG-UI event and its renamed fields.
_NAMES: dict[str, tuple[str, dict[str, str]]] = {
    "TextMessageStart": ("TEXT_MESSAGE_START", {}),
    "TextMessageContent": ("TEXT_MESSAGE_CONTENT", {"content": "delta"}),
    "TextMessageEnd": ("TEXT_MESSAGE_END", {}),
    "ActionExecutionStart": (
        "TOOL_CALL_START",
        {"actionExecutionId": "toolCallId", "actionName": "toolCallName"},
    ),
    "ActionExecutionArgs": ("TOOL_CALL_ARGS", {"actionExecutionId": "toolCallId", "args": "delta"}),
    "ActionExecutionEnd": ("TOOL_CALL_END", {"actionExecutionId": "toolCallId"}),
    "ActionExecutionResult": ("TOOL_CALL_RESULT", {"actionExecutionId": "toolCallId", "result": "content"}),
    "RunError": ("RUN_ERROR", {}),
}


class RuntimeLines:
    def __init__(self, turn: Turn, thread: uuid.UUID, ids: list[str], faults: Faults) -> None:
        self.mapping = Mapping(turn, thread, ids, faults)
        self.node: str | None = None
        """Always None: flows cannot resume at a node."""
        self.step = ""

    @property
    def results(self) -> dict[str, str]:
        return self.mapping.results

    def feed(self, line: bytes) -> Iterator[Event]:
        event = msgspec.json.decode(line, type=dict[str, Any])
        match event.get("type"):
            case "AgentStateMessage":
                yield from self.state(event)
            case "MetaEvent":
                asks = event.get("name") == "LangGraphInterruptEvent"
                called = "on_interrupt" if asks else event.get("name")
                yield from self.mapping.feed({**event, "type": "CUSTOM", "name": called})
            case str(kind) if kind in _NAMES:
                named, fields = _NAMES[kind]
                told = {fields.get(key, key): value for key, value in event.items()}
                yield from self.mapping.feed({**told, "type": named})
            case _:
                pass

    def state(self, event: dict[str, Any]) -> Iterator[Event]:
        """Map a node's state; an inactive state ends the node's step."""
        node, active = event.get("nodeName"), event.get("active") is True
        if isinstance(node, str) and node and active and node != self.step:
            yield from self.leave()
            self.step = node
            yield from self.mapping.feed({"type": "STEP_STARTED", "stepName": node})
        state = event.get("state")
        if isinstance(state, str):
            state = msgspec.json.decode(state)
        yield from self.mapping.feed({"type": "STATE_SNAPSHOT", "snapshot": state})
        if not active:
            yield from self.leave()

    def leave(self) -> Iterator[Event]:
        if self.step:
            yield from self.mapping.feed({"type": "STEP_FINISHED", "stepName": self.step})
            self.step = ""

    def end(self) -> list[Event]:
        self.mapping.feed({"type": "RUN_FINISHED"})
        return self.mapping.end()
