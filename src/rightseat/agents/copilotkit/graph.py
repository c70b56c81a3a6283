"""Lines of an agent of type `langgraph`: LangChain events, state syncs and interrupts. They are mapped like
the events of a LangGraph server."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightseat.agents._peer.faults import Faults
from rightseat.agents.agui.request import callable_tools
from rightseat.agents.langgraph import wire
from rightseat.agents.langgraph.mapping import Mapping
from rightseat.agents.langgraph.questions import MESSAGES, VALUE
from rightseat.types.events import Event
from rightseat.types.turn import Turn

END = "__end__"


class Sync(Struct, frozen=True):
    """`on_copilotkit_state_sync`. Its run_id is LangChain's and changes with each line."""

    node_name: str | None = None
    state: Any = None


class Asking(Struct, frozen=True):
    """`on_interrupt` and `on_copilotkit_interrupt`."""

    value: Any = None
    data: Any = None


class Wrapped(Struct, frozen=True):
    kwargs: Raw


class Piece(Struct, frozen=True):
    chunk: Wrapped


_sync = msgspec.json.Decoder(Sync).decode
_asking = msgspec.json.Decoder(Asking).decode
_piece = msgspec.json.Decoder(Piece).decode


class GraphLines:
    def __init__(self, turn: Turn, thread: uuid.UUID, ids: list[str], faults: Faults) -> None:
        waiting = {call.id for message in turn.messages for call in message.calls}
        self.node: str | None = None
        """The node where the agent stopped; None if it finished or is interrupted."""
        self.results: dict[str, str] = {}
        """The endpoint's message ids of tool results, by call."""
        self.mapping = Mapping(
            faults,
            thread,
            clients={tool.name for tool in callable_tools(turn)},
            known=ids,
            waiting=waiting - {message.call_id for message in turn.messages},
        )

    def feed(self, line: bytes) -> Iterable[Event]:
        event = wire.happening(line)
        match event.event:
            case "on_chat_model_stream":
                data = Raw(b'{"chunk":' + bytes(_piece(event.data).chunk.kwargs) + b"}")
                return self.mapping.happen(msgspec.structs.replace(event, data=data))
            case "on_chat_model_end" | "on_tool_end":
                data = Raw(msgspec.json.encode(unwrapped(wire.anything(event.data))))
                return self.mapping.happen(msgspec.structs.replace(event, data=data))
            case "on_chain_stream" if event.parents == []:
                # The update of a node of the top-level graph.
                chunk = unwrapped(wire.anything(event.data))
                return self.mapping.updates(chunk.get("chunk") if isinstance(chunk, dict) else None)
            case "on_copilotkit_state_sync":
                return self.synced(_sync(line))
            case "on_interrupt" | "on_copilotkit_interrupt":
                self.ask(_asking(line))
                return ()
            case _:
                return self.mapping.happen(event)

    def synced(self, sync: Sync) -> Iterable[Event]:
        self.node = None if sync.node_name == END else sync.node_name
        told = sync.state.get("messages") if isinstance(sync.state, dict) else None
        for message in told if isinstance(told, list) else ():
            match message:
                case {"actionExecutionId": str(call), "id": str(id)}:
                    self.results[call] = id
        return self.mapping.values(sync.state)

    def ask(self, asking: Asking) -> None:
        """Add the interrupt in LangGraph's form. It has no id: only one can be open."""
        value = decoded(asking.value)
        if isinstance(asking.data, dict):
            calls = [called(item) for item in asking.data.get("messages") or () if "arguments" in item]
            value = {VALUE: decoded(asking.data.get("value")), MESSAGES: [{"tool_calls": calls}]}
        self.mapping.ask([{"id": "0", "value": value}])

    def end(self) -> Iterable[Event]:
        if self.mapping.interrupts:
            # The answer goes to the interrupted node, not to the one after it.
            self.node = None
        return self.mapping.end()


def called(item: dict[str, Any]) -> dict[str, Any]:
    return {"id": item.get("id"), "name": item.get("name"), "args": item.get("arguments")}


def unwrapped(value: Any) -> Any:
    """Replace LangChain's serialized objects by their constructor arguments, recursively."""
    match value:
        case {"lc": 1, "kwargs": dict(inner)}:
            return unwrapped(inner)
        case dict():
            return {key: unwrapped(item) for key, item in value.items()}
        case list():
            return [unwrapped(item) for item in value]
        case _:
            return value


def decoded(value: Any) -> Any:
    """Decode an interrupt's value: the endpoint sends objects and arrays as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return found if isinstance(found, dict | list) else value
