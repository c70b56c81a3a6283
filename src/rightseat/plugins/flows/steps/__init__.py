"""Step kinds by name; a kind's module is imported when a flow first uses it.

A StepKind is `run(ctx)` and optionally `check(step, flow, known)`, which yields problems of the params;
`jumps(step)`, the names of the steps it may continue with; `repeatable(step, services)`, whether it may
run again after a crash (default: built-in kinds yes, others no); and `get_tool(step, services)`, the tool that it
calls: a question of the step is void when that tool changes. Other packages add kinds by the entry point
group `rightseat.steps`, which names a module with these functions.

calls: `api`, `tool`. dialog: `llm`, `ask`, `none`, `reformat`. data: `extract`, `sql`, `render`.
nested: `flow`, `loop`, `parallel`. choice: `choice`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from rightseat.plugins.flows.step_context import (
    FlowReferences,
    FlowServices,
    StepContext,
    StepError,
    StepOutput,
    StepRunner,
    StepStream,
    make_step_problem,
)
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.tools import Tool

ENTRY_POINT_GROUP = "rightseat.steps"
OPTIONAL_FUNCTIONS = ("check", "jumps", "repeatable", "get_tool")
NONE, TOOL, LLM = "none", "tool", "llm"
KINDS = {
    "api": "calls",
    "ask": "dialog",
    "choice": "choice",
    "extract": "data",
    "flow": "nested",
    LLM: "dialog",
    "loop": "nested",
    NONE: "dialog",
    "parallel": "nested",
    "reformat": "dialog",
    "render": "data",
    "sql": "data",
    TOOL: "calls",
}
"""The module of each built-in kind; its STEP_KINDS has the kind."""


def never_repeatable(step: Step, services: FlowServices) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class StepKind:
    run: StepRunner
    check: Callable[[Step, Flow, FlowReferences], Iterator[Problem]] = lambda step, flow, known: iter(())
    jumps: Callable[[Step], Iterable[str]] = lambda step: ()
    repeatable: Callable[[Step, FlowServices], bool] = lambda step, services: True
    has_effect: Callable[[Step, FlowServices], bool] | None = None
    """Whether another run would do something twice; None: where the step is not repeatable."""
    get_tool: Callable[[Step, FlowServices], Tool | None] = lambda step, services: None


@cache
def entry_point_kinds() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def list_kinds() -> list[str]:
    return [*KINDS, *entry_point_kinds()]


@cache
def get_kind(name: str) -> StepKind:
    """Return the kind of that name; any other name is a tool of lib/."""
    if name in KINDS or name not in entry_point_kinds():
        kind = name if name in KINDS else TOOL
        module = importlib.import_module(f"{__name__}.{KINDS[kind]}")
        step_kind: StepKind = module.STEP_KINDS[kind]
        return step_kind
    try:
        theirs = entry_point_kinds()[name].load()
        run: StepRunner = theirs.run
    except (ImportError, AttributeError) as error:
        return make_broken_kind(f"The step kind {name!r} cannot be used here: {error}.")
    optional = {name: getattr(theirs, name) for name in OPTIONAL_FUNCTIONS if hasattr(theirs, name)}
    return StepKind(run, **{"repeatable": never_repeatable, **optional})


def make_broken_kind(why: str) -> StepKind:
    """Return a kind that cannot be imported: its check fails, so flows with it are not loaded."""

    async def run(ctx: StepContext) -> StepStream:
        raise StepError(why)
        yield StepOutput()

    def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
        yield make_step_problem(flow, step, "call_type", why, "Install what it needs.")

    return StepKind(run, check, repeatable=never_repeatable)
