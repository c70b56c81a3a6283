"""Convert dashboard widgets to client tools.

A WorkspaceTool has both sides: the tool that the model sees, and the function call that the client knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.openbb.identity import derived
from rightseat.doors.openbb.wire import Query, listed, table, text, written
from rightseat.errors import CallerError
from rightseat.types.model import ToolSpec
from rightseat.types.schema import checker

GET_WIDGET = "get_widget_data"
GET_EXTRA = "get_extra_widget_data"
EXECUTE = "execute_agent_tool"
OPTIONS = "get_params_options"
LISTS = (GET_WIDGET, GET_EXTRA)
MAX_OPTIONS = 100
MAX_TEXT = 600
TYPES = {"number": "number", "integer": "integer", "boolean": "boolean"}
TYPED: dict[str, Any] = {"number": int | float, "integer": int, "boolean": bool}
FITS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}
PLAIN: dict[str, Any] = {"type": "object", "properties": {}}
SET = ("current_value", "default_value", "executed_value")
UNSET = (None, "<<UNDEFINED>>")
"""Values for "not set", of the client and of OpenBB's own library."""
Key = tuple[str, ...]


class Offer(Struct, frozen=True, kw_only=True):
    spec: ToolSpec
    function: str
    keys: tuple[Key, ...]
    """Keys by which a posted call is matched to this tool."""
    target: dict[str, Any]
    values: dict[str, Any] = {}
    """The widget's current parameter values, used for parameters that the model leaves out."""
    title: str = ""
    description: str = ""

    def source(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Convert the model's arguments to the client's input arguments."""
        if self.function == EXECUTE:
            return {**self.target, "parameters": arguments}
        if self.function == OPTIONS:
            query = self.target.get(text(arguments.get("parameter")))
            return {"param_options_queries": [query] if query else []}
        if self.function not in LISTS:
            return arguments
        known = self.spec.parameters["properties"]
        chosen = {name: value for name, value in arguments.items() if name in known}
        return {**self.target, "input_args": {**self.values, **chosen}}


def old(query: Query) -> bool:
    """Whether the widgets are a plain list, as in 2024, where a call names only the widget's UUID."""
    return isinstance(query.widgets, list)


def widgets(given: Any) -> Iterator[Offer]:
    if isinstance(given, list):
        yield from (offer for item in given if (offer := listed_widget(table(item))))
        return
    groups = table(given)
    for group, function in (("primary", GET_WIDGET), ("secondary", GET_WIDGET), ("extra", GET_EXTRA)):
        yield from (offer for item in listed(groups.get(group)) if (offer := widget(table(item), function)))


def listed_widget(item: dict[str, Any]) -> Offer | None:
    uuid, name = text(item.get("uuid")), text(item.get("name"))
    if not uuid:
        return None
    about = described(item)
    return Offer(
        spec=ToolSpec(slug(name) or slug(f"widget_{uuid}"), about, PLAIN),
        function=GET_WIDGET,
        keys=((uuid,),),
        target={"widget_uuid": uuid},
        title=name,
        description=text(item.get("description")),
    )


def widget(item: dict[str, Any], function: str) -> Offer | None:
    uuid, origin, id = (text(item.get(field)) for field in ("uuid", "origin", "widget_id"))
    if not (origin and id):
        return None
    name, uuid = text(item.get("name")), uuid or derived(origin, id)
    properties: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for given in listed(item.get("params")):
        param = table(given)
        if not (key := text(param.get("name"))):
            continue
        value = next((v for field in SET if (v := param.get(field)) not in UNSET), None)
        properties[key] = parameter(param, value)
        if value is not None:
            values[key] = value
    return Offer(
        spec=ToolSpec(
            slug(name) or slug(id) or "widget", described(item), sound({**PLAIN, "properties": properties})
        ),
        function=function,
        keys=((uuid,), (origin, id)),
        target={"widget_uuid": uuid, "origin": origin, "id": id},
        values=values,
        title=name,
        description=text(item.get("description")),
    )


def parameter(param: dict[str, Any], value: Any) -> dict[str, Any]:
    """Convert a widget's parameter to JSON Schema, with its current value as default."""
    kind = TYPES.get(text(param.get("type")), "string")
    several = param.get("multi_select") is True
    choices = [choice for option in listed(param.get("options")) if (choice := chosen(option)) is not None]
    now = present(value, kind, choices, several=several)
    one: dict[str, Any] = {"type": kind}
    if choices and not param.get("get_options") and len(choices) <= MAX_OPTIONS:
        allowed = distinct([*choices, *now])
        one = {"enum": allowed} | ({"type": kind} if all(fits(choice, kind) for choice in allowed) else {})
    made: dict[str, Any] = {"type": "array", "items": one} if several else one
    about = text(param.get("description"))
    if param.get("type") == "date":
        about = f"{about} (a date, YYYY-MM-DD)".strip()
    if about:
        made = {**made, "description": about[:MAX_TEXT]}
    return {**made, "default": now if several else now[0]} if now else made


def present(value: Any, kind: str, choices: list[Any], *, several: bool) -> list[Any]:
    """Parse the current value or values; [] if they are not of the parameter's type."""
    given = value if isinstance(value, list) else [value]
    if several and isinstance(value, str) and value not in choices:
        given = [part.strip() for part in value.split(",") if part.strip()]
    found = [one if one in choices else typed(one, kind) for one in given]
    return found if all(fits(one, kind) or one in choices for one in found) else []


def typed(value: Any, kind: str) -> Any:
    """Convert a number or boolean that the client keeps as text."""
    if kind == "string" or not isinstance(value, str):
        return value
    try:
        found = msgspec.convert(value, TYPED[kind], strict=False)
    except msgspec.ValidationError:
        return value
    # JSON has no NaN or infinity.
    return found if math.isfinite(found) else value


def chosen(option: Any) -> Any:
    value = option.get("value") if isinstance(option, dict) else option
    return value if isinstance(value, str | int | float) else None


def fits(value: Any, kind: str) -> bool:
    return isinstance(value, FITS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def distinct(values: Iterable[Any]) -> list[Any]:
    return list({written(value): value for value in values}.values())


def described(item: dict[str, Any]) -> str:
    """Describe a widget for the model: name, description, metadata, source and columns."""
    name, about = text(item.get("name")), text(item.get("description"))
    parts = [
        f"Get the data of the widget {name!r} on the user's dashboard." if name else "Get a widget's data."
    ]
    if about and about != name:
        parts.append(about.rstrip(".") + ".")
    metadata = {**table(item.get("metadata"))}
    metadata.pop("lastUpdated", None)  # changes on every request and would defeat prompt caching
    source = text(metadata.pop("source", "")) or text(item.get("source"))
    facts = [f"{key}: {value}" for key, value in metadata.items() if isinstance(value, str | int | float)]
    if source:
        facts.append(f"source: {source}")
    if columns := [column for column in listed(item.get("columns")) if isinstance(column, str)]:
        facts.append("columns: " + ", ".join(columns))
    if facts:
        parts.append("; ".join(facts) + ".")
    return " ".join(parts)[:MAX_TEXT]


def sound(schema: Any) -> dict[str, Any]:
    """Return the schema if it is valid, else an empty one, so that the tool can still be called."""
    if not isinstance(schema, dict) or not schema:
        return PLAIN
    try:
        checker(schema)
    except CallerError:
        return PLAIN
    return schema


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:48].strip("_")


def unique(name: str, *taken: Container[str]) -> str:
    number, made = 1, name
    while any(made in names for names in taken):
        number += 1
        made = f"{name}_{number}"
    return made
