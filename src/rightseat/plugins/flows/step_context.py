"""What a step receives and returns: StepContext, FlowServices, StepOutput; and the problems that its check reports."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from rightseat.plugins.plugin import Flow, Gravity, Problem, Step
from rightseat.types.events import Event
from rightseat.types.model import Model
from rightseat.types.text import closest_match
from rightseat.types.tools import Pause, Tool
from rightseat.types.turn import Turn

_ZONE = re.compile(r"time[ _-]?zone|时区", re.IGNORECASE)
MAX_ZONE_LENGTH = 64
_VARIABLE = re.compile(r"\{[^{}]*\}")


def current_time(turn: Turn) -> datetime:
    """Return the time in the zone that the application's properties, config or context name, else in the server's."""
    context = ((entry.description, entry.value) for entry in turn.context)
    for key, value in chain(turn.client.forwarded.properties.items(), turn.client.forwarded.config.items(), context):
        if isinstance(value, str) and 0 < len(value) <= MAX_ZONE_LENGTH and _ZONE.search(key):
            try:
                return datetime.now(ZoneInfo(value.strip().strip('"')))
            except (ValueError, OSError, LookupError):
                # Not a zone known to this machine.
                continue
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReferences:
    """Names that a step may reference."""

    endpoints: Collection[str] = ()
    scripts: Collection[str] = ()
    flows: Collection[str] = ()
    """Names within the plugin. "plugin/name" of another plugin is not checked."""


def make_step_problem(flow: Flow, step: Step, key: str, what: str, fix: str, gravity: Gravity = "error") -> Problem:
    """Return a problem of a step. `key` is the path within the step, such as `params.endpoint`."""
    place = f"steps.{step.name}.{key}" if key else f"steps.{step.name}"
    return Problem(flow.file, place, what, fix, step.line, gravity)


def check_param_names(
    flow: Flow, step: Step, kind: str, names: Sequence[str], gravity: Gravity = "warning"
) -> Iterator[Problem]:
    """Report params that the step's kind does not have. `kind` begins the sentence: "An api step"."""
    passed = "" if gravity == "error" else "; it is passed over"
    for name in step.params:
        if name not in names:
            what = f"{kind} has no {name!r}{passed}."
            yield make_step_problem(flow, step, f"params.{name}", what, f"It has {', '.join(names)}.", gravity)


def check_keys(value: Mapping[str, Any], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (key, fix) for each unknown key."""
    for key in value:
        if key not in known:
            near = closest_match(str(key), known)
            yield str(key), f"Did you mean {near!r}?" if near else "Delete it."


def format_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the other methods of the same path, the nearest known name, or a list."""
    listed = sorted(known)
    path = normalize_path(name)
    same_path = [repr(other) for other in listed if path and normalize_path(other) == path]
    if same_path:
        return f"Did you mean {' or '.join(same_path)}? The path is the same."
    near = closest_match(name, listed)
    if near:
        return f"Did you mean {near!r}?"
    return f"There are: {', '.join(listed[:10])}." if listed else "There are none."


def normalize_path(name: str) -> str:
    """Return the path of an operation's name ("GET /hosts/{id}") without the names of its variables; empty for other
    names."""
    method, slash, path = name.partition("/")
    is_operation = slash and (not method or (method.endswith(" ") and method.strip().isalpha()))
    return slash + _VARIABLE.sub("{}", path.rstrip("/")) if is_operation else ""


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
    store: object = None
    """Store that says whether this process may begin an effect."""


async def discard_state(state: Any) -> None:
    """Save nothing."""


async def record_nothing() -> None:
    """Record no effect."""


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
    record_effect: Callable[[], Awaitable[None]] = record_nothing
    """Records that a step has had an effect, for the request that the flow answers."""


StepStream = AsyncIterator[Event | StepOutput | Pause]
StepRunner = Callable[[StepContext], StepStream]
