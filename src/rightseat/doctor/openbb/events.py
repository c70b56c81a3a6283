"""Validate the stream events that the client knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from rightseat.doctor.openbb.fault import Fault, find_type_error
from rightseat.doctor.openbb.functions import check_call
from rightseat.doctor.openbb.stream import ReceivedEvent

CALL_EVENT = "copilotFunctionCall"
CHUNK_EVENT = "copilotMessageChunk"
NonEmptyStr = Annotated[str, Meta(min_length=1)]


class ExpectedChunk(Struct):
    delta: str


class ExpectedStatus(Struct):
    type: Literal["INFO", "WARNING", "ERROR"] = field(name="eventType")
    message: str
    group: str = "reasoning"
    details: list[dict[str, Any] | str] | None = None
    artifacts: list[Any] | None = None
    hidden: bool | None = None


class XYChartParams(Struct, tag_field="chartType"):
    x: str = field(name="xKey")
    y: list[str] = field(name="yKey")


class LineChartParams(XYChartParams, tag="line"):
    pass


class BarChartParams(XYChartParams, tag="bar"):
    pass


class ScatterChartParams(XYChartParams, tag="scatter"):
    pass


class SliceChartParams(Struct, tag_field="chartType"):
    angle: str = field(name="angleKey")
    label: str = field(name="calloutLabelKey")


class PieChartParams(SliceChartParams, tag="pie"):
    pass


class DonutChartParams(SliceChartParams, tag="donut"):
    pass


class ExpectedArtifact(Struct):
    type: Literal["text", "table", "chart", "html", "snowflake_query", "snowflake_python", "app"]
    name: NonEmptyStr
    description: str
    uuid: NonEmptyStr
    content: Any


class ExpectedChartArtifact(ExpectedArtifact):
    content: list[dict[str, Any]]
    params: LineChartParams | BarChartParams | ScatterChartParams | PieChartParams | DonutChartParams = field(
        name="chart_params"
    )


class ExpectedTableArtifact(ExpectedArtifact):
    content: list[dict[str, Any]]


class ExpectedSourceInfo(Struct):
    type: Literal["widget", "direct retrieval", "web", "artifact"]
    metadata: dict[str, Any] | None = None


class ExpectedCitation(Struct):
    id: NonEmptyStr
    source: ExpectedSourceInfo = field(name="source_info")
    details: list[dict[str, Any]] | None = None


class ExpectedCitations(Struct):
    citations: list[ExpectedCitation]


class ExpectedSuggestions(Struct):
    suggestions: list[str]


class ExpectedCall(Struct):
    function: str
    arguments: dict[str, Any] = field(name="input_arguments")
    state: dict[str, Any] | None = field(name="extra_state", default=None)


EVENT_EXAMPLES = {
    CHUNK_EVENT: '{"delta": "…"}',
    "copilotStatusUpdate": '{"eventType": "INFO", WARNING or ERROR, "message": "…", "group": "reasoning"}',
    "copilotMessageArtifact": '{"type": "table", "name": "…", "description": "…", "uuid": "…", '
    '"content": [{…}]}; a chart has "chart_params": {"chartType": "line", "xKey": "…", "yKey": ["…"]} too',
    "copilotCitationCollection": '{"citations": [{"id": "…", "source_info": {"type": "widget", '
    '"metadata": {…}}}]}',
    "copilotPromptSuggestions": '{"suggestions": ["…"]}',
    CALL_EVENT: '{"function": "get_widget_data", "input_arguments": {…}, "extra_state": {…}}',
}
"""A valid example of each event, for the fixes."""
EVENT_TYPES: dict[str, type[Struct]] = {
    CHUNK_EVENT: ExpectedChunk,
    "copilotStatusUpdate": ExpectedStatus,
    "copilotMessageArtifact": ExpectedArtifact,
    "copilotCitationCollection": ExpectedCitations,
    "copilotPromptSuggestions": ExpectedSuggestions,
    CALL_EVENT: ExpectedCall,
}
ARTIFACT_TYPES: dict[object, type[ExpectedArtifact]] = {
    "chart": ExpectedChartArtifact,
    "table": ExpectedTableArtifact,
}


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
    if not any(frame.name in EVENT_TYPES for frame in frames):
        yield Fault(
            "no event that the client knows: the person sees nothing", "send text, also when it fails"
        )
    names = [
        frame.data.get("name")
        for frame in frames
        if frame.name == "copilotMessageArtifact" and isinstance(frame.data, dict)
    ]
    if len({str(name) for name in names}) < len(names):
        yield Fault("two artifacts have one name: the client tells them apart by it", "give each its own")


def check_event(frame: ReceivedEvent, *, old: bool) -> Iterator[Fault]:
    name, data = frame.name, frame.data
    if name not in EVENT_TYPES:
        known = ", ".join(EVENT_TYPES)
        yield Fault(
            f"the event {name or 'without a name'} is ignored", f"send one of {known}", enforced=False
        )
        return
    if old and name not in (CHUNK_EVENT, CALL_EVENT):
        fix = f"send nothing but {CHUNK_EVENT} and {CALL_EVENT} where widgets are a list"
        yield Fault(f"the client of 2024 does not know {name}", fix, enforced=False)
    kind = (
        ARTIFACT_TYPES.get(data.get("type"), EVENT_TYPES[name])
        if name == "copilotMessageArtifact" and isinstance(data, dict)
        else EVENT_TYPES[name]
    )
    if why := find_type_error(data, kind):
        yield Fault(f"{name}: {why}", f"send {EVENT_EXAMPLES[name]}")
        return
    yield from check_event_data(name, data, old=old)


def check_event_data(name: str, data: dict[str, Any], *, old: bool) -> Iterator[Fault]:
    if name == CALL_EVENT:
        yield from check_call(data["function"], data["input_arguments"], data.get("extra_state"), old=old)
    elif name == "copilotMessageArtifact" and '"' in data["name"]:
        yield Fault("an artifact's name holds a quote, which breaks the page", "leave quotes out of names")
    elif name == "copilotStatusUpdate" and data["eventType"] == "ERROR":
        why = "a status of the type ERROR makes the client forget the newest call and its result"
        yield Fault(why, "send WARNING, unless the context was too long", enforced=False)
