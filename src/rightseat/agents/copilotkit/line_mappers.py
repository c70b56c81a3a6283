"""Lines of an agent's JSON stream → our events, in the two dialects of CopilotKit's SDK."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents._peer.json_text import decode_json_or_text
from rightseat.agents.agui.event_mapper import AGUIEventMapper
from rightseat.agents.agui.request import select_client_tools
from rightseat.agents.langgraph import wire
from rightseat.agents.langgraph.event_mapper import GraphStateTracker, LangGraphEventMapper
from rightseat.agents.langgraph.interrupts import COPILOTKIT_MESSAGES, COPILOTKIT_VALUE
from rightseat.agents.langgraph.model_outputs import ModelOutputs
from rightseat.agents.langgraph.request import list_state_messages
from rightseat.types.events import EXIT, Custom, Event
from rightseat.types.turn import Turn

END_NODE = "__end__"


class SerializedObject(Struct, frozen=True):
    kwargs: Raw


class SerializedChunk(Struct, frozen=True):
    chunk: SerializedObject


_decode_chunk = msgspec.json.Decoder(SerializedChunk).decode


class LangGraphLineMapper:
    """Maps lines of an agent of type `langgraph`: LangChain events, state syncs and interrupts."""

    def __init__(self, turn: Turn, thread: uuid.UUID, ids: list[str], errors: PeerErrors) -> None:
        self.node: str | None = None
        """The node where the agent stopped; None if it finished or is interrupted."""
        self.result_message_ids: dict[str, str] = {}
        """The endpoint's message ids of tool results, by call."""
        called_ids = {call.id for message in turn.messages for call in message.calls}
        open_calls = called_ids - {message.call_id for message in turn.messages}
        outputs = ModelOutputs((tool.name for tool in select_client_tools(turn)), ids, open_calls)
        self.mapper = LangGraphEventMapper(errors, thread, outputs, GraphStateTracker(), language=turn.get_language())

    def feed(self, line: bytes) -> Iterable[Event]:
        event = wire.decode_event(line)
        match event.event:
            case "on_chat_model_stream":
                data = Raw(b'{"chunk":' + bytes(_decode_chunk(event.data).chunk.kwargs) + b"}")
                return self.mapper.on_event(msgspec.structs.replace(event, data=data))
            case "on_chat_model_end" | "on_tool_end":
                data = Raw(msgspec.json.encode(unwrap_serialized(wire.decode_json(event.data))))
                return self.mapper.on_event(msgspec.structs.replace(event, data=data))
            case "on_chain_stream" if event.parent_ids == []:
                # The update of a node of the top-level graph.
                chunk = unwrap_serialized(wire.decode_json(event.data))
                return self.mapper.on_updates(chunk.get("chunk") if isinstance(chunk, dict) else None)
            case "on_copilotkit_state_sync":
                return self.on_state_sync(wire.decode_json(line))
            case "on_interrupt":
                self.add_interrupt(decode_json_container(wire.decode_json(line).get("value")))
                return ()
            case "on_copilotkit_interrupt":
                self.on_copilotkit_interrupt(wire.decode_json(event.data))
                return ()
            case _:
                return self.mapper.on_event(event)

    def on_state_sync(self, sync: dict[str, Any]) -> Iterable[Event]:
        node, state = sync.get("node_name"), sync.get("state")
        self.node = node if isinstance(node, str) and node != END_NODE else None
        for message in list_state_messages(state):
            match message:
                case {"actionExecutionId": str(call), "id": str(id)}:
                    self.result_message_ids[call] = id
        first = self.mapper.state.on_synced_node(self.node) if self.node and sync.get("active") is True else ()
        # An agent that asks waits at its node, unless its endpoint says that it has ended.
        has_exited = node == END_NODE and sync.get("running") is False and bool(self.mapper.interrupts)
        return (*first, *self.mapper.on_values(state), *([Custom(EXIT, {})] if has_exited else ()))

    def on_copilotkit_interrupt(self, data: Any) -> None:
        """Add a question of `copilotkit_interrupt`: calls to the page's tools, or a text."""
        messages = data.get("messages") if isinstance(data, dict) else None
        items = [item for item in messages or () if "arguments" in item]
        calls = [{"id": item.get("id"), "name": item.get("name"), "args": item["arguments"]} for item in items]
        question = decode_json_container(data.get("value") if isinstance(data, dict) else None)
        self.add_interrupt({COPILOTKIT_VALUE: question, COPILOTKIT_MESSAGES: [{"tool_calls": calls}]})

    def add_interrupt(self, value: Any) -> None:
        """Add the interrupt in LangGraph's form. It has no id: only one can be open."""
        self.mapper.add_interrupts([{"id": "0", "value": value}])

    def finish(self) -> Iterable[Event]:
        if self.mapper.interrupts:
            # The answer goes to the interrupted node, not to the one after it.
            self.node = None
        return self.mapper.finish()


def unwrap_serialized(value: Any) -> Any:
    """Replace LangChain's serialized objects by their constructor arguments, recursively."""
    match value:
        case {"lc": 1, "kwargs": dict(inner)}:
            return unwrap_serialized(inner)
        case dict():
            return {key: unwrap_serialized(item) for key, item in value.items()}
        case list():
            return [unwrap_serialized(item) for item in value]
        case _:
            return value


def decode_json_container(value: Any) -> Any:
    """Decode an interrupt's value: the endpoint sends objects and arrays as JSON text."""
    content = decode_json_or_text(value) if isinstance(value, str) else value
    return content if isinstance(content, dict | list) else value


# Runtime event → AG-UI event and its renamed fields.
_AGUI_EVENTS: dict[str, tuple[str, dict[str, str]]] = {
    "TextMessageStart": ("TEXT_MESSAGE_START", {}),
    "TextMessageContent": ("TEXT_MESSAGE_CONTENT", {"content": "delta"}),
    "TextMessageEnd": ("TEXT_MESSAGE_END", {}),
    "ActionExecutionStart": ("TOOL_CALL_START", {"actionExecutionId": "toolCallId", "actionName": "toolCallName"}),
    "ActionExecutionArgs": ("TOOL_CALL_ARGS", {"actionExecutionId": "toolCallId", "args": "delta"}),
    "ActionExecutionEnd": ("TOOL_CALL_END", {"actionExecutionId": "toolCallId"}),
    "ActionExecutionResult": ("TOOL_CALL_RESULT", {"actionExecutionId": "toolCallId", "result": "content"}),
    "RunError": ("RUN_ERROR", {}),
}


class RuntimeLineMapper:
    """Maps lines of an agent of type `crewai`: events of CopilotKit's older runtime, translated to AG-UI events."""

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
