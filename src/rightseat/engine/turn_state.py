"""TurnState: what the engine knows of a turn while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rightseat.engine.repeats import EffectRule
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.types.events import Event, Usage
from rightseat.types.messages import Message
from rightseat.types.model import BoundModel
from rightseat.types.stores import IdGenerator
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

if TYPE_CHECKING:
    from rightseat.engine.shared_state import StateWriter


@dataclass(slots=True)
class TurnState:
    """State of a running turn: posted `history`, new `turn_messages`, current `batch` of calls."""

    turn: Turn
    bound_model: BoundModel
    ids: IdGenerator
    tools: dict[str, Tool]
    history: tuple[Message, ...]
    turn_messages: list[Message] = field(default_factory=list)
    later_messages: tuple[Message, ...] = ()
    batch: ToolCallBatch | None = None
    rounds: int = 0
    rounds_before: int = 0
    """Rounds before this request, in a resumed turn."""
    usage: Usage | None = None
    context: int | None = None
    """Context window of the model, in tokens."""
    cut: dict[str, Any] | None = None
    """Value of the event that tells of dropped messages."""
    cut_told: bool = False
    beginning: bytes = b""
    """Hash of the beginning of the conversation."""
    refusals: int = 0
    """Prompts of this turn that the model refused as too long."""
    answer_limit: int | None = None
    """Most tokens of an answer, learned from a refusal."""
    finished: bool = False
    truncated: bool = False
    """Whether the token limit cut the last answer, which ends the run."""
    repaired: bool = False
    effect_rule: EffectRule = "run"
    state_writer: StateWriter | None = None
    first_events: list[Event] = field(default_factory=list)
    """Events of a run that was taken over which come before all others."""
