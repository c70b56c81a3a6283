"""Collect all client tools of a query: widgets, their parameter options, MCP tools and skills."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain
from typing import Any

from msgspec.structs import replace

from rightseat.doors.openbb.widgets import (
    EMPTY_SCHEMA,
    EXECUTE_TOOL,
    GET_OPTIONS,
    WIDGET_FUNCTIONS,
    WorkspaceTool,
    iter_widget_tools,
    make_unique_name,
    slugify,
    valid_schema_or_empty,
)
from rightseat.doors.openbb.wire import OpenBBQuery, as_dict, as_list, as_text
from rightseat.types.model import ToolSpec
from rightseat.types.tokens import estimate_tokens

MAX_TOOLS = 96
MAX_TOOL_DESCRIPTION = 2000


def collect_tools(
    query: OpenBBQuery, taken: Container[str] = (), max_tokens: int | None = None
) -> dict[str, WorkspaceTool]:
    """Collect the tools of a query by name: selected widgets, dashboard widgets, then the rest, as many as
    fit into `max_tokens`. `taken` names belong to the server's own tools."""
    tools: dict[str, WorkspaceTool] = {}
    for offer in chain(
        iter_widget_tools(query.widgets), iter_mcp_tools(query.tools), iter_skill_tools(query.skills_catalog)
    ):
        if not add_tool(tools, offer, taken, max_tokens):
            break
    if dynamic := make_options_tool(query, tools):
        add_tool(tools, dynamic, taken, max_tokens)
    return tools


def add_tool(
    tools: dict[str, WorkspaceTool], tool: WorkspaceTool, taken: Container[str], max_tokens: int | None
) -> bool:
    name = make_unique_name(tool.spec.name, taken, tools)
    spec = ToolSpec(name, tool.spec.description, tool.spec.parameters)
    used = sum(estimate_tool_tokens(other.spec) for other in tools.values()) if max_tokens is not None else 0
    if len(tools) >= MAX_TOOLS or (
        tools and max_tokens is not None and used + estimate_tool_tokens(spec) > max_tokens
    ):
        return False
    tools[name] = replace(tool, spec=spec)
    return True


def estimate_tool_tokens(spec: ToolSpec) -> int:
    return estimate_tokens(spec.name + spec.description + str(spec.parameters))


def iter_mcp_tools(posted: Any) -> Iterator[WorkspaceTool]:
    for item in map(as_dict, as_list(posted)):
        name, server = as_text(item.get("name")), as_text(item.get("server_id"))
        if not name:
            continue
        description = as_text(item.get("description"))[:MAX_TOOL_DESCRIPTION]
        yield WorkspaceTool(
            spec=ToolSpec(
                slugify(name) or "tool", description, valid_schema_or_empty(item.get("input_schema"))
            ),
            function=EXECUTE_TOOL,
            keys=((server, name), ("", name)),
            target={"server_id": server, "tool_name": name},
            title=name,
            description=description,
        )


def iter_skill_tools(posted: Any) -> Iterator[WorkspaceTool]:
    """Yield the tool that fetches the text of one of the user's skills, if there are any."""
    known = [
        (as_text(item.get("slug")), as_text(item.get("description")))
        for item in map(as_dict, as_list(posted))
    ]
    if not (known := [(name, about) for name, about in known if name]):
        return
    lines = "; ".join(f"{name}: {about}" for name, about in known)
    schema = {"type": "string", "enum": list(dict.fromkeys(name for name, _ in known))}
    about = f"Get the instructions of a skill before doing what it is for. Skills: {lines}"[
        :MAX_TOOL_DESCRIPTION
    ]
    yield WorkspaceTool(
        spec=ToolSpec(
            "get_skill_content", about, {**EMPTY_SCHEMA, "properties": {"slug": schema}, "required": ["slug"]}
        ),
        function="get_skill_content",
        keys=(),
        target={},
    )


def make_options_tool(query: OpenBBQuery, tools: dict[str, WorkspaceTool]) -> WorkspaceTool | None:
    """Make the tool that lists a parameter's values, for parameters whose options only the widget's server
    knows."""
    queries: dict[str, Any] = {}
    by_key = {
        key: name for name, offer in tools.items() if offer.function in WIDGET_FUNCTIONS for key in offer.keys
    }
    for item in iter_widgets(query.widgets):
        origin, id = as_text(item.get("origin")), as_text(item.get("widget_id"))
        tool_name = by_key.get((as_text(item.get("uuid")),)) or by_key.get((origin, id))
        for param in map(as_dict, as_list(item.get("params"))):
            name = as_text(param.get("name"))
            if tool_name and name and param.get("get_options") is True:
                input_args = inherit_values(param, tools[tool_name].current_values)
                queries[f"{tool_name}.{name}"] = {
                    "origin": origin,
                    "id": id,
                    "param": name,
                    "options_endpoint_input_args": input_args,
                }
    if not queries:
        return None
    description = (
        "List the values that a parameter of a widget may take. Ask before using one that was not named."
    )
    schema = {"parameter": {"type": "string", "enum": list(queries)}}
    return WorkspaceTool(
        spec=ToolSpec(
            "get_parameter_options",
            description,
            {**EMPTY_SCHEMA, "properties": schema, "required": ["parameter"]},
        ),
        function=GET_OPTIONS,
        keys=(),
        target=queries,
    )


def iter_widgets(posted: Any) -> Iterator[dict[str, Any]]:
    groups = as_dict(posted)
    return (
        as_dict(item) for group in ("primary", "secondary", "extra") for item in as_list(groups.get(group))
    )


def inherit_values(param: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the options endpoint, inherited from current values of other parameters."""
    inherited_values: dict[str, Any] = {}
    for option in map(as_dict, as_list(param.get("options_params"))):
        name, source = as_text(option.get("name")), as_text(option.get("inherit_value_from"))
        if name and source in values:
            inherited_values[name] = values[source]
        elif name and option.get("value") is not None:
            inherited_values[name] = option["value"]
    return inherited_values
