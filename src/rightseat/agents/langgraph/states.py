"""Nodes and state of a graph → step and state events. A node's StepEnd is emitted after the state that it
produced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rightseat.agents.langgraph.wire import Happening
from rightseat.types.events import Event, StateDelta, StateSnapshot, StepEnd, StepStart

# Messages have their own events; the other keys are the client's own input.
HIDDEN = frozenset(("messages", "copilotkit", "tools", "ag-ui", "__interrupt__"))
_UNTOLD = object()


class States:
    """Tracks steps and state. `output_keys` are the keys of the graph's output schema; None shows all keys.
    `stream_subgraphs` also shows the nodes of subgraphs."""

    def __init__(self, outputs: Collection[str] | None = None, *, nested: bool = False) -> None:
        self.outputs = None if outputs is None else frozenset(outputs)
        self.nested = nested
        self.told: Any = _UNTOLD
        self.held: dict[str, Any] = {}
        """The graph's last complete state."""
        self.steps: dict[str, str] = {}
        """Names of running nodes, by run id."""
        self.ending: list[str] = []
        self.begun = False

    def visible(self, state: Any) -> dict[str, Any]:
        if not isinstance(state, Mapping):
            return {}
        shown = self.outputs
        return {k: v for k, v in state.items() if k not in HIDDEN and (shown is None or k in shown)}

    def entered(self, event: Happening) -> Iterator[Event]:
        if event.name and (self.nested or not event.metadata.nested):
            yield from self.settle()
            self.steps[event.run_id] = event.name
            yield StepStart(event.name)
            if not self.begun:
                self.begun = True
                yield from self.tell(self.held)

    def left(self, event: Happening) -> None:
        if event.run_id in self.steps:
            self.ending.append(event.run_id)

    def values(self, state: Any) -> Iterator[Event]:
        """Take the top-level state between steps; it is emitted only after the first node has started."""
        self.held = self.visible(state)
        if self.begun:
            yield from self.tell(self.held)
        yield from self.settle()

    def emitted(self, state: Any) -> Iterator[Event]:
        """Emit a state that the graph sends explicitly; the next complete state replaces it."""
        yield from self.tell({**self.held, **self.visible(state)})

    def predicted(self, parts: Mapping[str, Any]) -> Iterator[Event]:
        """Emit state that is predicted from partial call arguments."""
        if self.told is _UNTOLD:
            yield from self.tell(self.held, even_empty=True)
        patch = []
        for key, value in parts.items():
            if key not in self.told or self.told[key] != value:
                self.told = {**self.told, key: value}
                path = key.replace("~", "~0").replace("/", "~1")
                patch.append({"op": "add", "path": f"/{path}", "value": value})
        if patch:
            yield StateDelta(patch)

    def tell(self, state: dict[str, Any], *, even_empty: bool = False) -> Iterator[Event]:
        if state != self.told and (state or even_empty or self.told is not _UNTOLD):
            self.told = state
            yield StateSnapshot(state)

    def settle(self) -> Iterator[Event]:
        for run in self.ending:
            yield StepEnd(self.steps.pop(run))
        self.ending.clear()

    def close(self) -> Iterator[Event]:
        if not self.begun and self.told is _UNTOLD:
            yield from self.tell(self.held)
        yield from self.settle()
        for run in list(self.steps):
            yield StepEnd(self.steps.pop(run))
