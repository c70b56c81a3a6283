"""Lines of an agent of type `crewai`: events of CopilotKit's older runtime, translated to AG-UI events and
mapped as such."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.agents._peer.faults import PeerErrors
from rightseat.agents.agui.mapping import AGUIEventMapper
from rightseat.types.events import Event
from rightseat.types.turn import Turn

# Runtime event → AG-UI event and its renamed fields.
_AGUI_EVENTS: dict[str, tuple[str, dict[str, str]]] = {
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


class RuntimeLineMapper:
    def __init__(self, turn: Turn, thread: uuid.UUID, ids: list[str], errors: PeerErrors) -> None:
        self.mapper = AGUIEventMapper(turn, thread, ids, errors)
        self.node: str | None = None
        """Always None: flows cannot resume at a node."""
        self.open_step = ""

    @property
    def result_message_ids(self) -> dict[str, str]:
        return self.mapper.result_message_ids

    def feed(self, line: bytes) -> Iterator[Event]:
        event = msgspec.json.decode(line, type=dict[str, Any])
        match event.get("type"):
            case "AgentStateMessage":
                yield from self.on_state(event)
            case "MetaEvent":
                is_interrupt = event.get("name") == "LangGraphInterruptEvent"
                event_name = "on_interrupt" if is_interrupt else event.get("name")
                yield from self.mapper.feed({**event, "type": "CUSTOM", "name": event_name})
            case str(kind) if kind in _AGUI_EVENTS:
                agui_type, fields = _AGUI_EVENTS[kind]
                agui_event = {fields.get(key, key): value for key, value in event.items()}
                yield from self.mapper.feed({**agui_event, "type": agui_type})
            case _:
                pass

    def on_state(self, event: dict[str, Any]) -> Iterator[Event]:
        """Map a node's state; an inactive state ends the node's step."""
        node, active = event.get("nodeName"), event.get("active") is True
        if isinstance(node, str) and node and active and node != self.open_step:
            yield from self.end_step()
            self.open_step = node
            yield from self.mapper.feed({"type": "STEP_STARTED", "stepName": node})
        state = event.get("state")
        if isinstance(state, str):
            state = msgspec.json.decode(state)
        yield from self.mapper.feed({"type": "STATE_SNAPSHOT", "snapshot": state})
        if not active:
            yield from self.end_step()

    def end_step(self) -> Iterator[Event]:
        if self.open_step:
            yield from self.mapper.feed({"type": "STEP_FINISHED", "stepName": self.open_step})
            self.open_step = ""

    def finish(self) -> list[Event]:
        self.mapper.feed({"type": "RUN_FINISHED"})
        return self.mapper.finish()
