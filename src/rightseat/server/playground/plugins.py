"""Plugins for the playground: tools and problems, flows as laid-out boxes and lines, and tool trials: a tool called
directly with a person's arguments, as a normal run without a model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.errors import NotFound
from rightseat.http.endpoint import Request
from rightseat.http.fetch.fetch import record_requests
from rightseat.types.events import CallResult, Interrupt, RunFailed
from rightseat.types.messages import Message, ToolCall
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Turn, TurnClient
from rightseat.wiring.runtime import Runtime

if TYPE_CHECKING:
    from rightseat.plugins.catalog import CatalogEntry, LoadedPlugin
    from rightseat.plugins.flows.diagram import PlacedNode, RoutedEdge
    from rightseat.plugins.plugin import Flow, Operation, Problem


async def list_plugins(runtime: Runtime) -> list[dict[str, Any]]:
    catalog = runtime.plugins
    return [format_plugin(loaded, catalog.by_plugin[id]) for id, loaded in catalog.loaded.items()] if catalog else []


def format_plugin(loaded: LoadedPlugin, entries: list[CatalogEntry]) -> dict[str, Any]:
    # Lazy: a server without plugins needs none of it.
    from rightseat.plugins.http.tools import name_operations

    manifest = loaded.plugin
    operations = name_operations(manifest)
    return {
        "id": manifest.id,
        "name": manifest.name,
        "description": manifest.description,
        "question": manifest.question,
        "problems": [format_problem(problem) for problem in manifest.problems],
        "tools": [
            {
                "name": entry.tool.name,
                "description": entry.tool.description,
                "parameters": entry.tool.parameters,
                "confirm": entry.tool.confirm,
                **format_operation(operations.get(entry.tool.name)),
            }
            for entry in entries
        ],
    }


def format_operation(operation: Operation | None) -> dict[str, str]:
    """Format method and path of a tool that is an operation of an API."""
    return {"method": operation.method.lower(), "path": operation.path} if operation else {}


def format_problem(problem: Problem) -> dict[str, Any]:
    """Format a problem as a whole text, and in parts that the page translates."""
    line = f":{problem.line}" if problem.line else ""
    key = f": {problem.key}" if problem.key else ""
    return {
        "gravity": problem.gravity,
        "text": str(problem),
        "file": problem.file,
        "line": problem.line,
        "place": f"{problem.file}{line}{key}",
        "what": problem.what,
        "fix": problem.fix,
    }


async def list_flows(runtime: Runtime) -> list[dict[str, Any]]:
    plugins = [loaded.plugin for loaded in runtime.plugins.loaded.values()] if runtime.plugins else []
    return [
        {
            "id": plugin.id,
            "name": plugin.name,
            "flows": [draw_flow(flow) for flow in plugin.workflows if flow.file],
            "broken": [format_problem(problem) for problem in plugin.problems if problem.file.startswith("flows/")],
        }
        for plugin in plugins
    ]


def draw_flow(flow: Flow) -> dict[str, Any]:
    # Imported here: a server without plugins needs none of it.
    from rightseat.plugins.flows.diagram import build_diagram, compute_layout

    flow_layout = compute_layout(build_diagram(flow))
    return {
        "id": flow.id,
        "name": flow.name,
        "description": flow.description,
        "agent": f"{flow.plugin}.{flow.name}",
        "file": flow.file,
        "width": flow_layout.width,
        "height": flow_layout.height,
        "boxes": [format_box(spot, spot.node.shape) for spot in flow_layout.nodes if spot.node is not None],
        "lines": [format_line(edge) for edge in flow_layout.edges],
    }


def format_box(spot: PlacedNode, shape: str) -> dict[str, Any]:
    place = {"x": spot.x, "y": spot.y, "width": spot.width, "height": spot.height}
    return {"name": spot.name, "lines": spot.lines, "shape": shape, **place}


def format_line(layout_line: RoutedEdge) -> dict[str, Any]:
    """Format a line as points from a box's bottom to another's top; back edges pass on the right."""
    first, *others = layout_line.nodes
    points = [(first.x, first.y + first.height), *((spot.x, spot.y) for spot in others)]
    if layout_line.is_back_edge:
        right = max(spot.x + spot.width / 2 for spot in layout_line.nodes) + 16
        last = others[-1] if others else first
        start, end = first.y + first.height / 2, last.y + last.height / 2
        points = [(first.x + first.width / 2, start), (right, start), (right, end), (last.x + last.width / 2, end)]
    arrow = layout_line.edge
    ends = {"source": arrow.source, "target": arrow.target}
    return {**ends, "label": arrow.label, "dotted": arrow.dotted, "points": points}


class TrialAnswer(Struct, frozen=True, kw_only=True):
    """A person's answer to a question of the call's."""

    id: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None


class ToolTrial(Struct, frozen=True, kw_only=True):
    tool: str
    arguments: dict[str, Any] = {}
    answers: list[TrialAnswer] = []
    """Answers to earlier questions of the call: it resumes with its original arguments."""


async def try_tool(runtime: Runtime, trial: ToolTrial, request: Request) -> dict[str, Any]:
    if trial.tool not in runtime.tools:
        raise NotFound(f"No plugin has a tool called {trial.tool[:64]!r}.", param="tool")
    began = time.perf_counter()
    with record_requests() as requests:
        outcome = await run_trial(runtime, make_turn(trial, request))
    return {**outcome, "requests": requests, "ms": round((time.perf_counter() - began) * 1000)}


def make_turn(trial: ToolTrial, request: Request) -> Turn:
    call = ToolCall("call", trial.tool, msgspec.json.encode(trial.arguments).decode())
    return Turn(
        messages=(Message("assistant", calls=(call,)),),
        assistant=DIRECT_CALLS,
        answers=tuple(InterruptAnswer(answer.id, answer.status, answer.payload) for answer in trial.answers),
        owner=request.owner,
        client=TurnClient(headers=request.forwarded_headers, base_url=request.base),
    )


async def run_trial(runtime: Runtime, turn: Turn) -> dict[str, Any]:
    """Run the call; return its result, or the questions that it asks first."""
    outcome: dict[str, Any] = {"result": "", "failed": False}
    questions: list[dict[str, Any]] = []
    async with closing(runtime.run(turn)) as events:
        async for event in events:
            match event:
                case CallResult(_, content, failed):
                    outcome = {"result": content, "failed": failed}
                case Interrupt(id, _, message, schema):
                    questions.append({"id": id, "message": message, "responseSchema": schema})
                case RunFailed(_, message):
                    outcome = {"result": message, "failed": True}
                case _:
                    pass
    return {"asks": questions} if questions else outcome
