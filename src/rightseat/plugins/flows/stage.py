"""What a step has before it, and what it gives.

A step is an async generator `run(stage)`: it may yield events (progress, words, artifacts), and ends with one
Output, or with a Pause when it must hear from a person: then it is run again with `state` and `answers`.
Whatever it raises is its error; StepFailed where it knows what went wrong. It keeps nothing to itself: two
people may be in the same flow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.zone import now
from rightseat.types.events import Event
from rightseat.types.model import Model
from rightseat.types.tools import Pause, Tool
from rightseat.types.turn import Turn


class StepFailed(Exception):
    """A step cannot do what it is for. The text is what `{data}` stands for in on_error."""


class Output(Struct, frozen=True):
    """What a step gave. It is journalled, so it is plain JSON."""

    data: Any = None
    """A value or text: what `{data}` and `{step name}` stand for in a prompt, and the next step reads."""
    message: str = ""
    """One sentence for people: what was done."""
    jump: str | None = None
    """The step to go on with instead of `next`. What jumps gives no data of its own: the next step's
    `previous` is what was before it."""
    spoken: bool = False
    """It was said to the person already, as the flow's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What the flows of one assistant may use. `operations` are tools by the document's id ("GET /hosts"),
    `scripts` lib/ tools by their names, `flows` by "plugin/name" and, within the plugin, by name."""

    model: Model
    operations: Mapping[str, Tool]
    scripts: Mapping[str, Tool]
    flows: Mapping[str, Flow]
    databases: Mapping[str, Any]
    """By name, as the operator configured them."""
    context: int | None = None
    """Tokens that fit the model; prompts are kept within 80 % of it."""
    now: Callable[[Turn], datetime] = now
    repeatable: Collection[str] = ()
    """Operations that may be sent twice: they only read, or their peer knows a repeated request by a key."""
    others: Callable[[str], Kit] | None = None
    """What the flows of another plugin may use, by its id."""


async def unkept(state: Any) -> None:
    """Nothing is journalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    flow: Flow
    step: Step
    kit: Kit
    turn: Turn
    question: str
    outputs: Mapping[str, Output]
    """Of the finished steps by name, in the order they ran."""
    previous: Output | None = None
    """Of the step before."""
    failure: str = ""
    """In a step of on_error: what went wrong, the real words."""
    last: bool = False
    """Nothing comes after it: what it says is the answer."""
    key: str = ""
    """The same for every try of this step in this run: what a peer may know a repeated request by."""
    state: Any = None
    """What the step left in its Pause, or by `keep`."""
    answers: tuple[Any, ...] = ()
    """To all its questions so far, in their order."""
    keep: Callable[[Any], Awaitable[None]] = unkept
    """Journals a `state` in the middle of a step that has steps of its own: a crash then costs no more."""


Run = Callable[[Stage], AsyncIterator[Event | Output | Pause]]
