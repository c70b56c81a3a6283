"""Parse a query's context: added widget data, URLs, the dashboard, skills and the time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.openbb.wire import (
    EchoedState,
    OpenBBQuery,
    SelectedSkill,
    as_dict,
    as_list,
    as_text,
    to_json,
)

MAX_URLS = 4
MAX_CONTEXT_ITEMS = 64
MAX_LABEL = 600


class AddedContext(Struct, frozen=True):
    """One context item, to be rendered before the model is called."""

    label: str
    raw: Any
    facts: dict[str, str]
    """Name, description and metadata."""


def parse_context(query: OpenBBQuery) -> list[AddedContext]:
    posted = query.context
    if isinstance(posted, str):
        return [parse_context_item({"data": posted})] if posted.strip() else []
    raw_items = [posted] if isinstance(posted, dict) else as_list(posted)
    return [
        parse_context_item(as_dict(item) or {"data": item}) for item in raw_items[:MAX_CONTEXT_ITEMS] if item
    ]


def parse_context_item(item: dict[str, Any]) -> AddedContext:
    """Parse a widget's data or one of our own artifacts, which have the same shape."""
    name = as_text(item.get("name")) or "Added by the user"
    description = as_text(item.get("description"))
    metadata = as_dict(item.get("metadata"))
    facts = {
        key: format_metadata(key, value) for key, value in metadata.items() if value not in (None, "", [], {})
    }
    details = [description] if description and description != name else []
    details += [f"{key}: {value}" for key, value in facts.items()]
    label = f"{name} ({'; '.join(details)})" if details else name
    facts |= {"name": name} | ({"description": description} if description else {})
    data = item.get("data")
    return AddedContext(label[:MAX_LABEL], item.get("content") if data is None else data, facts)


def format_metadata(key: str, value: Any) -> str:
    """Format a metadata value; `lastUpdated` milliseconds become an ISO time."""
    if key == "lastUpdated" and isinstance(value, int | float) and 1e11 < value < 1e13:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="seconds")
    return value if isinstance(value, str) else to_json(value)


def carry_state(query: OpenBBQuery, previous: EchoedState | None) -> EchoedState:
    """Build the state from this request, or for fields that are sent once from the previous state."""
    urls = tuple(url for url in as_list(query.urls) if isinstance(url, str) and 0 < len(url) <= 2000)[
        :MAX_URLS
    ]
    timezone = as_text(query.timezone)[:64]
    return EchoedState(
        calls=(),
        seen=previous.seen if previous else (),
        timezone=timezone or (previous.timezone if previous else ""),
        urls=urls or (previous.urls if previous else ()),
        skills=parse_skills(query.selected_skills) or (previous.skills if previous else ()),
    )


def parse_skills(posted: Any) -> tuple[SelectedSkill, ...]:
    skills: list[SelectedSkill] = []
    for item in as_list(posted)[:8]:
        try:
            skills.append(msgspec.convert(item, SelectedSkill))
        except (msgspec.ValidationError, RecursionError):
            continue
    return tuple(skills)


def iter_instructions(query: OpenBBQuery, state: EchoedState) -> Iterator[tuple[str, str]]:
    """Yield short instructions as (label, value): time zone, current dashboard, selected skills."""
    if state.timezone:
        yield "The user's time zone", state.timezone
    dashboard = as_dict(as_dict(query.workspace_state).get("current_dashboard_info"))
    if name := as_text(dashboard.get("name")):
        yield "The dashboard that the user looks at", describe_dashboard(name, dashboard)
    for skill in state.skills:
        yield f"Skill {skill.slug!r}, chosen by the user: follow it", skill.content or skill.description


def describe_dashboard(name: str, dashboard: dict[str, Any]) -> str:
    tabs = []
    for tab in map(as_dict, as_list(dashboard.get("tabs"))[:32]):
        names = [as_text(as_dict(widget).get("name")) for widget in as_list(tab.get("widgets"))]
        tabs.append(
            f"tab {as_text(tab.get('tab_id')) or '?'} with {', '.join(filter(None, names)) or 'nothing'}"
        )
    current = as_text(dashboard.get("current_tab_id"))
    parts = [name, *tabs, *([f"the current tab is {current}"] if current else [])]
    return "; ".join(parts)[:2000]
