"""Track an agent's state: GraphQL clients get the whole state as a message on each change."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.doors.copilotkit.patch import apply_patch
from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.types.events import RunStarted, StateDelta, StateSnapshot, StepEnd, StepStart

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
