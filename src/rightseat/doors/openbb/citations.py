"""Build the citations of an answer in OpenBB's form."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from rightseat.doors.openbb.read import Source
from rightseat.doors.openbb.wire import table, text, written

KINDS = ("widget", "direct retrieval", "web", "artifact")
INFO = ("origin", "widget_id", "name", "description")


def citations(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Make one citation for each distinct source."""
    found = map(citation, sources)
    return list({one["id"]: one for one in found}.values())


def citation(source: Source) -> dict[str, Any]:
    if source.given is not None:
        return foreign(source.given)
    return web(source.url) if source.url else widget(source)


def web(url: str) -> dict[str, Any]:
    info = {"type": "web", "name": url, "metadata": {"url": url}, "citable": True}
    return {"id": named(url), "source_info": info, "details": [{"Page": url}]}


def widget(source: Source) -> dict[str, Any]:
    offer = source.offer
    target = offer.target if offer else {}
    info: dict[str, Any] = {
        "type": "direct retrieval" if "tool_name" in target else "widget",
        "origin": text(target.get("origin")) or text(target.get("server_id")),
        "widget_id": text(target.get("id")) or text(target.get("tool_name")),
        "name": offer.title if offer else "",
        "description": offer.description if offer else "",
    }
    info = {key: value for key, value in info.items() if value}
    if id := uuid_of(target.get("widget_uuid")):
        info["uuid"] = id
    info |= {"metadata": {"input_args": source.arguments}, "citable": True}
    made: dict[str, Any] = {"id": named(written([target, source.arguments])), "source_info": info}
    details = {key: value for key, value in source.arguments.items() if value is not None}
    shown = {"Name": offer.title if offer else "", **details}
    return {**made, "details": [{key: value for key, value in shown.items() if value != ""}]}


def foreign(item: dict[str, Any]) -> dict[str, Any]:
    """Normalize a citation from a tool or an agent, in OpenBB's form or a similar one."""
    given = table(item.get("source_info")) or item
    url = text(given.get("url"))
    kind = given.get("type") if given.get("type") in KINDS else ("web" if url else "direct retrieval")
    info: dict[str, Any] = {key: given[key] for key in INFO if isinstance(given.get(key), str)}
    info.setdefault("name", text(given.get("title")) or url or "Source")
    if id := uuid_of(given.get("uuid")):
        info["uuid"] = id
    metadata = {**table(given.get("metadata")), **({"url": url} if url else {})}
    info |= {"type": kind, "metadata": metadata, "citable": True}
    made: dict[str, Any] = {"id": uuid_of(item.get("id")) or named(written(info)), "source_info": info}
    details = item.get("details")
    if isinstance(details, list) and all(isinstance(detail, dict) for detail in details):
        made["details"] = details
    return made


def named(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def uuid_of(value: Any) -> str | None:
    try:
        return str(uuid.UUID(value)) if isinstance(value, str) else None
    except ValueError:
        return None
