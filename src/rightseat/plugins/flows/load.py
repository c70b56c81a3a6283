"""Flows of a plugin: read from flows/*.yaml or made of operations, and checked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rightseat.plugins.flows.check import check_flow
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.known import FlowReferences
from rightseat.plugins.flows.read import make_operation_flows, read_flow_file
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import PluginScript
from rightseat.plugins.problem import Problem


def load_flows(
    folder: Path,
    plugin: str,
    files: Iterable[Path],
    operations: tuple[Operation, ...],
    scripts: tuple[PluginScript, ...],
    *,
    per_operation: bool,
) -> tuple[tuple[Flow, ...], list[Problem]]:
    """Return the flows that can run, and all problems. `per_operation`: make a flow of each operation too."""
    flows: dict[str, Flow] = {}
    problems: list[Problem] = []
    broken: set[str] = set()
    for file in files:
        name = file.relative_to(folder).as_posix()
        flow, file_problems = read_flow_file(folder, name, plugin)
        problems += file_problems
        if flow is None:
            continue
        if flow.name in flows:
            what = f"There is a flow {flow.name!r} already, in {flows[flow.name].file}; this one is left out."
            problems.append(Problem(name, "name", what, "Rename one of the two.", 1))
            continue
        flows[flow.name] = flow
        if any(one.gravity == "error" for one in file_problems):
            broken.add(flow.name)
    operation_flows = (
        {flow.name: flow for flow in make_operation_flows(plugin, operations, flows)} if per_operation else {}
    )
    references = FlowReferences(
        endpoints=[one.id for one in operations],
        scripts=[one.name for one in scripts],
        flows=[*flows, *operation_flows],
    )
    for flow in flows.values():
        faults = list(check_flow(flow, references))
        problems += faults
        if any(one.gravity == "error" for one in faults):
            broken.add(flow.name)
    runnable = tuple(flow for name, flow in flows.items() if name not in broken)
    return (*runnable, *operation_flows.values()), problems
