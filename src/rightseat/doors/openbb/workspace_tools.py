"""Client tools of a query: widgets, their parameter options, MCP tools and skills.

A WorkspaceTool has both sides: the tool that the model sees, and the function call that the client knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping
from itertools import chain
from typing import Any
from uuid import UUID

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openbb.wire import OpenBBQuery, as_dict, as_list, as_text, make_unique_name, to_json
from rightseat.errors import CallerError
from rightseat.types.model import ToolSpec
from rightseat.types.schema import get_validator
from rightseat.types.text import estimate_tokens

GET_WIDGET = "get_widget_data"
GET_EXTRA = "get_extra_widget_data"
EXECUTE_TOOL = "execute_agent_tool"
GET_OPTIONS = "get_params_options"
WIDGET_FUNCTIONS = (GET_WIDGET, GET_EXTRA)
MAX_OPTIONS = 100
MAX_DESCRIPTION = 600
MAX_TOOLS = 96
MAX_TOOL_DESCRIPTION = 2000
PYTHON_TYPES: dict[str, Any] = {"string": str, "number": int | float, "integer": int, "boolean": bool}

EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
VALUE_FIELDS = ("current_value", "default_value", "executed_value")
UNSET_VALUES = (None, "<<UNDEFINED>>")
"""Values for "not set", of the client and of OpenBB's own library."""
CallKey = tuple[str, ...]


def derive_widget_uuid(origin: str, widget: str) -> str:
    """Derive the UUID that OpenBB's own library gives a widget without one: xxHash64 of origin and widget id."""
    seed = f"origin={origin}&widget_id={widget}".encode("utf-8", "replace")
    return str(UUID(hex=xxhash.xxh64_hexdigest(seed) * 2))


class WorkspaceTool(Struct, frozen=True, kw_only=True):
    spec: ToolSpec
    function: str
    keys: tuple[CallKey, ...]
    """Keys by which a posted call is matched to this tool."""
    target: dict[str, Any]
    current_values: dict[str, Any] = {}
    """The widget's current parameter values, used for parameters that the model leaves out."""
    title: str = ""
    description: str = ""

    def to_client_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Convert the model's arguments to the client's input arguments."""
        if self.function == EXECUTE_TOOL:
            return {**self.target, "parameters": arguments}
        if self.function == GET_OPTIONS:
            query = self.target.get(as_text(arguments.get("parameter")))
            return {"param_options_queries": [query] if query else []}
        if self.function not in WIDGET_FUNCTIONS:
            return arguments
        known = self.spec.parameters["properties"]
        chosen = {name: value for name, value in arguments.items() if name in known}
        return {**self.target, "input_args": {**self.current_values, **chosen}}


ToolsByName = Mapping[str, WorkspaceTool]


def is_legacy_query(query: OpenBBQuery) -> bool:
    """Whether the widgets are a plain list, as in 2024, where a call names only the widget's UUID."""
    return isinstance(query.widgets, list)


def iter_widget_tools(posted: Any) -> Iterator[WorkspaceTool]:
    if isinstance(posted, list):
        yield from (offer for item in posted if (offer := parse_legacy_widget(as_dict(item))))
        return
    yield from (offer for item, function in iter_widgets(posted) if (offer := parse_widget(item, function)))


def parse_legacy_widget(item: dict[str, Any]) -> WorkspaceTool | None:
    uuid, name = as_text(item.get("uuid")), as_text(item.get("name"))
    if not uuid:
        return None
    return WorkspaceTool(
        spec=ToolSpec(slugify(name) or slugify(f"widget_{uuid}"), describe_widget(item), EMPTY_SCHEMA),
        function=GET_WIDGET,
        keys=((uuid,),),
        target={"widget_uuid": uuid},
        title=name,
        description=as_text(item.get("description")),
    )


def parse_widget(item: dict[str, Any], function: str) -> WorkspaceTool | None:
    uuid, origin, id = (as_text(item.get(field)) for field in ("uuid", "origin", "widget_id"))
    if not (origin and id):
        return None
    name, uuid = as_text(item.get("name")), uuid or derive_widget_uuid(origin, id)
    properties: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for param in map(as_dict, as_list(item.get("params"))):
        if not (key := as_text(param.get("name"))):
            continue
        value = next((v for field in VALUE_FIELDS if (v := param.get(field)) not in UNSET_VALUES), None)
        properties[key] = make_parameter_schema(param, value)
        if value is not None:
            values[key] = value
    schema = valid_schema_or_empty({**EMPTY_SCHEMA, "properties": properties})
    return WorkspaceTool(
        spec=ToolSpec(slugify(name) or slugify(id) or "widget", describe_widget(item), schema),
        function=function,
        keys=((uuid,), (origin, id)),
        target={"widget_uuid": uuid, "origin": origin, "id": id},
        current_values=values,
        title=name,
        description=as_text(item.get("description")),
    )


def make_parameter_schema(param: dict[str, Any], value: Any) -> dict[str, Any]:
    """Convert a widget's parameter to JSON Schema, with its current value as default."""
    type_name = as_text(param.get("type"))
    kind = type_name if type_name in PYTHON_TYPES else "string"
    several = param.get("multi_select") is True
    choices = [choice for option in as_list(param.get("options")) if (choice := get_option_value(option)) is not None]
    current = parse_current_values(value, kind, choices, several=several)
    item_schema: dict[str, Any] = {"type": kind}
    if choices and not param.get("get_options") and len(choices) <= MAX_OPTIONS:
        allowed = list({to_json(value): value for value in (*choices, *current)}.values())
        same_type = all(is_of_type(choice, kind) for choice in allowed)
        item_schema = {"enum": allowed} | ({"type": kind} if same_type else {})
    schema: dict[str, Any] = {"type": "array", "items": item_schema} if several else item_schema
    description = as_text(param.get("description"))
    if param.get("type") == "date":
        description = f"{description} (a date, YYYY-MM-DD)".strip()
    if description:
        schema = {**schema, "description": description[:MAX_DESCRIPTION]}
    return {**schema, "default": current if several else current[0]} if current else schema


def parse_current_values(value: Any, kind: str, choices: list[Any], *, several: bool) -> list[Any]:
    """Parse the current value or values; [] if they are not of the parameter's type."""
    raw_values = value if isinstance(value, list) else [value]
    if several and isinstance(value, str) and value not in choices:
        raw_values = [part.strip() for part in value.split(",") if part.strip()]
    values = [item if item in choices else convert_value(item, kind) for item in raw_values]
    return values if all(is_of_type(item, kind) or item in choices for item in values) else []


def convert_value(value: Any, kind: str) -> Any:
    """Convert a number or boolean that the client keeps as text."""
    if kind == "string" or not isinstance(value, str):
        return value
    try:
        converted = msgspec.convert(value, PYTHON_TYPES[kind], strict=False)
    except msgspec.ValidationError:
        return value
    # JSON has no NaN or infinity.
    return converted if math.isfinite(converted) else value


def get_option_value(option: Any) -> Any:
    value = option.get("value") if isinstance(option, dict) else option
    return value if isinstance(value, str | int | float) else None


def is_of_type(value: Any, kind: str) -> bool:
    return isinstance(value, PYTHON_TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def describe_widget(item: dict[str, Any]) -> str:
    """Describe a widget for the model: name, description, metadata, source and columns."""
    name, description = as_text(item.get("name")), as_text(item.get("description"))
    parts = [f"Get the data of the widget {name!r} on the user's dashboard." if name else "Get a widget's data."]
    if description and description != name:
        parts.append(description.rstrip(".") + ".")
    metadata = {**as_dict(item.get("metadata"))}
    metadata.pop("lastUpdated", None)  # changes on every request and would defeat prompt caching
    source = as_text(metadata.pop("source", "")) or as_text(item.get("source"))
    facts = [f"{key}: {value}" for key, value in metadata.items() if isinstance(value, str | int | float)]
    if source:
        facts.append(f"source: {source}")
    if columns := [column for column in as_list(item.get("columns")) if isinstance(column, str)]:
        facts.append("columns: " + ", ".join(columns))
    if facts:
        parts.append("; ".join(facts) + ".")
    return " ".join(parts)[:MAX_DESCRIPTION]


def valid_schema_or_empty(schema: Any) -> dict[str, Any]:
    """Return the schema if it is valid, else an empty one, so that the tool can still be called."""
    if not isinstance(schema, dict) or not schema:
        return EMPTY_SCHEMA
    try:
        get_validator(schema)
    except CallerError:
        return EMPTY_SCHEMA
    return schema


def slugify(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:48].strip("_")


def collect_tools(
    query: OpenBBQuery, reserved: Container[str] = (), max_tokens: int | None = None
) -> dict[str, WorkspaceTool]:
    """Collect the tools of a query by name: selected widgets, dashboard widgets, then the rest, as many as
    fit into `max_tokens`. `reserved` names belong to the server's own tools."""
    tools: dict[str, WorkspaceTool] = {}
    others = chain(iter_mcp_tools(query.tools), iter_skill_tools(query.skills_catalog))
    for offer in chain(iter_widget_tools(query.widgets), others):
        if not add_tool(tools, offer, reserved, max_tokens):
            break
    if dynamic := make_options_tool(query, tools):
        add_tool(tools, dynamic, reserved, max_tokens)
    return tools


def add_tool(
    tools: dict[str, WorkspaceTool], tool: WorkspaceTool, reserved: Container[str], max_tokens: int | None
) -> bool:
    name = make_unique_name(tool.spec.name, reserved, tools)
    spec = replace(tool.spec, name=name)
    used = sum(estimate_tool_tokens(other.spec) for other in tools.values()) if max_tokens is not None else 0
    if len(tools) >= MAX_TOOLS or (tools and max_tokens is not None and used + estimate_tool_tokens(spec) > max_tokens):
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
            spec=ToolSpec(slugify(name) or "tool", description, valid_schema_or_empty(item.get("input_schema"))),
            function=EXECUTE_TOOL,
            keys=((server, name), ("", name)),
            target={"server_id": server, "tool_name": name},
            title=name,
            description=description,
        )


def iter_skill_tools(posted: Any) -> Iterator[WorkspaceTool]:
    """Yield the tool that fetches the text of one of the user's skills, if there are any."""
    skills = [item for item in map(as_dict, as_list(posted)) if as_text(item.get("slug"))]
    if not skills:
        return
    lines = "; ".join(f"{item['slug']}: {as_text(item.get('description'))}" for item in skills)
    schema = {"type": "string", "enum": list(dict.fromkeys(item["slug"] for item in skills))}
    about = f"Get the instructions of a skill before doing what it is for. Skills: {lines}"[:MAX_TOOL_DESCRIPTION]
    parameters = {**EMPTY_SCHEMA, "properties": {"slug": schema}, "required": ["slug"]}
    spec = ToolSpec("get_skill_content", about, parameters)
    yield WorkspaceTool(spec=spec, function="get_skill_content", keys=(), target={})


def make_options_tool(query: OpenBBQuery, tools: ToolsByName) -> WorkspaceTool | None:
    """Make the tool that lists a parameter's values, for parameters whose options only the widget's server knows."""
    queries: dict[str, Any] = {}
    by_key = {key: name for name, offer in tools.items() if offer.function in WIDGET_FUNCTIONS for key in offer.keys}
    for item, _ in iter_widgets(query.widgets):
        origin, id = as_text(item.get("origin")), as_text(item.get("widget_id"))
        tool_name = by_key.get((as_text(item.get("uuid")),)) or by_key.get((origin, id))
        for param in map(as_dict, as_list(item.get("params"))):
            name = as_text(param.get("name"))
            if tool_name and name and param.get("get_options") is True:
                arguments = {"options_endpoint_input_args": inherit_values(param, tools[tool_name].current_values)}
                queries[f"{tool_name}.{name}"] = {"origin": origin, "id": id, "param": name, **arguments}
    if not queries:
        return None
    description = "List the values that a parameter of a widget may take. Ask before using one that was not named."
    schema = {"parameter": {"type": "string", "enum": list(queries)}}
    parameters = {**EMPTY_SCHEMA, "properties": schema, "required": ["parameter"]}
    spec = ToolSpec("get_parameter_options", description, parameters)
    return WorkspaceTool(spec=spec, function=GET_OPTIONS, keys=(), target=queries)


def iter_widgets(posted: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the widgets of the dashboard with the function that gets their data."""
    groups = as_dict(posted)
    for group, function in (("primary", GET_WIDGET), ("secondary", GET_WIDGET), ("extra", GET_EXTRA)):
        yield from ((as_dict(item), function) for item in as_list(groups.get(group)))


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
