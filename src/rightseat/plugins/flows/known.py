"""What a flow may name: given to each step kind's check."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """None is what nobody can say yet: it is not checked."""

    endpoints: Collection[str] = ()
    scripts: Collection[str] = ()
    flows: Collection[str] = ()
    """By name within the plugin. Another plugin's is "plugin/name", and is not checked here."""
    databases: Collection[str] | None = None


def problem(flow: Flow, step: Step, key: str, what: str, fix: str, gravity: Gravity = "error") -> Problem:
    """One that is with a step: `key` is within it, such as `params.endpoint`."""
    place = f"steps.{step.name}.{key}" if key else f"steps.{step.name}"
    return Problem(flow.file, place, what, fix, step.line, gravity)


def hint(name: str, known: Iterable[str]) -> str:
    """What to write instead of a name that is not known."""
    listed = sorted(known)
    near = nearest(name, listed)
    if near:
        return f"Did you mean {near!r}?"
    return f"There are: {', '.join(listed[:10])}." if listed else "There are none."
