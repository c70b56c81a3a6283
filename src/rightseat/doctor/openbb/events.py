"""Parse an event stream as the client does, and validate its events and the arguments of function calls."""

from __future__ import annotations

import functools
import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

from rightseat.doctor.result import Fault, find_type_error

LINE_END = re.compile(r"\r\n|\n|\r")
EVENT_FORMAT_FIX = "write `event: NAME` and `data: {…}` for each event, and a blank line after it"
JSON_DATA_FIX = "write every event's data as one line of JSON; leave out [DONE]"


class ReceivedEvent(Struct, frozen=True):
    name: str
    data: Any


class FatalFault(Fault, frozen=True):
    """Fault at which the client throws: it shows nothing of what follows."""


def parse_stream(body: bytes) -> Iterator[ReceivedEvent | Fault]:
    """Yield the events of a stream, and in their places the faults of what is no event."""
    for fields in split_events(body):
        if isinstance(fields, Fault):
            yield fields
            continue
        name, data = fields.get("event", ""), fields.get("data")
        if data is None:
            yield Fault(f"the event {name} has no data", EVENT_FORMAT_FIX)
            continue
        try:
            # Accept lone surrogates, as JavaScript does.
            yield ReceivedEvent(name, json.loads(data, parse_constant=reject_constant))
        except (ValueError, RecursionError):
            yield FatalFault(f"data that is no JSON ends the person's turn: {data[:60]!r}", JSON_DATA_FIX)


def reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def split_events(body: bytes) -> Iterator[dict[str, str] | Fault]:
    """Yield the fields `event` and `data` of each event, and the faults of lines that are no fields."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    *lines, tail = LINE_END.split(text)
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line and fields:
            yield fields
            fields = {}
        elif name == "data" and "data" in fields:
            fields["data"] += f"\n{value}"
        elif name in ("event", "data"):
            fields[name] = value
        # An empty name is a comment.
        elif name not in ("", "id", "retry"):
            yield Fault(f"a line that is no field of an event: {line[:60]!r}", EVENT_FORMAT_FIX, enforced=False)
    if fields or tail:
        yield Fault("the last event is lost: no blank line ends it", EVENT_FORMAT_FIX)


GET_WIDGET_DATA = "get_widget_data"


class WidgetDataSource(Struct):
    origin: str
    id: str
    input_args: dict[str, Any]
    widget_uuid: str | UnsetType = UNSET


class ParamOptionsQuery(Struct):
    origin: str
    id: str
    param: str
    options_endpoint_input_args: dict[str, Any]


class NavigationTab(Struct):
    name: str


class AgentTask(Struct):
    id: str
    description: str
    assigned_holder_url: str
    assigned_agent_id: str


def make_object_type(optional: Mapping[str, Any] = {}, **required: Any) -> type[Struct]:
    """Make the type of a JSON object. Of `optional` fields null is valid too."""
    return defstruct("Object", [*required.items(), *((name, kind | None, None) for name, kind in optional.items())])


def make_tagged_union(tag_field: str, fields_by_tag: Mapping[str, Mapping[str, Any]]) -> Any:
    """Make the union of JSON objects whose fields depend on the value of `tag_field`."""
    members: list[Any] = [
        defstruct("Object", [*fields.items()], tag_field=tag_field, tag=tag) for tag, fields in fields_by_tag.items()
    ]
    return functools.reduce(operator.or_, members)


TABS = {"tabs": list[NavigationTab]}
WIDGET_DATA = make_object_type(data_sources=list[WidgetDataSource])
WIDGET_TYPES = Literal["chart", "table", "note", "html"]
FUNCTION_ARGUMENTS: dict[str, Any] = {
    GET_WIDGET_DATA: WIDGET_DATA,
    "get_extra_widget_data": WIDGET_DATA,
    "get_params_options": make_object_type(param_options_queries=list[ParamOptionsQuery]),
    "add_widget_to_dashboard": WIDGET_DATA,
    "update_widget_in_dashboard": WIDGET_DATA,
    "add_generative_widget": make_object_type(
        {"description": str, "chart_params": dict[str, Any]}, widget_type=WIDGET_TYPES, data=Any, name=str
    ),
    "manage_navigation_bar": make_tagged_union(
        "operation",
        {"create": TABS, "add_tabs": TABS, "remove_tabs": TABS, "rename_tabs": {"rename_map": dict[str, str]}},
    ),
    "assign_tasks_to_agents": make_object_type(task_requests=list[AgentTask]),
    "execute_agent_tool": make_object_type(server_id=str, tool_name=str, parameters=dict[str, Any]),
    "get_skill_content": make_object_type({"reason": str}, slug=str),
    "save_skill": make_object_type({"name": str, "instructions": str}),
}

LEGACY_FUNCTION_ARGUMENTS: dict[str, Any] = {GET_WIDGET_DATA: make_object_type(widget_uuid=str)}

EXTRA_STATE_FIX = (
    'send e.g. "extra_state": {"copilot_function_call_arguments": {"widget_queries": [{"widget_uuid": …}]}}'
)

MISSING_EXTRA_STATE = Fault(
    "without extra_state the client deletes the call and its result, and asks the same again", EXTRA_STATE_FIX
)


def check_call(function: str, arguments: dict[str, Any], state: Any, *, old: bool) -> Iterator[Fault]:
    known = LEGACY_FUNCTION_ARGUMENTS if old else FUNCTION_ARGUMENTS
    if function not in known:
        yield FatalFault(f"the client has no function {function[:60]!r}", f"call one of {', '.join(known)}")
        return
    if why := find_type_error(arguments, known[function]):
        yield FatalFault(f"{function}: {why}", explain_arguments(function, old=old))
    if function == GET_WIDGET_DATA and not old and not state:
        yield MISSING_EXTRA_STATE


def explain_arguments(function: str, *, old: bool) -> str:
    if function != GET_WIDGET_DATA:
        return "send the arguments in that form: the client throws before it does anything"
    if old:
        return 'where widgets are a list, send "input_arguments": {"widget_uuid": …}'
    source = '{"widget_uuid": …, "origin": …, "id": …, "input_args": {…}}'
    return f'where widgets are a table, send "input_arguments": {{"data_sources": [{source}]}}'


CALL_EVENT = "copilotFunctionCall"
CHUNK_EVENT = "copilotMessageChunk"
STATUS_EVENT = "copilotStatusUpdate"
ARTIFACT_EVENT = "copilotMessageArtifact"
CITATIONS_EVENT = "copilotCitationCollection"
SUGGESTIONS_EVENT = "copilotPromptSuggestions"
NonEmptyStr = Annotated[str, Meta(min_length=1)]


class ExpectedStatus(Struct):
    type: Literal["INFO", "WARNING", "ERROR"] = field(name="eventType")
    message: str
    group: str = "reasoning"
    details: list[dict[str, Any] | str] | None = None
    artifacts: list[Any] | None = None
    hidden: bool | None = None


class ExpectedArtifact(Struct):
    type: Literal["text", "table", "chart", "html", "snowflake_query", "snowflake_python", "app"]
    name: NonEmptyStr
    description: str
    uuid: NonEmptyStr
    content: Any


class ExpectedTableArtifact(ExpectedArtifact):
    content: list[dict[str, Any]]


AXIS_FIELDS = {"xKey": str, "yKey": list[str]}
SLICE_FIELDS = {"angleKey": str, "calloutLabelKey": str}
SLICE_CHARTS = ("pie", "donut")
CHART_PARAMS = make_tagged_union(
    "chartType", {**dict.fromkeys(("line", "bar", "scatter"), AXIS_FIELDS), **dict.fromkeys(SLICE_CHARTS, SLICE_FIELDS)}
)
CHART_ARTIFACT = defstruct("ChartArtifact", [("chart_params", CHART_PARAMS)], bases=(ExpectedTableArtifact,))


class ExpectedSourceInfo(Struct):
    type: Literal["widget", "direct retrieval", "web", "artifact"]
    metadata: dict[str, Any] | None = None


class ExpectedBox(Struct):
    """A highlighted line of a quoted page, in points from its upper left corner."""

    text: str
    page: int
    x0: float
    top: float
    x1: float
    bottom: float


class ExpectedCitation(Struct):
    id: NonEmptyStr
    source: ExpectedSourceInfo = field(name="source_info")
    details: list[dict[str, Any]] | None = None
    boxes: list[list[ExpectedBox]] | None = field(name="quote_bounding_boxes", default=None)


EVENT_EXAMPLES = {
    CHUNK_EVENT: '{"delta": "…"}',
    STATUS_EVENT: '{"eventType": "INFO", WARNING or ERROR, "message": "…", "group": "reasoning"}',
    ARTIFACT_EVENT: '{"type": "table", "name": "…", "description": "…", "uuid": "…", '
    '"content": [{…}]}; a chart has "chart_params": {"chartType": "line", "xKey": "…", "yKey": ["…"]} too',
    CITATIONS_EVENT: '{"citations": [{"id": "…", "source_info": {"type": "widget", "metadata": {…}}}]}',
    SUGGESTIONS_EVENT: '{"suggestions": ["…"]}',
    CALL_EVENT: '{"function": "get_widget_data", "input_arguments": {…}, "extra_state": {…}}',
}
"""A valid example of each event, for the fixes."""


EVENT_TYPES: dict[str, type[Struct]] = {
    CHUNK_EVENT: make_object_type(delta=str),
    STATUS_EVENT: ExpectedStatus,
    ARTIFACT_EVENT: ExpectedArtifact,
    CITATIONS_EVENT: make_object_type(citations=list[ExpectedCitation]),
    SUGGESTIONS_EVENT: make_object_type(suggestions=list[str]),
    CALL_EVENT: make_object_type({"extra_state": dict[str, Any]}, function=str, input_arguments=dict[str, Any]),
}

ARTIFACT_TYPES: dict[object, type[Struct]] = {"chart": CHART_ARTIFACT, "table": ExpectedTableArtifact}


def check_events(frames: Sequence[ReceivedEvent], *, old: bool) -> Iterator[Fault]:
    """Yield faults of single events, then of their number and order."""
    for frame in frames:
        yield from check_event(frame, old=old)
    calls = [place for place, frame in enumerate(frames) if frame.name == CALL_EVENT]
    if len(calls) > 1:
        fix = "send one, and the next when its result is there; one get_widget_data may name several widgets"
        yield Fault(f"{len(calls)} function calls in one stream: the client carries out each at once", fix)
    elif calls and calls[0] != len(frames) - 1:
        yield Fault("something follows the function call", "send the call as the last event and close")
    artifacts = [frame.data for frame in frames if frame.name == ARTIFACT_EVENT and isinstance(frame.data, dict)]
    if len({str(artifact.get("name")) for artifact in artifacts}) < len(artifacts):
        yield Fault("two artifacts have one name: the client tells them apart by it", "give each its own")


def check_event(frame: ReceivedEvent, *, old: bool) -> Iterator[Fault]:
    name, data = frame.name, frame.data
    if name not in EVENT_TYPES:
        known = ", ".join(EVENT_TYPES)
        yield Fault(f"the event {name or 'without a name'} is ignored", f"send one of {known}", enforced=False)
        return
    if old and name not in (CHUNK_EVENT, CALL_EVENT):
        fix = f"send nothing but {CHUNK_EVENT} and {CALL_EVENT} where widgets are a list"
        yield Fault(f"the client of 2024 does not know {name}", fix, enforced=False)
    if why := find_data_error(frame):
        yield Fault(f"{name}: {why}", f"send {EVENT_EXAMPLES[name]}")
        return
    yield from check_event_data(name, data, old=old)


def find_data_error(frame: ReceivedEvent) -> str | None:
    """Return why the data of a known event has not the form that the client expects; None if it has."""
    kind = EVENT_TYPES[frame.name]
    if frame.name == ARTIFACT_EVENT and isinstance(frame.data, dict):
        kind = ARTIFACT_TYPES.get(frame.data.get("type"), kind)
    return find_type_error(frame.data, kind)


def check_event_data(name: str, data: dict[str, Any], *, old: bool) -> Iterator[Fault]:
    if name == CALL_EVENT:
        yield from check_call(data["function"], data["input_arguments"], data.get("extra_state"), old=old)
    elif name == ARTIFACT_EVENT:
        if '"' in data["name"]:
            yield Fault("an artifact's name holds a quote, which breaks the page", "leave quotes out of names")
        yield from check_chart_keys(data)
    elif name == STATUS_EVENT and data["eventType"] == "ERROR":
        why = "a status of the type ERROR makes the client forget the newest call and its result"
        yield Fault(why, "send WARNING, unless the context was too long", enforced=False)


def check_chart_keys(artifact: dict[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key of a chart that no row has: nothing is drawn for it."""
    if artifact["type"] != "chart":
        return
    row_keys = {key for row in artifact["content"] for key in row}
    for key in list_chart_keys(artifact):
        if key not in row_keys:
            yield Fault(f"the chart {artifact['name']!r} has no values for {key!r}", "name a key of its rows")


def list_chart_keys(chart: dict[str, Any]) -> list[str]:
    """Return the keys that a chart takes from its rows: first what is drawn over, then what is drawn."""
    params = chart["chart_params"]
    if params["chartType"] in SLICE_CHARTS:
        return [params["calloutLabelKey"], params["angleKey"]]
    return [params["xKey"], *params["yKey"]]
