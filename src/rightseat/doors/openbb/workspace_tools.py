"""Client tools of a query: widgets and MCP tools; `tool_selection` chooses those that are offered.

A WorkspaceTool has both sides: the tool that the model sees, and the function call that the client knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping
from datetime import date, datetime
from itertools import accumulate, chain, islice
from typing import Any, Literal
from uuid import UUID

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openbb.wire import OpenBBQuery, as_dict, as_list, as_text, to_json
from rightseat.errors import CallerError
from rightseat.types.model import ToolSpec
from rightseat.types.schema import get_validator

GET_WIDGET = "get_widget_data"
GET_EXTRA = "get_extra_widget_data"
EXECUTE_TOOL = "execute_agent_tool"
GET_OPTIONS = "get_params_options"
WIDGET_FUNCTIONS = (GET_WIDGET, GET_EXTRA)
MAX_OPTIONS = 100
MAX_DESCRIPTION = 600
MAX_LABELS = 400
MAX_VALUES = 200
"""Characters of a widget's current values in its description."""
MAX_TOOL_DESCRIPTION = 2000
MAX_CANDIDATES = 1000
"""Widgets, and MCP tools, among which the tools of a turn are chosen."""
PYTHON_TYPES: dict[str, Any] = {"string": str, "number": int | float, "integer": int, "boolean": bool}

EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
VALUE_FIELDS = ("current_value", "default_value", "executed_value")
UNSET_VALUES = (None, "<<UNDEFINED>>")
"""Values for "not set", of the client and of OpenBB's own library."""
CallKey = tuple[str, ...]
WidgetGroup = Literal["primary", "secondary", "extra"]
GROUP_FUNCTIONS: dict[WidgetGroup, str] = {"primary": GET_WIDGET, "secondary": GET_WIDGET, "extra": GET_EXTRA}
GROUP_PLACES: dict[WidgetGroup, str] = {
    "primary": ", which the user has chosen",
    "secondary": " on the user's dashboard",
    "extra": ", which is not on the user's dashboard",
}


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
    date_params: dict[str, list[Any]] = {}
    """The widget's parameters that are dates, with the values that are taken as they are."""
    group: WidgetGroup | None = None
    title: str = ""
    description: str = ""

    @property
    def is_widget(self) -> bool:
        return self.function in WIDGET_FUNCTIONS

    def check_names(self, arguments: dict[str, Any]) -> None:
        """Raise CallerError for a parameter that the widget does not have. Without it the widget would give the data
        of its current values, and the model would take them for those that it has asked for."""
        known = self.spec.parameters.get("properties", {})
        unknown = next((name for name, value in arguments.items() if name not in known and value is not None), None)
        if self.group is not None and unknown is not None:
            names = ", ".join(known) or "none"
            raise CallerError(f"There is no parameter {unknown[:60]!r}. The parameters of this widget: {names}.")

    def convert_dates(self, arguments: dict[str, Any], now: datetime) -> dict[str, Any]:
        """Return the model's arguments with ISO dates; raise CallerError for one that is not understood."""
        converted = dict(arguments)
        for name, choices in self.date_params.items():
            value = arguments.get(name)
            if value == "":
                # As if it was left out: the widget's current value is used.
                del converted[name]
            elif value not in (None, *choices):
                converted[name] = convert_date(name, value, choices, now)
        return converted

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


def convert_arguments(tools: ToolsByName, now: datetime, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert the arguments of a call to a tool of the client; raise CallerError for one that it does not take."""
    if name not in tools:
        return arguments
    tools[name].check_names(arguments)
    return tools[name].convert_dates(arguments, now)


def parse_date(text: str, now: datetime) -> date | None:
    """Return the date that a text means, seen from `now`; see `dates.parse_date`."""
    # Imported here: its patterns are needed for widgets with dates only.
    from rightseat.doors.openbb import dates

    return dates.parse_date(text, now)


def convert_date(name: str, value: Any, choices: list[Any], now: datetime) -> Any:
    if isinstance(value, list):
        return [item if item in choices else convert_date(name, item, choices, now) for item in value]
    if not isinstance(value, str):
        return value  # Its type is refused by the schema.
    day = parse_date(value, now)
    if day is None:
        raise CallerError(
            f"{name}: {value[:60]!r} is not a date that can be understood. Write it as YYYY-MM-DD. "
            f"Today is {now:%Y-%m-%d}, a {now:%A}."
        )
    return day.isoformat()


def is_legacy_query(query: OpenBBQuery) -> bool:
    """Whether the widgets are a plain list, as in 2024, where a call names only the widget's UUID."""
    return isinstance(query.widgets, list)


def iter_widget_tools(posted: Any, now: datetime) -> Iterator[WorkspaceTool]:
    if isinstance(posted, list):
        yield from (offer for item in posted if (offer := parse_legacy_widget(as_dict(item))))
        return
    yield from (offer for item, group in iter_widgets(posted) if (offer := parse_widget(item, group, now)))


def parse_legacy_widget(item: dict[str, Any]) -> WorkspaceTool | None:
    uuid, name = as_text(item.get("uuid")), as_text(item.get("name"))
    if not uuid:
        return None
    return WorkspaceTool(
        spec=ToolSpec(slugify(name) or slugify(f"widget_{uuid}"), describe_widget(item, "secondary"), EMPTY_SCHEMA),
        function=GET_WIDGET,
        keys=((uuid,),),
        target={"widget_uuid": uuid},
        title=name,
        description=as_text(item.get("description")),
    )


def parse_widget(item: dict[str, Any], group: WidgetGroup, now: datetime) -> WorkspaceTool | None:
    uuid, origin, id = (as_text(item.get(field)) for field in ("uuid", "origin", "widget_id"))
    if not (origin and id):
        return None
    name, uuid = as_text(item.get("name")), uuid or derive_widget_uuid(origin, id)
    properties: dict[str, Any] = {}
    values: dict[str, Any] = {}
    date_params: dict[str, list[Any]] = {}
    for param in map(as_dict, as_list(item.get("params"))):
        if not (key := as_text(param.get("name"))):
            continue
        value = next((v for field in VALUE_FIELDS if (v := param.get(field)) not in UNSET_VALUES), None)
        if param.get("type") == "date":
            date_params[key] = list_choices(param)
            value = resolve_current_date(value, now)
        properties[key] = make_parameter_schema(param, value)
        if value is not None:
            values[key] = value
    schema = {**EMPTY_SCHEMA, "properties": properties}
    return WorkspaceTool(
        spec=ToolSpec(slugify(name) or slugify(id) or "widget", describe_widget(item, group, values), schema),
        function=GROUP_FUNCTIONS[group],
        keys=((uuid,), (origin, id)),
        target={"widget_uuid": uuid, "origin": origin, "id": id},
        current_values=values,
        date_params=date_params,
        group=group,
        title=name,
        description=as_text(item.get("description")),
    )


def resolve_current_date(value: Any, now: datetime) -> Any:
    """Return a widget's relative date as the ISO date that it means now; any other value unchanged."""
    if not isinstance(value, str) or "$currentDate" not in value:
        return value
    day = parse_date(value, now)
    return value if day is None else day.isoformat()


def list_choices(param: dict[str, Any]) -> list[Any]:
    return [choice for option in as_list(param.get("options")) if (choice := get_option_value(option)) is not None]


def make_parameter_schema(param: dict[str, Any], value: Any) -> dict[str, Any]:
    """Convert a widget's parameter to JSON Schema, with its current value as default."""
    type_name = as_text(param.get("type"))
    kind = type_name if type_name in PYTHON_TYPES else "string"
    several = param.get("multi_select") is True
    choices = list_choices(param)
    current = parse_current_values(value, kind, choices, several=several)
    item_schema: dict[str, Any] = {"type": kind}
    labels = ""
    if choices and not param.get("get_options") and len(choices) <= MAX_OPTIONS:
        allowed = list({to_json(value): value for value in (*choices, *current)}.values())
        same_type = all(is_of_type(choice, kind) for choice in allowed)
        item_schema = {"enum": allowed} | ({"type": kind} if same_type else {})
        labels = describe_options(param)
    schema: dict[str, Any] = {"type": "array", "items": item_schema} if several else item_schema
    description = " ".join(filter(None, (as_text(param.get("description")), labels)))
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


def describe_options(param: dict[str, Any]) -> str:
    """Describe what the options are called where that is not their value, as many as fit."""
    parts: list[str] = []
    for option in map(as_dict, as_list(param.get("options"))):
        value, label = get_option_value(option), as_text(option.get("label")).strip()
        if value is not None and label and label.casefold() != str(value).casefold():
            parts.append(f"{value}: {label}")
    lengths = accumulate(len(part) + 2 for part in parts)
    fitting = [part for part, length in zip(parts, lengths, strict=True) if length <= MAX_LABELS]
    return f"({', '.join(fitting)})" if fitting else ""


def get_option_value(option: Any) -> Any:
    value = option.get("value") if isinstance(option, dict) else option
    return value if isinstance(value, str | int | float) else None


def is_of_type(value: Any, kind: str) -> bool:
    return isinstance(value, PYTHON_TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def describe_widget(item: dict[str, Any], group: WidgetGroup, values: Mapping[str, Any] | None = None) -> str:
    """Describe a widget for the model: name, whether the user has chosen it, description, current values, metadata,
    source and columns."""
    name, description = as_text(item.get("name")), as_text(item.get("description"))
    parts = [f"Get the data of the widget{f' {name!r}' if name else ''}{GROUP_PLACES[group]}."]
    if description and description != name:
        parts.append(description.rstrip(".") + ".")
    if values:
        parts.append(f"It shows {format_values(values)}.")
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


def with_valid_schema(tool: WorkspaceTool) -> WorkspaceTool:
    """Return the tool with an empty schema if its own is not valid, so that it can still be called."""
    try:
        get_validator(tool.spec.parameters)
    except CallerError:
        return replace(tool, spec=replace(tool.spec, parameters=EMPTY_SCHEMA))
    return tool


def slugify(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:48].strip("_")


def format_values(values: Mapping[str, Any]) -> str:
    """Format a widget's current values: `symbol AAPL, interval 1d`."""
    texts = (f"{name} {value if isinstance(value, str) else to_json(value)}" for name, value in values.items())
    joined = ", ".join(texts)
    return joined if len(joined) <= MAX_VALUES else joined[: MAX_VALUES - 1] + "…"


def collect_tools(query: OpenBBQuery, now: datetime, reserved: Container[str] = ()) -> dict[str, WorkspaceTool]:
    """Collect widgets and MCP tools by name, in the order of the query: widgets that the user has chosen first. Their
    schemas are not checked yet. `reserved` names belong to the server's own tools."""
    tools: dict[str, WorkspaceTool] = {}
    numbers: dict[str, int] = {}
    widgets = islice(iter_widget_tools(query.widgets, now), MAX_CANDIDATES)
    for tool in chain(widgets, islice(iter_mcp_tools(query.tools), MAX_CANDIDATES)):
        name = tool.spec.name
        # Counted on from the last number: a thousand widgets may have one name.
        number = numbers.get(name, 0) + 1
        unique = name if number == 1 else f"{name}_{number}"
        while unique in tools or unique in reserved:
            number += 1
            unique = f"{name}_{number}"
        numbers[name] = number
        tools[unique] = replace(tool, spec=replace(tool.spec, name=unique))
    return tools


def iter_mcp_tools(posted: Any) -> Iterator[WorkspaceTool]:
    for item in map(as_dict, as_list(posted)):
        name, server = as_text(item.get("name")), as_text(item.get("server_id"))
        if not name:
            continue
        description = as_text(item.get("description"))[:MAX_TOOL_DESCRIPTION]
        yield WorkspaceTool(
            spec=ToolSpec(slugify(name) or "tool", description, as_dict(item.get("input_schema")) or EMPTY_SCHEMA),
            function=EXECUTE_TOOL,
            keys=((server, name), ("", name)),
            target={"server_id": server, "tool_name": name},
            title=name,
            description=description,
        )


def group_widgets(posted: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the posted widgets by group. A legacy list has the widgets of the dashboard."""
    groups = {"secondary": posted} if isinstance(posted, list) else as_dict(posted)
    names = ("primary", "secondary", "extra")
    return {name: [item for item in as_list(groups.get(name)) if isinstance(item, dict)] for name in names}


def iter_widgets(posted: Any) -> Iterator[tuple[dict[str, Any], WidgetGroup]]:
    """Yield the widgets with their group, those that the user has chosen first."""
    posted_groups = as_dict(posted)
    for group in GROUP_FUNCTIONS:
        yield from ((as_dict(item), group) for item in as_list(posted_groups.get(group)))
