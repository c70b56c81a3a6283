"""Nodes and state of a graph → step and state events. A node's StepEnd is emitted after the state that it
produced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rightseat.agents.langgraph.wire import LangChainEvent
from rightseat.types.events import Event, StateDelta, StateSnapshot, StepEnd, StepStart

# Messages have their own events; the other keys are the client's own input.
HIDDEN_KEYS = frozenset(("messages", "copilotkit", "tools", "ag-ui", "__interrupt__"))
_NEVER_EMITTED = object()


class GraphStateTracker:
    """Tracks steps and state. `output_keys` are the keys of the graph's output schema; None shows all keys.
    `stream_subgraphs` also shows the nodes of subgraphs."""

    def __init__(self, output_keys: Collection[str] | None = None, *, stream_subgraphs: bool = False) -> None:
        self.output_keys = None if output_keys is None else frozenset(output_keys)
        self.stream_subgraphs = stream_subgraphs
        self.last_emitted: Any = _NEVER_EMITTED
        self.current: dict[str, Any] = {}
        """The graph's last complete state."""
        self.running_steps: dict[str, str] = {}
        """Names of running nodes, by run id."""
        self.ending_steps: list[str] = []
        self.has_started = False

    def select_visible(self, state: Any) -> dict[str, Any]:
        if not isinstance(state, Mapping):
            return {}
        output_keys = self.output_keys
        return {
            k: v
            for k, v in state.items()
            if k not in HIDDEN_KEYS and (output_keys is None or k in output_keys)
        }

    def on_node_start(self, event: LangChainEvent) -> Iterator[Event]:
        if event.name and (self.stream_subgraphs or not event.metadata.is_nested):
            yield from self.end_steps()
            self.running_steps[event.run_id] = event.name
            yield StepStart(event.name)
            if not self.has_started:
                self.has_started = True
                yield from self.emit_snapshot(self.current)

    def on_node_end(self, event: LangChainEvent) -> None:
        if event.run_id in self.running_steps:
            self.ending_steps.append(event.run_id)

    def on_values(self, state: Any) -> Iterator[Event]:
        """Take the top-level state between steps; it is emitted only after the first node has started."""
        self.current = self.select_visible(state)
        if self.has_started:
            yield from self.emit_snapshot(self.current)
        yield from self.end_steps()

    def on_emitted_state(self, state: Any) -> Iterator[Event]:
        """Emit a state that the graph sends explicitly; the next complete state replaces it."""
        yield from self.emit_snapshot({**self.current, **self.select_visible(state)})

    def emit_prediction(self, parts: Mapping[str, Any]) -> Iterator[Event]:
        """Emit state that is predicted from partial call arguments."""
        if self.last_emitted is _NEVER_EMITTED:
            yield from self.emit_snapshot(self.current, even_empty=True)
        patch = []
        for key, value in parts.items():
            if key not in self.last_emitted or self.last_emitted[key] != value:
                self.last_emitted = {**self.last_emitted, key: value}
                path = key.replace("~", "~0").replace("/", "~1")
                patch.append({"op": "add", "path": f"/{path}", "value": value})
        if patch:
            yield StateDelta(patch)

    def emit_snapshot(self, state: dict[str, Any], *, even_empty: bool = False) -> Iterator[Event]:
        if state != self.last_emitted and (state or even_empty or self.last_emitted is not _NEVER_EMITTED):
            self.last_emitted = state
            yield StateSnapshot(state)

    def end_steps(self) -> Iterator[Event]:
        for run in self.ending_steps:
            yield StepEnd(self.running_steps.pop(run))
        self.ending_steps.clear()

    def close(self) -> Iterator[Event]:
        if not self.has_started and self.last_emitted is _NEVER_EMITTED:
            yield from self.emit_snapshot(self.current)
        yield from self.end_steps()
        for run in list(self.running_steps):
            yield StepEnd(self.running_steps.pop(run))
