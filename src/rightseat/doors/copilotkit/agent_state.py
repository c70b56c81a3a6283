"""Track an agent's state: GraphQL clients take whole states only, so JSON Patch (RFC 6902) is applied here, and each
change is sent as a message."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.types.events import RunStarted, StateDelta, StateSnapshot, StepEnd, StepStart


def apply_patch(state: Any, operations: list[dict[str, Any]]) -> Any:
    """Return a patched copy of the state. None is an empty state; an operation that fails is skipped."""
    root = {"": {} if state is None else copy.deepcopy(state)}
    for step in operations:
        try:
            apply_operation(root, step)
        except (KeyError, IndexError, TypeError, ValueError):
            continue
    return root[""]


def apply_operation(root: dict[str, Any], operation: dict[str, Any]) -> None:
    path = parse_pointer(operation["path"])
    match operation["op"]:
        case "add":
            set_value(root, path, operation["value"], insert=True)
        case "replace":
            set_value(root, path, operation["value"], insert=False)
        case "remove":
            remove_value(root, path)
        case "move":
            set_value(root, path, remove_value(root, parse_pointer(operation["from"])), insert=True)
        case "copy":
            set_value(root, path, copy.deepcopy(resolve_pointer(root, parse_pointer(operation["from"]))), insert=True)
        case _:
            pass


def parse_pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def resolve_pointer(root: Any, path: list[str]) -> Any:
    for key in path:
        root = root[int(key)] if isinstance(root, list) else root[key]
    return root


def set_value(root: Any, path: list[str], value: Any, *, insert: bool) -> None:
    holder, key = resolve_pointer(root, path[:-1]), path[-1]
    if not isinstance(holder, list):
        holder[key] = value
    elif insert:
        holder.insert(len(holder) if key == "-" else int(key), value)
    else:
        holder[int(key)] = value


def remove_value(root: Any, path: list[str]) -> Any:
    holder, key = resolve_pointer(root, path[:-1]), path[-1]
    return holder.pop(int(key)) if isinstance(holder, list) else holder.pop(key)


encode = msgspec.json.Encoder().encode


class AgentStateTracker:
    """The agent's state, current step and whether it runs, as the client sees them."""

    def __init__(self, request: CopilotKitRequest) -> None:
        self.request = request
        self.state = request.turn.state
        self.node = ""
        self.active = False
        self.running = True
        self.is_shown = False
        self.has_exited = False
        """Whether the agent has said that it has ended."""
        self.run = request.run or ""

    def apply_event(self, event: StateSnapshot | StateDelta | StepStart | StepEnd | RunStarted) -> bool:
        """Apply an event; return whether a state message must be sent."""
        match event:
            case RunStarted(_, run):
                self.run = self.request.run or run
                return False
            case StateSnapshot(state):
                self.state = state
                self.is_shown = True
            case StateDelta(patch):
                self.state = apply_patch(self.state, patch)
                self.is_shown = True
            case StepStart(name):
                self.node, self.active = name, True
            case StepEnd():
                self.active = False
        self.is_shown = self.is_shown or self.request.has_agent_session
        return self.is_shown

    def finish(self) -> bool:
        self.running = self.active = False
        self.node = "__end__"
        return self.is_shown

    def make_message_fields(self) -> dict[str, Any]:
        return {
            "threadId": self.request.turn.thread,
            "agentName": self.request.agent,
            "nodeName": self.node,
            "runId": self.run,
            "active": self.active,
            "role": "assistant",
            "state": encode(self.state if self.state is not None else {}).decode(),
            "running": self.running,
        }
