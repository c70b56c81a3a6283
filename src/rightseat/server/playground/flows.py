"""Flows of each plugin as laid-out boxes and lines."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.flows.draw import picture
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.layout import Line, Spot, layout
from rightseat.wiring.library import Runtime


async def drawn(runtime: Runtime) -> list[dict[str, Any]]:
    if runtime.plugins is None:
        return []
    return [
        {
            "id": one.plugin.id,
            "name": one.plugin.name,
            "flows": [told(flow) for flow in one.plugin.workflows if flow.file],
            "broken": [str(found) for found in one.plugin.problems if found.file.startswith("flows/")],
        }
        for one in runtime.plugins.loaded.values()
    ]


def told(flow: Flow) -> dict[str, Any]:
    made = layout(picture(flow))
    return {
        "id": flow.id,
        "name": flow.name,
        "description": flow.description,
        "agent": f"{flow.plugin}.{flow.name}",
        "file": flow.file,
        "width": made.width,
        "height": made.height,
        "boxes": [box(spot) for spot in made.spots if spot.box is not None],
        "lines": [line(one) for one in made.lines],
    }


def box(spot: Spot) -> dict[str, Any]:
    shape = spot.box.shape if spot.box else ""
    place = {"x": spot.x, "y": spot.y, "width": spot.width, "height": spot.height}
    return {"name": spot.name, "lines": spot.lines, "shape": shape, **place}


def line(one: Line) -> dict[str, Any]:
    """Format a line as points from a box's bottom to another's top; back edges pass on the right."""
    first, *rest = one.spots
    points = [(first.x, first.y + first.height), *((spot.x, spot.y) for spot in rest)]
    if one.back:
        right = max(spot.x + spot.width / 2 for spot in one.spots) + 16
        last = rest[-1] if rest else first
        start, end = first.y + first.height / 2, last.y + last.height / 2
        points = [
            (first.x + first.width / 2, start),
            (right, start),
            (right, end),
            (last.x + last.width / 2, end),
        ]
    arrow = one.arrow
    return {
        "source": arrow.source,
        "target": arrow.target,
        "label": arrow.label,
        "dotted": arrow.dotted,
        "points": points,
    }
