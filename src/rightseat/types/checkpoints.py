"""TurnCheckpoint: a turn as it was when its last calls began, for another worker that goes on with its run.

Only workers that share a store keep checkpoints. `CURRENT_CHECKPOINTS` has those of the current task's run.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Literal, Protocol

from msgspec import Struct

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Interrupt,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.stores import CallState, Continuation
from rightseat.types.turn import InterruptAnswer, Turn


class TurnCheckpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """State of a turn, saved before the calls of one answer begin. Results of calls that end later are in the store."""

    continuation: Continuation
    """Messages, states of calls, rounds and ids, as for a turn that waits. No question need be open."""
    begun: tuple[str, ...] = ()
    """Calls that were about to run: each may have begun."""
    early_results: dict[str, CallState] = {}
    """Results of calls that do not run: invalid arguments, a denial."""
    answers: tuple[InterruptAnswer, ...] = ()
    """Answers that the turn gave, also those that were read from its last message."""
    effect_rule: Literal["run", "ask", "refuse"] = "run"
    rounds_before: int = 0
    has_later_messages: bool = False
    """Whether messages after the answered question are still to be added."""
    truncated: bool = False
    repaired: bool = False
    usage: Usage | None = None


class LoggedMessages:
    """Messages, calls and questions that the log of a run has."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.ended_texts: set[str] = set()
        self.arguments: dict[str, list[str]] = {}
        self.ended_calls: set[str] = set()
        self.results: dict[str, CallResult] = {}
        self.interrupts: dict[str, Interrupt] = {}
        self.starts: list[str] = []
        """Ids of texts and calls since the last result of a call."""

    def add(self, entry: object) -> None:
        match entry:
            case TextDelta(id, text):
                self.texts.setdefault(id, []).append(text)
            case TextStart(id) | ReasoningStart(id):
                self.texts.setdefault(id, [])
                self.starts.append(id)
            case TextEnd(id):
                self.ended_texts.add(id)
            case CallStart(id):
                self.arguments[id] = []
                self.starts.append(id)
            case CallArgs(id, json):
                self.arguments.setdefault(id, []).append(json)
            case CallEnd(id):
                self.ended_calls.add(id)
            case CallResult(id):
                self.results[id] = entry
                self.starts.clear()
            case Interrupt(id):
                self.interrupts[id] = entry


class RunCheckpoints(Protocol):
    """Checkpoints of one run."""

    thread: str
    run: str
    saved: TurnCheckpoint | None
    """What the worker before this one has saved."""
    logged: LoggedMessages | None
    """What the log has of a run that was taken over; None for one that began here."""

    async def save(self, checkpoint: TurnCheckpoint) -> None:
        """Save a checkpoint in place of the last one. Raise Restarting if another worker has taken the run over
        meanwhile: no call may begin here any more."""
        ...


CURRENT_CHECKPOINTS: ContextVar[RunCheckpoints | None] = ContextVar("checkpoints", default=None)


def get_checkpoints(turn: Turn) -> RunCheckpoints | None:
    """Return the checkpoints of the turn's run; None where no other worker could go on with it."""
    checkpoints = CURRENT_CHECKPOINTS.get()
    if checkpoints is None or turn.depth or (checkpoints.thread, checkpoints.run) != (turn.thread, turn.run):
        return None
    return checkpoints
