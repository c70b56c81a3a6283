"""Lines of an agent of type `langgraph`: LangChain events, state syncs and interrupts. They are mapped like
the events of a LangGraph server."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightseat.agents._peer.faults import PeerErrors
from rightseat.agents.agui.request import select_client_tools
from rightseat.agents.langgraph import wire
from rightseat.agents.langgraph.mapping import LangGraphEventMapper
from rightseat.agents.langgraph.questions import COPILOTKIT_MESSAGES, COPILOTKIT_VALUE
from rightseat.types.events import Event
from rightseat.types.turn import Turn

END_NODE = "__end__"


class StateSyncLine(Struct, frozen=True):
    """`on_copilotkit_state_sync`. Its run_id is LangChain's and changes with each line."""

    node_name: str | None = None
    state: Any = None


class InterruptLine(Struct, frozen=True):
    """`on_interrupt` and `on_copilotkit_interrupt`."""

    value: Any = None
    data: Any = None


class SerializedObject(Struct, frozen=True):
    kwargs: Raw


class SerializedChunk(Struct, frozen=True):
    chunk: SerializedObject


_decode_state_sync = msgspec.json.Decoder(StateSyncLine).decode
_decode_interrupt = msgspec.json.Decoder(InterruptLine).decode
_decode_chunk = msgspec.json.Decoder(SerializedChunk).decode


class LangGraphLineMapper:
    def __init__(self, turn: Turn, thread: uuid.UUID, ids: list[str], errors: PeerErrors) -> None:
        called_ids = {call.id for message in turn.messages for call in message.calls}
        self.node: str | None = None
        """The node where the agent stopped; None if it finished or is interrupted."""
        self.result_message_ids: dict[str, str] = {}
        """The endpoint's message ids of tool results, by call."""
        self.mapper = LangGraphEventMapper(
            errors,
            thread,
            client_tools={tool.name for tool in select_client_tools(turn)},
            known_ids=ids,
            open_calls=called_ids - {message.call_id for message in turn.messages},
        )

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
                return self.on_state_sync(_decode_state_sync(line))
            case "on_interrupt" | "on_copilotkit_interrupt":
                self.on_interrupt(_decode_interrupt(line))
                return ()
            case _:
                return self.mapper.on_event(event)

    def on_state_sync(self, sync: StateSyncLine) -> Iterable[Event]:
        self.node = None if sync.node_name == END_NODE else sync.node_name
        messages = sync.state.get("messages") if isinstance(sync.state, dict) else None
        for message in messages if isinstance(messages, list) else ():
            match message:
                case {"actionExecutionId": str(call), "id": str(id)}:
                    self.result_message_ids[call] = id
        return self.mapper.on_values(sync.state)

    def on_interrupt(self, line: InterruptLine) -> None:
        """Add the interrupt in LangGraph's form. It has no id: only one can be open."""
        value = decode_json_container(line.value)
        if isinstance(line.data, dict):
            calls = [to_tool_call(item) for item in line.data.get("messages") or () if "arguments" in item]
            value = {
                COPILOTKIT_VALUE: decode_json_container(line.data.get("value")),
                COPILOTKIT_MESSAGES: [{"tool_calls": calls}],
            }
        self.mapper.add_interrupts([{"id": "0", "value": value}])

    def finish(self) -> Iterable[Event]:
        if self.mapper.interrupts:
            # The answer goes to the interrupted node, not to the one after it.
            self.node = None
        return self.mapper.finish()


def to_tool_call(item: dict[str, Any]) -> dict[str, Any]:
    return {"id": item.get("id"), "name": item.get("name"), "args": item.get("arguments")}


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
    if not isinstance(value, str):
        return value
    try:
        content = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return content if isinstance(content, dict | list) else value
