"""Step kinds by name: one module each, imported when a flow first uses it.

A module defines `run(ctx)` and optionally `check(step, flow, known)`, which yields problems of the params;
`jumps(step)`, the names of the steps it may continue with; and `repeatable(step, services)`, whether it may
run again after a crash (default: built-in kinds yes, others no). Other packages add kinds by the entry point
group `rightseat.steps`.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from rightseat.plugins.flows.context import (
    FlowReferences,
    FlowServices,
    StepContext,
    StepError,
    StepOutput,
    StepRunner,
    make_step_problem,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.tools import Pause

ENTRY_POINT_GROUP = "rightseat.steps"
NONE, TOOL, LLM = "none", "tool", "llm"
KINDS = ("api", "ask", "choice", "extract", "flow", LLM, "loop", NONE, "parallel", "render", "sql", TOOL)


def no_problems(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    yield from ()


def no_jumps(step: Step) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class StepKind:
    run: StepRunner
    check: Callable[[Step, Flow, FlowReferences], Iterator[Problem]] = no_problems
    jumps: Callable[[Step], Iterable[str]] = no_jumps
    repeatable: Callable[[Step, FlowServices], bool] = lambda step, kit: False


@cache
def entry_point_kinds() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def is_known_kind(name: str) -> bool:
    return name in KINDS or name in entry_point_kinds()


def list_kinds() -> list[str]:
    return [*KINDS, *entry_point_kinds()]


@cache
def get_kind(name: str) -> StepKind:
    """Return the kind of that name; any other name is a tool of lib/."""
    is_builtin = name in KINDS or name not in entry_point_kinds()
    try:
        module: Any = (
            importlib.import_module(f"{__name__}.{name if name in KINDS else TOOL}")
            if is_builtin
            else entry_point_kinds()[name].load()
        )
        run: StepRunner = module.run
    except (ImportError, AttributeError) as error:
        return make_broken_kind(name, f"The step kind {name!r} cannot be used here: {error}.")
    return StepKind(
        run,
        getattr(module, "check", no_problems),
        getattr(module, "jumps", no_jumps),
        getattr(module, "repeatable", lambda step, kit: is_builtin),
    )


def make_broken_kind(name: str, why: str) -> StepKind:
    """Return a kind that cannot be imported: its check fails, so flows with it are not loaded."""

    async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
        raise StepError(why)
        yield StepOutput()

    def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
        yield make_step_problem(flow, step, "call_type", why, "Install what it needs.")

    return StepKind(run, check)
