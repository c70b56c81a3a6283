"""Track an agent's state: GraphQL clients get the whole state as a message on each change."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.doors.copilotkit.patch import patched
from rightseat.doors.copilotkit.read import Asked
from rightseat.types.events import RunStarted, StateDelta, StateSnapshot, StepEnd, StepStart

encode = msgspec.json.Encoder().encode


class AgentStates:
    """The agent's state, current step and whether it runs, as the client sees them."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.state = asked.turn.state
        self.node = ""
        self.active = False
        self.running = True
        self.told = False
        self.run = asked.run or ""

    def see(self, event: StateSnapshot | StateDelta | StepStart | StepEnd | RunStarted) -> bool:
        """Apply an event; return whether a state message must be sent."""
        match event:
            case RunStarted(_, run):
                self.run = self.asked.run or run
                return False
            case StateSnapshot(state):
                self.state = state
                self.told = True
            case StateDelta(patch):
                self.state = patched(self.state, patch)
                self.told = True
            case StepStart(name):
                self.node, self.active = name, True
            case StepEnd():
                self.active = False
        self.told = self.told or self.asked.session
        return self.told

    def close(self) -> bool:
        self.running = self.active = False
        self.node = "__end__"
        return self.told

    def fields(self) -> dict[str, Any]:
        return {
            "threadId": self.asked.turn.thread,
            "agentName": self.asked.agent,
            "nodeName": self.node,
            "runId": self.run,
            "active": self.active,
            "role": "assistant",
            "state": encode(self.state if self.state is not None else {}).decode(),
            "running": self.running,
        }
