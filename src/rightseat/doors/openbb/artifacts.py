"""Artifacts (tables, charts, files, texts) and citations of an answer, in OpenBB's form."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

from rightseat.doors.openbb.read import CitedSource
from rightseat.doors.openbb.wire import QuoteBox, as_dict, as_text, make_unique_name, to_json
from rightseat.types.charts import RowChart, parse_chart, parse_rows
from rightseat.types.events import Artifact

AXIS_CHARTS = ("line", "bar", "scatter")
ROUND_CHARTS = ("pie", "donut")
MAX_BOXES = 500


def format_artifact(event: Artifact, names: set[str]) -> dict[str, Any]:
    """Format an artifact. Its name is sanitized, for the client does not escape it, and unique, for it is the key."""
    name = re.sub(r"[^\w .,:%()+-]+", " ", event.name).strip()[:100] or event.kind
    unique_name = make_unique_name(name, names, separator=" ")
    names.add(unique_name)
    id = str(uuid.uuid5(uuid.NAMESPACE_OID, event.id))
    common = {"name": unique_name, "description": event.description or event.name or unique_name, "uuid": id}
    chart = parse_chart(event.content) if event.kind == "chart" else None
    if chart and (params := make_chart_params(chart)):
        return {"type": "chart", **common, "content": chart.rows, "chart_params": params}
    rows = (chart.rows if chart else parse_rows(event.content)) if event.kind in ("table", "chart") else []
    if rows:
        return {"type": "table", **common, "content": rows}
    if event.kind == "file" and (url := as_text(as_dict(event.content).get("url"))):
        return {"type": "text", **common, "content": f"[{unique_name}]({url})"}
    content = event.content if isinstance(event.content, str) else to_json(event.content)
    return {"type": "html" if event.kind == "html" else "text", **common, "content": content}


def make_chart_params(chart: RowChart) -> dict[str, Any] | None:
    """Make the parameters of a chart of Workspace; None for a kind that it does not draw."""
    if chart.kind in AXIS_CHARTS:
        return {"chartType": chart.kind, "xKey": chart.x, "yKey": list(chart.y)}
    if chart.kind in ROUND_CHARTS:
        return {"chartType": chart.kind, "angleKey": chart.y[0], "calloutLabelKey": chart.x}
    return None


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
    entry: dict[str, Any] = {"source_info": info}
    details = item.get("details")
    if isinstance(details, list) and all(isinstance(detail, dict) for detail in details):
        entry["details"] = details
    if boxes := parse_quote_boxes(item.get("quote_bounding_boxes")):
        entry["quote_bounding_boxes"] = boxes
    # Two quotes of one source are two citations.
    return {"id": parse_uuid(item.get("id")) or make_uuid(to_json(entry)), **entry}


def parse_quote_boxes(posted: Any) -> list[list[QuoteBox]]:
    """Parse the boxes of quotes in a PDF, those of one quote in a list. [] unless all can be read: Workspace drops an
    answer with a citation that it cannot read."""
    try:
        quotes = msgspec.convert(posted, list[list[QuoteBox]])
    except msgspec.ValidationError:
        return []
    return [boxes for boxes in quotes if boxes][:MAX_BOXES]


def make_uuid(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def parse_uuid(value: Any) -> str | None:
    try:
        return str(uuid.UUID(value)) if isinstance(value, str) else None
    except ValueError:
        return None
