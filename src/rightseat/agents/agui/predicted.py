"""Predicted state: a peer's PredictState event names tool arguments that become state keys, and their partial
values are sent as state deltas while the arguments stream."""

from __future__ import annotations

from typing import Any

from rightseat.agents.langgraph.partial import partial
from rightseat.types.events import Event, StateDelta, StateSnapshot


class Predicted:
    def __init__(self, state: Any) -> None:
        self.known = isinstance(state, dict)
        """Whether the client has a state that a delta can change."""
        self.rules: list[dict[str, Any]] = []
        self.calls: dict[str, tuple[str, list[str]]] = {}
        self.last: dict[str, Any] = {}

    def expect(self, value: Any) -> None:
        listed = value if isinstance(value, list) else []
        self.rules = [rule for rule in listed if isinstance(rule, dict) and isinstance(rule.get("tool"), str)]

    def begin(self, id: str, tool: str) -> None:
        if any(rule["tool"] == tool for rule in self.rules):
            self.calls.setdefault(id, (tool, []))

    def see(self, id: str, json: str) -> list[Event]:
        if not json or id not in self.calls:
            return []
        tool, pieces = self.calls[id]
        pieces.append(json)
        arguments = partial("".join(pieces))
        if not isinstance(arguments, dict):
            return []
        patch: list[dict[str, Any]] = []
        for rule in self.rules:
            key, argument = rule.get("state_key"), rule.get("tool_argument")
            value = arguments.get(argument) if argument else arguments
            if rule["tool"] == tool and isinstance(key, str) and value is not None:
                if self.last.get(key) == value:
                    continue
                self.last[key] = value
                path = "/" + key.replace("~", "~0").replace("/", "~1")
                patch.append({"op": "add", "path": path, "value": value})
        return [*self.ground(), StateDelta(patch)] if patch else []

    def ground(self) -> list[Event]:
        """Return an empty snapshot if the client has no state yet: a delta needs one."""
        if self.known:
            return []
        self.known = True
        return [StateSnapshot({})]
