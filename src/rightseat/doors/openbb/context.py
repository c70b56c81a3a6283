"""Parse a query's context: added widget data, URLs, the dashboard, skills and the time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.openbb.wire import Query, Skill, State, listed, table, text, written

MAX_URLS = 4
MAX_ADDED = 64
MAX_LABEL = 600


class Added(Struct, frozen=True):
    """One context item, to be rendered before the model is called."""

    label: str
    raw: Any
    facts: dict[str, str]
    """Name, description and metadata."""


def added(query: Query) -> list[Added]:
    given = query.context
    if isinstance(given, str):
        return [one({"data": given})] if given.strip() else []
    several = [given] if isinstance(given, dict) else listed(given)
    return [one(table(item) or {"data": item}) for item in several[:MAX_ADDED] if item]


def one(item: dict[str, Any]) -> Added:
    """Parse a widget's data or one of our own artifacts, which have the same shape."""
    name = text(item.get("name")) or "Added by the user"
    about = text(item.get("description"))
    metadata = table(item.get("metadata"))
    facts = {key: moment(key, value) for key, value in metadata.items() if value not in (None, "", [], {})}
    told = [about] if about and about != name else []
    told += [f"{key}: {value}" for key, value in facts.items()]
    label = f"{name} ({'; '.join(told)})" if told else name
    facts |= {"name": name} | ({"description": about} if about else {})
    data = item.get("data")
    return Added(label[:MAX_LABEL], item.get("content") if data is None else data, facts)


def moment(key: str, value: Any) -> str:
    """Format a metadata value; `lastUpdated` milliseconds become an ISO time."""
    if key == "lastUpdated" and isinstance(value, int | float) and 1e11 < value < 1e13:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="seconds")
    return value if isinstance(value, str) else written(value)


def carried(query: Query, before: State | None) -> State:
    """Build the state from this request, or for fields that are sent once from the previous state."""
    urls = tuple(url for url in listed(query.urls) if isinstance(url, str) and 0 < len(url) <= 2000)[
        :MAX_URLS
    ]
    zone = text(query.timezone)[:64]
    return State(
        calls=(),
        seen=before.seen if before else (),
        timezone=zone or (before.timezone if before else ""),
        urls=urls or (before.urls if before else ()),
        skills=chosen_skills(query.selected_skills) or (before.skills if before else ()),
    )


def chosen_skills(given: Any) -> tuple[Skill, ...]:
    found: list[Skill] = []
    for item in listed(given)[:8]:
        try:
            found.append(msgspec.convert(item, Skill))
        except (msgspec.ValidationError, RecursionError):
            continue
    return tuple(found)


def surroundings(query: Query, state: State) -> Iterator[tuple[str, str]]:
    """Yield short instructions as (label, value): time zone, current dashboard, selected skills."""
    if state.timezone:
        yield "The user's time zone", state.timezone
    dashboard = table(table(query.workspace_state).get("current_dashboard_info"))
    if name := text(dashboard.get("name")):
        yield "The dashboard that the user looks at", described(name, dashboard)
    for skill in state.skills:
        yield f"Skill {skill.slug!r}, chosen by the user: follow it", skill.content or skill.description


def described(name: str, dashboard: dict[str, Any]) -> str:
    tabs = []
    for tab in map(table, listed(dashboard.get("tabs"))[:32]):
        names = [text(table(widget).get("name")) for widget in listed(tab.get("widgets"))]
        tabs.append(
            f"tab {text(tab.get('tab_id')) or '?'} with {', '.join(filter(None, names)) or 'nothing'}"
        )
    current = text(dashboard.get("current_tab_id"))
    parts = [name, *tabs, *([f"the current tab is {current}"] if current else [])]
    return "; ".join(parts)[:2000]
