"""Predicted state: a peer's PredictState event names tool arguments that become state keys, and their partial
values are sent as state deltas while the arguments stream."""

from __future__ import annotations

from typing import Any

from rightseat.agents.langgraph.partial import parse_partial_json
from rightseat.types.events import Event, StateDelta, StateSnapshot


class StatePrediction:
    def __init__(self, state: Any) -> None:
        self.has_state = isinstance(state, dict)
        """Whether the client has a state that a delta can change."""
        self.rules: list[dict[str, Any]] = []
        self.calls: dict[str, tuple[str, list[str]]] = {}
        self.last_values: dict[str, Any] = {}

    def set_rules(self, value: Any) -> None:
        listed = value if isinstance(value, list) else []
        self.rules = [rule for rule in listed if isinstance(rule, dict) and isinstance(rule.get("tool"), str)]

    def start_call(self, id: str, tool: str) -> None:
        if any(rule["tool"] == tool for rule in self.rules):
            self.calls.setdefault(id, (tool, []))

    def append_arguments(self, id: str, json: str) -> list[Event]:
        if not json or id not in self.calls:
            return []
        tool, pieces = self.calls[id]
        pieces.append(json)
        arguments = parse_partial_json("".join(pieces))
        if not isinstance(arguments, dict):
            return []
        patch: list[dict[str, Any]] = []
        for rule in self.rules:
            key, argument = rule.get("state_key"), rule.get("tool_argument")
            value = arguments.get(argument) if argument else arguments
            if rule["tool"] == tool and isinstance(key, str) and value is not None:
                if self.last_values.get(key) == value:
                    continue
                self.last_values[key] = value
                path = "/" + key.replace("~", "~0").replace("/", "~1")
                patch.append({"op": "add", "path": path, "value": value})
        return [*self.ensure_state(), StateDelta(patch)] if patch else []

    def ensure_state(self) -> list[Event]:
        """Return an empty snapshot if the client has no state yet: a delta needs one."""
        if self.has_state:
            return []
        self.has_state = True
        return [StateSnapshot({})]
