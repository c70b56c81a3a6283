"""Artifacts (tables, charts, files, texts) and citations of an answer, in OpenBB's form."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any

from rightseat.doors.openbb.read import CitedSource
from rightseat.doors.openbb.wire import as_dict, as_list, as_text, make_unique_name, to_json
from rightseat.types.events import Artifact

AXIS_CHARTS = ("line", "bar", "scatter")
ROUND_CHARTS = ("pie", "donut")
Rows = list[dict[str, Any]]
ChartData = tuple[Rows, dict[str, Any]]


def format_artifact(event: Artifact, names: set[str]) -> dict[str, Any]:
    """Format an artifact. Its name is sanitized, for the client does not escape it, and unique, for it is the key."""
    name = re.sub(r"[^\w .,:%()+-]+", " ", event.name).strip()[:100] or event.kind
    unique_name = make_unique_name(name, names, separator=" ")
    names.add(unique_name)
    id = str(uuid.uuid5(uuid.NAMESPACE_OID, event.id))
    common = {"name": unique_name, "description": event.name or unique_name, "uuid": id}
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
        case {"columns": list(columns), "rows": list(raw_rows)} | {"columns": list(columns), "data": list(raw_rows)}:
            names = [column if isinstance(column, str) else as_text(as_dict(column).get("name")) for column in columns]
            return [row if isinstance(row, dict) else dict(zip(names, as_list(row), strict=False)) for row in raw_rows]
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
    series_list = [as_dict(item) for item in (series if isinstance(series, list) else [series]) if item]
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
    angle = as_text(params.get("angleKey")) or (ys[0] if ys else "")
    label = as_text(params.get("calloutLabelKey")) or x
    if kind in ROUND_CHARTS and angle and label:
        return table_rows, {"chartType": kind, "angleKey": angle, "calloutLabelKey": label}
    return None


def parse_pie(series: dict[str, Any]) -> ChartData | None:
    items = filter(None, map(as_dict, as_list(series.get("data"))))
    table_rows = [{"name": str(item.get("name", "")), "value": item.get("value")} for item in items]
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
            value = point.get("value", point) if isinstance(point, dict) else point
            at = categories[place] if place < len(categories) else place
            if isinstance(value, list) and len(value) >= 2:
                at, value = value[0], value[1]
            merged.setdefault(to_json(at), {x: at})[name] = value
    return (list(merged.values()), {"chartType": kind, "xKey": x, "yKey": names}) if merged else None


SOURCE_TYPES = ("widget", "direct retrieval", "web", "artifact")
INFO_FIELDS = ("origin", "widget_id", "name", "description")


def make_citations(sources: Iterable[CitedSource]) -> list[dict[str, Any]]:
    """Make one citation for each distinct source."""
    citations = map(make_citation, sources)
    return list({citation["id"]: citation for citation in citations}.values())


def make_citation(source: CitedSource) -> dict[str, Any]:
    if source.citation is not None:
        return normalize_citation(source.citation)
    if not source.url:
        return cite_widget(source)
    info = {"type": "web", "name": source.url, "metadata": {"url": source.url}, "citable": True}
    return {"id": make_uuid(source.url), "source_info": info, "details": [{"Page": source.url}]}


def cite_widget(source: CitedSource) -> dict[str, Any]:
    tool = source.tool
    target = tool.target if tool else {}
    info: dict[str, Any] = {
        "type": "direct retrieval" if "tool_name" in target else "widget",
        "origin": as_text(target.get("origin")) or as_text(target.get("server_id")),
        "widget_id": as_text(target.get("id")) or as_text(target.get("tool_name")),
        "name": tool.title if tool else "",
        "description": tool.description if tool else "",
    }
    info = {key: value for key, value in info.items() if value}
    if id := parse_uuid(target.get("widget_uuid")):
        info["uuid"] = id
    info |= {"metadata": {"input_args": source.arguments}, "citable": True}
    shown = {"Name": tool.title if tool else "", **source.arguments}
    details = {key: value for key, value in shown.items() if value not in (None, "")}
    return {"id": make_uuid(to_json([target, source.arguments])), "source_info": info, "details": [details]}


def normalize_citation(item: dict[str, Any]) -> dict[str, Any]:
    """Normalize a citation from a tool or an agent, in OpenBB's form or a similar one."""
    source = as_dict(item.get("source_info")) or item
    url = as_text(source.get("url"))
    kind = source.get("type") if source.get("type") in SOURCE_TYPES else ("web" if url else "direct retrieval")
    info: dict[str, Any] = {key: source[key] for key in INFO_FIELDS if isinstance(source.get(key), str)}
    info.setdefault("name", as_text(source.get("title")) or url or "Source")
    if id := parse_uuid(source.get("uuid")):
        info["uuid"] = id
    metadata = {**as_dict(source.get("metadata")), **({"url": url} if url else {})}
    info |= {"type": kind, "metadata": metadata, "citable": True}
    entry: dict[str, Any] = {"id": parse_uuid(item.get("id")) or make_uuid(to_json(info)), "source_info": info}
    details = item.get("details")
    if isinstance(details, list) and all(isinstance(detail, dict) for detail in details):
        entry["details"] = details
    return entry


def make_uuid(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def parse_uuid(value: Any) -> str | None:
    try:
        return str(uuid.UUID(value)) if isinstance(value, str) else None
    except ValueError:
        return None
