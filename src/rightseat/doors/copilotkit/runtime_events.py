"""Runtime events by CopilotKit's names: what a subscription sends, and what an adapter of one's own emits."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.copilotkit.response import Status
from rightseat.types.events import RunFailed


class RuntimeEventTypes(StrEnum):
    """Types of the events that CopilotKit's runtime names."""

    TextMessageStart = "TextMessageStart"
    TextMessageContent = "TextMessageContent"
    TextMessageEnd = "TextMessageEnd"
    ActionExecutionStart = "ActionExecutionStart"
    ActionExecutionArgs = "ActionExecutionArgs"
    ActionExecutionEnd = "ActionExecutionEnd"
    ActionExecutionResult = "ActionExecutionResult"
    AgentStateMessage = "AgentStateMessage"
    MetaEvent = "MetaEvent"


class NamedEvent(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag=str):
    """Base of the events; `type` is the name of the class."""

    @property
    def type(self) -> RuntimeEventTypes:
        return RuntimeEventTypes(self.__class__.__name__)


class TextMessageStart(NamedEvent, frozen=True, kw_only=True):
    message_id: str
    parent_message_id: str | None = None


class TextMessageContent(NamedEvent, frozen=True, kw_only=True):
    message_id: str
    content: str


class TextMessageEnd(NamedEvent, frozen=True, kw_only=True):
    message_id: str


class ActionExecutionStart(NamedEvent, frozen=True, kw_only=True):
    action_execution_id: str
    action_name: str
    parent_message_id: str | None = None


class ActionExecutionArgs(NamedEvent, frozen=True, kw_only=True):
    action_execution_id: str
    args: str


class ActionExecutionEnd(NamedEvent, frozen=True, kw_only=True):
    action_execution_id: str


class ActionExecutionResult(NamedEvent, frozen=True, kw_only=True):
    action_execution_id: str
    action_name: str
    result: str


class AgentStateMessage(NamedEvent, frozen=True, kw_only=True):
    """State of an agent; `state` is JSON text."""

    agent_name: str
    state: str
    thread_id: str = ""
    node_name: str = ""
    run_id: str = ""
    active: bool = True
    role: str = "assistant"
    running: bool = True


class MetaEvent(NamedEvent, frozen=True, kw_only=True):
    """Question of an agent or of a tool; `value` is text or JSON text."""

    name: str
    value: str
    response: str | None = None


RuntimeEvent = (
    TextMessageStart
    | TextMessageContent
    | TextMessageEnd
    | ActionExecutionStart
    | ActionExecutionArgs
    | ActionExecutionEnd
    | ActionExecutionResult
    | AgentStateMessage
    | MetaEvent
)


def format_event(event: RuntimeEvent) -> dict[str, Any]:
    """Format an event as graphql-core resolves its fields."""
    fields = msgspec.to_builtins(event)
    return {"__typename": fields["type"], **fields}


class RuntimeEventWriter:
    """A ResponseSink that makes runtime events; `take_events` returns those since the last call."""

    def __init__(self) -> None:
        self.events: list[RuntimeEvent] = []
        self.kinds: list[tuple[str, str]] = []
        """Kind and id of each message."""
        self.extensions: dict[str, Any] = {}
        self.status: Status | None = None
        self.failure: RunFailed | None = None

    def take_events(self) -> list[RuntimeEvent]:
        events, self.events = self.events, []
        return events

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        id = fields["id"]
        self.kinds.append((kind, id))
        match kind:
            case "TextMessageOutput":
                self.events.append(TextMessageStart(message_id=id, parent_message_id=fields["parentMessageId"]))
            case "ActionExecutionMessageOutput":
                parent = fields["parentMessageId"]
                start = ActionExecutionStart(
                    action_execution_id=id, action_name=fields["name"], parent_message_id=parent
                )
                self.events.append(start)
            case "ResultMessageOutput":
                result = {name: fields[name] for name in ("actionExecutionId", "actionName", "result")}
                self.events.append(msgspec.convert({**result, "type": "ActionExecutionResult"}, ActionExecutionResult))
            case "AgentStateMessageOutput":
                self.events.append(msgspec.convert({**fields, "type": "AgentStateMessage"}, AgentStateMessage))
        return len(self.kinds) - 1

    def add_chunk(self, number: int, text: str) -> None:
        kind, id = self.kinds[number]
        if kind == "TextMessageOutput":
            self.events.append(TextMessageContent(message_id=id, content=text))
        else:
            self.events.append(ActionExecutionArgs(action_execution_id=id, args=text))

    def set_status(self, number: int, status: Status) -> None:
        """End a text or a call. A call that was cut stays without an end, so that no client runs it."""
        kind, id = self.kinds[number]
        if kind == "TextMessageOutput":
            self.events.append(TextMessageEnd(message_id=id))
        elif kind == "ActionExecutionMessageOutput" and status["code"] == "Success":
            self.events.append(ActionExecutionEnd(action_execution_id=id))

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        self.events.append(MetaEvent(name=fields["name"], value=fields["value"], response=fields["response"]))

    def add_extension(self, name: str, value: Any) -> None:
        self.extensions[name] = value

    def set_extensions(self, values: dict[str, Any]) -> None:
        """Leave them to the response at the end: no event carries them."""

    def finish(self, status: Status) -> None:
        self.status = status
