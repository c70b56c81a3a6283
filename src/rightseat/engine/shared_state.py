"""Shared state: the model sees the state of the page and changes it, by a tool of its own or by arguments of others.

Changes are shown while the model writes them. Those of a call that proves invalid or is cut are taken back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.errors import ConfigError
from rightseat.types.events import Event, StateDelta, StateSnapshot
from rightseat.types.json_values import encode_json
from rightseat.types.messages import ToolCall
from rightseat.types.partial_json import make_add_operation, parse_partial_json
from rightseat.types.schema import get_validator
from rightseat.types.text import decode_or_none
from rightseat.types.tools import Result, Tool, ToolContext
from rightseat.types.turn import AppContext, Turn

SET_STATE = "set_state"
SET_STATE_DESCRIPTION = (
    "Change the state of the page that the user sees. Give only the keys that change; each value replaces the old one."
)
STATE_DESCRIPTION = f"State of the page that the user sees, as JSON; change it with {SET_STATE}"
# Long arguments are parsed again only when they have grown by this part.
GROWTH = 32


@dataclass(frozen=True)
class SharedState:
    """What an assistant does with the state of a page."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of the state; if empty, the model neither sees nor changes the state."""
    predictions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Keys of the state by tool and argument: an argument is shown there while the model writes it."""

    def make_tools(self) -> tuple[Tool, ...]:
        """Return the tool that changes the state, if the model may."""
        if not self.schema:
            return ()
        parameters = {key: value for key, value in self.schema.items() if key != "required"} | {"type": "object"}
        return (
            Tool(
                SET_STATE,
                SET_STATE_DESCRIPTION,
                parameters,
                call=confirm_change,
                # Only the page changes, which the user sees.
                effect="reads",
                is_offered=has_page_state,
            ),
        )

    def add_context(self, turn: Turn) -> Turn:
        """Return the turn with the state among the context that the model sees."""
        if not self.schema or not has_page_state(turn):
            return turn
        item = AppContext(STATE_DESCRIPTION, encode_json(turn.state).decode())
        return replace(turn, context=(*turn.context, item))

    def make_writer(self, turn: Turn) -> StateWriter | None:
        """Make the writer of a turn; None where the client shares no state."""
        return StateWriter(self, turn.state) if has_page_state(turn) else None

    def find_key(self, tool: str, argument: str) -> str | None:
        """Return the key of the state that an argument fills."""
        if tool != SET_STATE or not self.schema:
            return self.predictions.get(tool, {}).get(argument)
        properties = self.schema.get("properties")
        return argument if not properties or argument in properties else None

    def changes_state(self, tool: str) -> bool:
        return tool in self.predictions or (tool == SET_STATE and bool(self.schema))


def has_page_state(turn: Turn) -> bool:
    """Whether the client shares a state; one inside a run of another agent does not."""
    return turn.state is not None and not turn.depth


async def confirm_change(arguments: dict[str, Any], context: ToolContext) -> AsyncIterator[Result]:
    """Answer a call of `set_state`, whose change is shown already."""
    yield Result("The page shows the new state.")


class StateWriter:
    """Changes the state of one turn by the calls of the model."""

    def __init__(self, shared: SharedState, state: Any) -> None:
        self.shared = shared
        self.has_state = isinstance(state, dict)
        """Whether the client has a state that a delta can change."""
        self.state: dict[str, Any] = state if isinstance(state, dict) else {}
        self.shown = self.state
        """The state with the arguments of calls that are not complete."""
        self.sizes: dict[str, int] = {}
        self.parsed_sizes: dict[str, int] = {}

    def preview(self, call: ToolCall, pieces: Sequence[str]) -> list[Event]:
        """Show the arguments of a call whose last piece has come just now."""
        if not self.shared.changes_state(call.name):
            return []
        size = self.sizes[call.id] = self.sizes.get(call.id, 0) + len(pieces[-1])
        if size < self.parsed_sizes.get(call.id, 0) * (GROWTH + 1) // GROWTH:
            return []
        self.parsed_sizes[call.id] = size
        arguments = parse_partial_json("".join(pieces))
        return self.show(call.name, arguments) if isinstance(arguments, dict) else []

    def show(self, tool: str, arguments: Mapping[str, Any]) -> list[Event]:
        changes = self.collect_changes(tool, arguments)
        patch = [make_add_operation(*item) for item in changes.items() if item not in self.shown.items()]
        if not patch:
            return []
        self.shown = self.shown | changes
        # A delta needs a state that it changes.
        first, self.has_state = ([] if self.has_state else [StateSnapshot({})]), True
        return [*first, StateDelta(patch)]

    def collect_changes(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        keys = ((self.shared.find_key(tool, argument), value) for argument, value in arguments.items())
        return {key: value for key, value in keys if key is not None}

    def settle(self, calls: Iterable[ToolCall], refused: Container[str] = ()) -> list[Event]:
        """Take over the changes of complete calls, except the `refused` ones; take back what else was shown."""
        events: list[Event] = []
        for call in calls:
            arguments = decode_or_none(call.arguments)
            if call.id not in refused and isinstance(arguments, dict):
                events += self.show(call.name, arguments)
                self.state = self.state | self.collect_changes(call.name, arguments)
        if self.shown != self.state:
            self.shown = self.state
            events.append(StateSnapshot(self.state))
        return events


def make_shared_state(schema: Mapping[str, Any], predictions: Mapping[str, str]) -> SharedState | None:
    """Make the shared state of an assistant from its settings; None without any. Raises ConfigError."""
    if not schema and not predictions:
        return None
    if schema.get("type", "object") != "object":
        raise ConfigError('state_schema: the state of a page is an object: write type = "object".')
    try:
        get_validator(msgspec.to_builtins(schema))
    except ValueError as error:
        raise ConfigError(f"state_schema is no JSON Schema: {error}") from error
    by_tool: dict[str, dict[str, str]] = {}
    for key, target in predictions.items():
        tool, _, argument = target.rpartition(".")
        if not tool or not argument:
            raise ConfigError(f'predict_state: {key}: write it as {key} = "TOOL.ARGUMENT".')
        by_tool.setdefault(tool, {})[argument] = key
    return SharedState(schema, by_tool)
