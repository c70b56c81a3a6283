"""Names that a flow may reference, and problems that a step kind's `check` reports."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import closest_match


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReferences:
    """Names that a step may reference. None means unknown, so it is not checked."""

    endpoints: Collection[str] = ()
    scripts: Collection[str] = ()
    flows: Collection[str] = ()
    """Names within the plugin. "plugin/name" of another plugin is not checked."""
    databases: Collection[str] | None = None


def make_step_problem(
    flow: Flow, step: Step, key: str, what: str, fix: str, gravity: Gravity = "error"
) -> Problem:
    """Return a problem of a step. `key` is the path within the step, such as `params.endpoint`."""
    place = f"steps.{step.name}.{key}" if key else f"steps.{step.name}"
    return Problem(flow.file, place, what, fix, step.line, gravity)


def format_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest known name, or a list."""
    listed = sorted(known)
    near = closest_match(name, listed)
    if near:
        return f"Did you mean {near!r}?"
    return f"There are: {', '.join(listed[:10])}." if listed else "There are none."
