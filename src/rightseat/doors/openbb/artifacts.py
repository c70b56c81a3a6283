"""Convert artifact events (tables, charts, files, texts) to OpenBB artifacts."""

from __future__ import annotations

import re
import uuid
from typing import Any

from rightseat.doors.openbb.wire import as_dict, as_list, as_text, to_json
from rightseat.types.events import Artifact

AXIS_CHARTS = ("line", "bar", "scatter")
ROUND_CHARTS = ("pie", "donut")
Rows = list[dict[str, Any]]
ChartData = tuple[Rows, dict[str, Any]]


def format_artifact(event: Artifact, taken: set[str]) -> dict[str, Any]:
    """Format an artifact. Its name is sanitized, for the client does not escape it, and unique, for it is the
    key."""
    name = re.sub(r"[^\w .,:%()+-]+", " ", event.name).strip()[:100] or event.kind
    unique_name, number = name, 1
    while unique_name in taken:
        number += 1
        unique_name = f"{name} {number}"
    taken.add(unique_name)
    common = {
        "name": unique_name,
        "description": event.name or unique_name,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, event.id)),
    }
    if event.kind == "chart" and (chart_data := parse_chart(event.content)):
        return {"type": "chart", **common, "content": chart_data[0], "chart_params": chart_data[1]}
    if event.kind in ("table", "chart") and (table_rows := parse_rows(event.content)):
        return {"type": "table", **common, "content": table_rows}
    if event.kind == "file" and (url := as_text(as_dict(event.content).get("url"))):
        return {"type": "text", **common, "content": f"[{unique_name}]({url})"}
    content = event.content if isinstance(event.content, str) else to_json(event.content)
    return {"type": "text", **common, "content": content}


def parse_rows(content: Any) -> Rows:
    """Convert the known shapes of tables to a list of objects; [] for anything else."""
    match content:
        case list() if content and all(isinstance(row, dict) for row in content):
            return content
        case {"columns": list(columns), "rows": list(raw_rows)} | {
            "columns": list(columns),
            "data": list(raw_rows),
        }:
            names = [
                column if isinstance(column, str) else as_text(as_dict(column).get("name"))
                for column in columns
            ]
            return [
                row if isinstance(row, dict) else dict(zip(names, as_list(row), strict=False))
                for row in raw_rows
            ]
        case {"rows": list(raw_rows)} | {"data": list(raw_rows)}:
            return parse_rows(raw_rows)
        case _:
            return []


def parse_chart(content: Any) -> ChartData | None:
    """Convert a chart, given with `chart_params` or as an ECharts option, to rows and chart parameters."""
    option = as_dict(content)
    params = as_dict(option.get("chart_params")) or as_dict(option.get("chart"))
    if params and (table_rows := parse_rows(option)):
        return make_chart(table_rows, params)
    series = option.get("series")
    series_list = [as_dict(one) for one in (series if isinstance(series, list) else [series]) if one]
    if not series_list:
        return None
    if series_list[0].get("type") == "pie":
        return parse_pie(series_list[0])
    return parse_axes(option, series_list)


def make_chart(table_rows: Rows, params: dict[str, Any]) -> ChartData | None:
    kind = params.get("chartType") or params.get("type")
    x, y = as_text(params.get("xKey") or params.get("x")), params.get("yKey") or params.get("y")
    ys = [key for key in ([y] if isinstance(y, str) else as_list(y)) if isinstance(key, str)]
    if kind in AXIS_CHARTS and x and ys:
        return table_rows, {"chartType": kind, "xKey": x, "yKey": ys}
    angle, label = (
        as_text(params.get("angleKey")) or (ys[0] if ys else ""),
        as_text(params.get("calloutLabelKey")) or x,
    )
    if kind in ROUND_CHARTS and angle and label:
        return table_rows, {"chartType": kind, "angleKey": angle, "calloutLabelKey": label}
    return None


def parse_pie(series: dict[str, Any]) -> ChartData | None:
    table_rows = [
        {"name": str(item.get("name", "")), "value": item.get("value")}
        for item in map(as_dict, as_list(series.get("data")))
        if item
    ]
    kind = "donut" if isinstance(series.get("radius"), list) else "pie"
    params = {"chartType": kind, "angleKey": "value", "calloutLabelKey": "name"}
    return (table_rows, params) if table_rows else None


def parse_axes(option: dict[str, Any], series_list: list[dict[str, Any]]) -> ChartData | None:
    """Convert series over a category axis, or series of [x, y] points, to rows."""
    kind = series_list[0].get("type")
    if kind not in AXIS_CHARTS:
        return None
    axis = option.get("xAxis")
    axis = as_dict(axis[0] if isinstance(axis, list) and axis else axis)
    categories = as_list(axis.get("data"))
    x = as_text(axis.get("name")) or "x"
    merged: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for number, series in enumerate(series_list):
        name = as_text(series.get("name")) or f"series {number + 1}"
        name = name if name != x and name not in names else f"{name} {number + 1}"
        names.append(name)
        for place, point in enumerate(as_list(series.get("data"))):
            value = as_dict(point).get("value", point) if isinstance(point, dict) else point
            at, height = split_point(value, place, categories)
            merged.setdefault(to_json(at), {x: at})[name] = height
    return (list(merged.values()), {"chartType": kind, "xKey": x, "yKey": names}) if merged else None


def split_point(value: Any, index: int, categories: list[Any]) -> tuple[Any, Any]:
    if isinstance(value, list) and len(value) >= 2:
        return value[0], value[1]
    return (categories[index] if index < len(categories) else index), value
