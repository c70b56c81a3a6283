"""Input and output of a step.

A step kind is an async generator `run(ctx)`. It may yield events (progress, text, artifacts) and ends with a
StepOutput, or with a Pause to ask a person; then it runs again with `state` and `answers`. Any exception is
its failure; it raises StepError with a message for users. It holds no state: runs are concurrent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.zone import current_time
from rightseat.types.events import Event
from rightseat.types.model import Model
from rightseat.types.tools import Pause, Tool
from rightseat.types.turn import Turn


class StepError(Exception):
    """A step failed. The message is `{data}` in on_error."""


class StepOutput(Struct, frozen=True):
    """Result of a step: plain JSON, because it is saved."""

    data: Any = None
    """A value or text: `{data}` and `{step name}` in prompts, and the input of the next step."""
    message: str = ""
    """One sentence for users: what was done."""
    jump: str | None = None
    """The step to continue with instead of `next`. A jumping step has no data: the next step's `previous`
    is the output before it."""
    spoken: bool = False
    """It was streamed to the user already, as the flow's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowServices:
    """What a plugin's flows may use. `operations` are tools by operation id ("GET /hosts"), `scripts` are
    lib/ tools by name, `flows` are keyed by "plugin/name" and, within the plugin, by name."""

    model: Model
    operations: Mapping[str, Tool]
    scripts: Mapping[str, Tool]
    flows: Mapping[str, Flow]
    databases: Mapping[str, Any]
    """Configured databases by name."""
    context: int | None = None
    """Context window of the model in tokens; prompts use at most 80 % of it."""
    now: Callable[[Turn], datetime] = current_time
    repeatable: Collection[str] = ()
    """Operations that may be sent twice: they only read, or carry an idempotency key."""
    get_plugin_services: Callable[[str], FlowServices] | None = None
    """Returns the services of another plugin by its id."""


async def discard_state(state: Any) -> None:
    """Save nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    flow: Flow
    step: Step
    services: FlowServices
    turn: Turn
    question: str
    outputs: Mapping[str, StepOutput]
    """Outputs of finished steps by name, in the order they ran."""
    previous: StepOutput | None = None
    """Output of the step before."""
    failure: str = ""
    """In an on_error step: the error message."""
    last: bool = False
    """No step follows: its text is the answer."""
    key: str = ""
    """Idempotency key: the same for every attempt of this step in this run."""
    state: Any = None
    """State from the step's Pause, or from `save_state`."""
    answers: tuple[Any, ...] = ()
    """Answers to all its questions so far, in order."""
    save_state: Callable[[Any], Awaitable[None]] = discard_state
    """Saves `state` in the middle of a step with nested steps, so that a crash loses no finished one."""


StepRunner = Callable[[StepContext], AsyncIterator[Event | StepOutput | Pause]]
