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

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, problem
from rightseat.plugins.flows.stage import Kit, Output, Run, Stage, StepFailed
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.tools import Pause

GROUP = "rightseat.steps"
NONE, TOOL, LLM = "none", "tool", "llm"
KINDS = (
    "api",
    "ask",
    "choice",
    "extract",
    "flow",
    LLM,
    "loop",
    NONE,
    "parallel",
    "render",
    "sql",
    TOOL,
)


def fine(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    yield from ()


def nowhere(step: Step) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    run: Run
    check: Callable[[Step, Flow, Known], Iterator[Problem]] = fine
    jumps: Callable[[Step], Iterable[str]] = nowhere
    repeatable: Callable[[Step, Kit], bool] = lambda step, kit: False


@cache
def others() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def known(name: str) -> bool:
    return name in KINDS or name in others()


def names() -> list[str]:
    return [*KINDS, *others()]


@cache
def kind(name: str) -> Kind:
    """Return the kind of that name; any other name is a tool of lib/."""
    ours = name in KINDS or name not in others()
    try:
        module: Any = (
            importlib.import_module(f"{__name__}.{name if name in KINDS else TOOL}")
            if ours
            else others()[name].load()
        )
        run: Run = module.run
    except (ImportError, AttributeError) as error:
        return broken(name, f"The step kind {name!r} cannot be used here: {error}.")
    return Kind(
        run,
        getattr(module, "check", fine),
        getattr(module, "jumps", nowhere),
        getattr(module, "repeatable", lambda step, kit: ours),
    )


def broken(name: str, why: str) -> Kind:
    """Return a kind that cannot be imported: its check fails, so flows with it are not loaded."""

    async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
        raise StepFailed(why)
        yield Output()

    def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
        yield problem(flow, step, "call_type", why, "Install what it needs.")

    return Kind(run, check)
