"""Collect all client tools of a query: widgets, their parameter options, MCP tools and skills."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain
from typing import Any

from msgspec.structs import replace

from rightseat.doors.openbb.widgets import (
    EXECUTE,
    LISTS,
    OPTIONS,
    PLAIN,
    Offer,
    slug,
    sound,
    unique,
    widgets,
)
from rightseat.doors.openbb.wire import Query, listed, table, text
from rightseat.types.model import ToolSpec
from rightseat.types.tokens import estimate

MAX_OFFERS = 96
MAX_TEXT = 2000


def offers(query: Query, taken: Container[str] = (), room: int | None = None) -> dict[str, Offer]:
    """Collect the tools of a query by name: selected widgets, dashboard widgets, then the rest, as many as
    fit into `max_tokens`. `taken` names belong to the server's own tools."""
    found: dict[str, Offer] = {}
    for offer in chain(widgets(query.widgets), mcp_tools(query.tools), skills(query.skills_catalog)):
        if not add(found, offer, taken, room):
            break
    if dynamic := options(query, found):
        add(found, dynamic, taken, room)
    return found


def add(found: dict[str, Offer], offer: Offer, taken: Container[str], room: int | None) -> bool:
    name = unique(offer.spec.name, taken, found)
    spec = ToolSpec(name, offer.spec.description, offer.spec.parameters)
    used = sum(size(other.spec) for other in found.values()) if room is not None else 0
    if len(found) >= MAX_OFFERS or (found and room is not None and used + size(spec) > room):
        return False
    found[name] = replace(offer, spec=spec)
    return True


def size(spec: ToolSpec) -> int:
    return estimate(spec.name + spec.description + str(spec.parameters))


def mcp_tools(given: Any) -> Iterator[Offer]:
    for item in map(table, listed(given)):
        name, server = text(item.get("name")), text(item.get("server_id"))
        if not name:
            continue
        about = text(item.get("description"))[:MAX_TEXT]
        yield Offer(
            spec=ToolSpec(slug(name) or "tool", about, sound(item.get("input_schema"))),
            function=EXECUTE,
            keys=((server, name), ("", name)),
            target={"server_id": server, "tool_name": name},
            title=name,
            description=about,
        )


def skills(given: Any) -> Iterator[Offer]:
    """Yield the tool that fetches the text of one of the user's skills, if there are any."""
    known = [(text(item.get("slug")), text(item.get("description"))) for item in map(table, listed(given))]
    if not (known := [(name, about) for name, about in known if name]):
        return
    lines = "; ".join(f"{name}: {about}" for name, about in known)
    schema = {"type": "string", "enum": list(dict.fromkeys(name for name, _ in known))}
    about = f"Get the instructions of a skill before doing what it is for. Skills: {lines}"[:MAX_TEXT]
    yield Offer(
        spec=ToolSpec(
            "get_skill_content", about, {**PLAIN, "properties": {"slug": schema}, "required": ["slug"]}
        ),
        function="get_skill_content",
        keys=(),
        target={},
    )


def options(query: Query, found: dict[str, Offer]) -> Offer | None:
    """Make the tool that lists a parameter's values, for parameters whose options only the widget's server
    knows."""
    queries: dict[str, Any] = {}
    by_key = {key: name for name, offer in found.items() if offer.function in LISTS for key in offer.keys}
    for item in items(query.widgets):
        origin, id = text(item.get("origin")), text(item.get("widget_id"))
        tool = by_key.get((text(item.get("uuid")),)) or by_key.get((origin, id))
        for param in map(table, listed(item.get("params"))):
            name = text(param.get("name"))
            if tool and name and param.get("get_options") is True:
                given = inherited(param, found[tool].values)
                queries[f"{tool}.{name}"] = {
                    "origin": origin,
                    "id": id,
                    "param": name,
                    "options_endpoint_input_args": given,
                }
    if not queries:
        return None
    about = "List the values that a parameter of a widget may take. Ask before using one that was not named."
    schema = {"parameter": {"type": "string", "enum": list(queries)}}
    return Offer(
        spec=ToolSpec(
            "get_parameter_options", about, {**PLAIN, "properties": schema, "required": ["parameter"]}
        ),
        function=OPTIONS,
        keys=(),
        target=queries,
    )


def items(given: Any) -> Iterator[dict[str, Any]]:
    groups = table(given)
    return (table(item) for group in ("primary", "secondary", "extra") for item in listed(groups.get(group)))


def inherited(param: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the options endpoint, inherited from current values of other parameters."""
    found: dict[str, Any] = {}
    for option in map(table, listed(param.get("options_params"))):
        name, source = text(option.get("name")), text(option.get("inherit_value_from"))
        if name and source in values:
            found[name] = values[source]
        elif name and option.get("value") is not None:
            found[name] = option["value"]
    return found
