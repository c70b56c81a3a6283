"""Flows of each plugin as laid-out boxes and lines."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.flows.draw import build_diagram
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.layout import PlacedNode, RoutedEdge, compute_layout
from rightseat.wiring.library import Runtime


async def list_flows(runtime: Runtime) -> list[dict[str, Any]]:
    if runtime.plugins is None:
        return []
    return [
        {
            "id": one.plugin.id,
            "name": one.plugin.name,
            "flows": [draw_flow(flow) for flow in one.plugin.workflows if flow.file],
            "broken": [str(found) for found in one.plugin.problems if found.file.startswith("flows/")],
        }
        for one in runtime.plugins.loaded.values()
    ]


def draw_flow(flow: Flow) -> dict[str, Any]:
    flow_layout = compute_layout(build_diagram(flow))
    return {
        "id": flow.id,
        "name": flow.name,
        "description": flow.description,
        "agent": f"{flow.plugin}.{flow.name}",
        "file": flow.file,
        "width": flow_layout.width,
        "height": flow_layout.height,
        "boxes": [format_box(spot) for spot in flow_layout.nodes if spot.node is not None],
        "lines": [format_line(one) for one in flow_layout.edges],
    }


def format_box(spot: PlacedNode) -> dict[str, Any]:
    shape = spot.node.shape if spot.node else ""
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
        points = [
            (first.x + first.width / 2, start),
            (right, start),
            (right, end),
            (last.x + last.width / 2, end),
        ]
    arrow = layout_line.edge
    return {
        "source": arrow.source,
        "target": arrow.target,
        "label": arrow.label,
        "dotted": arrow.dotted,
        "points": points,
    }
