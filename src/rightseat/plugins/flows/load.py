"""Flows of a plugin: read from flows/*.yaml or made of operations, and checked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rightseat.plugins.flows.check import check
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.known import Known
from rightseat.plugins.flows.read import automatic, read
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import Script
from rightseat.plugins.problem import Problem


def flows_of(
    folder: Path,
    plugin: str,
    files: Iterable[Path],
    operations: tuple[Operation, ...],
    scripts: tuple[Script, ...],
    *,
    each: bool,
) -> tuple[tuple[Flow, ...], list[Problem]]:
    """Return the flows that can run, and all problems. `per_operation`: make a flow of each operation too."""
    found: dict[str, Flow] = {}
    problems: list[Problem] = []
    broken: set[str] = set()
    for file in files:
        name = file.relative_to(folder).as_posix()
        flow, odd = read(folder, name, plugin)
        problems += odd
        if flow is None:
            continue
        if flow.name in found:
            what = f"There is a flow {flow.name!r} already, in {found[flow.name].file}; this one is left out."
            problems.append(Problem(name, "name", what, "Rename one of the two.", 1))
            continue
        found[flow.name] = flow
        if any(one.gravity == "error" for one in odd):
            broken.add(flow.name)
    made = {flow.name: flow for flow in automatic(plugin, operations, found)} if each else {}
    known = Known(
        endpoints=[one.id for one in operations],
        scripts=[one.name for one in scripts],
        flows=[*found, *made],
    )
    for flow in found.values():
        faults = list(check(flow, known))
        problems += faults
        if any(one.gravity == "error" for one in faults):
            broken.add(flow.name)
    whole = tuple(flow for name, flow in found.items() if name not in broken)
    return (*whole, *made.values()), problems
