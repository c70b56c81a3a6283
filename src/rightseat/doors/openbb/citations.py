"""Build the citations of an answer in OpenBB's form."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from rightseat.doors.openbb.read import CitedSource
from rightseat.doors.openbb.wire import as_dict, as_text, to_json

SOURCE_TYPES = ("widget", "direct retrieval", "web", "artifact")
INFO_FIELDS = ("origin", "widget_id", "name", "description")


def make_citations(sources: Iterable[CitedSource]) -> list[dict[str, Any]]:
    """Make one citation for each distinct source."""
    found = map(make_citation, sources)
    return list({one["id"]: one for one in found}.values())


def make_citation(source: CitedSource) -> dict[str, Any]:
    if source.citation is not None:
        return normalize_citation(source.citation)
    return cite_page(source.url) if source.url else cite_widget(source)


def cite_page(url: str) -> dict[str, Any]:
    info = {"type": "web", "name": url, "metadata": {"url": url}, "citable": True}
    return {"id": make_uuid(url), "source_info": info, "details": [{"Page": url}]}


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
    entry: dict[str, Any] = {"id": make_uuid(to_json([target, source.arguments])), "source_info": info}
    details = {key: value for key, value in source.arguments.items() if value is not None}
    shown = {"Name": tool.title if tool else "", **details}
    return {**entry, "details": [{key: value for key, value in shown.items() if value != ""}]}


def normalize_citation(item: dict[str, Any]) -> dict[str, Any]:
    """Normalize a citation from a tool or an agent, in OpenBB's form or a similar one."""
    source = as_dict(item.get("source_info")) or item
    url = as_text(source.get("url"))
    kind = (
        source.get("type") if source.get("type") in SOURCE_TYPES else ("web" if url else "direct retrieval")
    )
    info: dict[str, Any] = {key: source[key] for key in INFO_FIELDS if isinstance(source.get(key), str)}
    info.setdefault("name", as_text(source.get("title")) or url or "Source")
    if id := parse_uuid(source.get("uuid")):
        info["uuid"] = id
    metadata = {**as_dict(source.get("metadata")), **({"url": url} if url else {})}
    info |= {"type": kind, "metadata": metadata, "citable": True}
    entry: dict[str, Any] = {
        "id": parse_uuid(item.get("id")) or make_uuid(to_json(info)),
        "source_info": info,
    }
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
