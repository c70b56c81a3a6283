"""Convert artifact events (tables, charts, files, texts) to OpenBB artifacts."""

from __future__ import annotations

import re
import uuid
from typing import Any

from rightseat.doors.openbb.wire import listed, table, text, written
from rightseat.types.events import Artifact

CHARTS = ("line", "bar", "scatter")
ROUND = ("pie", "donut")
Rows = list[dict[str, Any]]
Drawn = tuple[Rows, dict[str, Any]]


def artifact(event: Artifact, taken: set[str]) -> dict[str, Any]:
    """Format an artifact. Its name is sanitized, for the client does not escape it, and unique, for it is the
    key."""
    name = re.sub(r"[^\w .,:%()+-]+", " ", event.name).strip()[:100] or event.kind
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name} {number}"
    taken.add(made)
    shown = {
        "name": made,
        "description": event.name or made,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, event.id)),
    }
    if event.kind == "chart" and (drawn := chart(event.content)):
        return {"type": "chart", **shown, "content": drawn[0], "chart_params": drawn[1]}
    if event.kind in ("table", "chart") and (found := rows(event.content)):
        return {"type": "table", **shown, "content": found}
    if event.kind == "file" and (url := text(table(event.content).get("url"))):
        return {"type": "text", **shown, "content": f"[{made}]({url})"}
    content = event.content if isinstance(event.content, str) else written(event.content)
    return {"type": "text", **shown, "content": content}


def rows(content: Any) -> Rows:
    """Convert the known shapes of tables to a list of objects; [] for anything else."""
    match content:
        case list() if content and all(isinstance(row, dict) for row in content):
            return content
        case {"columns": list(columns), "rows": list(found)} | {
            "columns": list(columns),
            "data": list(found),
        }:
            names = [
                column if isinstance(column, str) else text(table(column).get("name")) for column in columns
            ]
            return [
                row if isinstance(row, dict) else dict(zip(names, listed(row), strict=False)) for row in found
            ]
        case {"rows": list(found)} | {"data": list(found)}:
            return rows(found)
        case _:
            return []


def chart(content: Any) -> Drawn | None:
    """Convert a chart, given with `chart_params` or as an ECharts option, to rows and chart parameters."""
    given = table(content)
    params = table(given.get("chart_params")) or table(given.get("chart"))
    if params and (found := rows(given)):
        return drawn(found, params)
    series = given.get("series")
    several = [table(one) for one in (series if isinstance(series, list) else [series]) if one]
    if not several:
        return None
    if several[0].get("type") == "pie":
        return pie(several[0])
    return axes(given, several)


def drawn(found: Rows, params: dict[str, Any]) -> Drawn | None:
    kind = params.get("chartType") or params.get("type")
    x, y = text(params.get("xKey") or params.get("x")), params.get("yKey") or params.get("y")
    ys = [key for key in ([y] if isinstance(y, str) else listed(y)) if isinstance(key, str)]
    if kind in CHARTS and x and ys:
        return found, {"chartType": kind, "xKey": x, "yKey": ys}
    angle, label = (
        text(params.get("angleKey")) or (ys[0] if ys else ""),
        text(params.get("calloutLabelKey")) or x,
    )
    if kind in ROUND and angle and label:
        return found, {"chartType": kind, "angleKey": angle, "calloutLabelKey": label}
    return None


def pie(series: dict[str, Any]) -> Drawn | None:
    found = [
        {"name": str(item.get("name", "")), "value": item.get("value")}
        for item in map(table, listed(series.get("data")))
        if item
    ]
    kind = "donut" if isinstance(series.get("radius"), list) else "pie"
    params = {"chartType": kind, "angleKey": "value", "calloutLabelKey": "name"}
    return (found, params) if found else None


def axes(option: dict[str, Any], several: list[dict[str, Any]]) -> Drawn | None:
    """Convert series over a category axis, or series of [x, y] points, to rows."""
    kind = several[0].get("type")
    if kind not in CHARTS:
        return None
    axis = option.get("xAxis")
    axis = table(axis[0] if isinstance(axis, list) and axis else axis)
    categories = listed(axis.get("data"))
    x = text(axis.get("name")) or "x"
    merged: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for number, one in enumerate(several):
        name = text(one.get("name")) or f"series {number + 1}"
        name = name if name != x and name not in names else f"{name} {number + 1}"
        names.append(name)
        for place, point in enumerate(listed(one.get("data"))):
            value = table(point).get("value", point) if isinstance(point, dict) else point
            at, height = point_of(value, place, categories)
            merged.setdefault(written(at), {x: at})[name] = height
    return (list(merged.values()), {"chartType": kind, "xKey": x, "yKey": names}) if merged else None


def point_of(value: Any, place: int, categories: list[Any]) -> tuple[Any, Any]:
    if isinstance(value, list) and len(value) >= 2:
        return value[0], value[1]
    return (categories[place] if place < len(categories) else place), value
