"""Validate the stream events that the client knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from rightseat.doctor.openbb.fault import Fault, misfit
from rightseat.doctor.openbb.functions import judged
from rightseat.doctor.openbb.stream import Frame

CALL = "copilotFunctionCall"
CHUNK = "copilotMessageChunk"
Word = Annotated[str, Meta(min_length=1)]


class Chunk(Struct):
    delta: str


class Status(Struct):
    type: Literal["INFO", "WARNING", "ERROR"] = field(name="eventType")
    message: str
    group: str = "reasoning"
    details: list[dict[str, Any] | str] | None = None
    artifacts: list[Any] | None = None
    hidden: bool | None = None


class Lines(Struct, tag_field="chartType"):
    x: str = field(name="xKey")
    y: list[str] = field(name="yKey")


class Line(Lines, tag="line"):
    pass


class Bar(Lines, tag="bar"):
    pass


class Scatter(Lines, tag="scatter"):
    pass


class Slices(Struct, tag_field="chartType"):
    angle: str = field(name="angleKey")
    label: str = field(name="calloutLabelKey")


class Pie(Slices, tag="pie"):
    pass


class Donut(Slices, tag="donut"):
    pass


class Artifact(Struct):
    type: Literal["text", "table", "chart", "html", "snowflake_query", "snowflake_python", "app"]
    name: Word
    description: str
    uuid: Word
    content: Any


class Chart(Artifact):
    content: list[dict[str, Any]]
    params: Line | Bar | Scatter | Pie | Donut = field(name="chart_params")


class Table(Artifact):
    content: list[dict[str, Any]]


class SourceInfo(Struct):
    type: Literal["widget", "direct retrieval", "web", "artifact"]
    metadata: dict[str, Any] | None = None


class Citation(Struct):
    id: Word
    source: SourceInfo = field(name="source_info")
    details: list[dict[str, Any]] | None = None


class Citations(Struct):
    citations: list[Citation]


class Suggestions(Struct):
    suggestions: list[str]


class Call(Struct):
    function: str
    arguments: dict[str, Any] = field(name="input_arguments")
    state: dict[str, Any] | None = field(name="extra_state", default=None)


SAMPLES = {
    CHUNK: '{"delta": "…"}',
    "copilotStatusUpdate": '{"eventType": "INFO", WARNING or ERROR, "message": "…", "group": "reasoning"}',
    "copilotMessageArtifact": '{"type": "table", "name": "…", "description": "…", "uuid": "…", '
    '"content": [{…}]}; a chart has "chart_params": {"chartType": "line", "xKey": "…", "yKey": ["…"]} too',
    "copilotCitationCollection": '{"citations": [{"id": "…", "source_info": {"type": "widget", '
    '"metadata": {…}}}]}',
    "copilotPromptSuggestions": '{"suggestions": ["…"]}',
    CALL: '{"function": "get_widget_data", "input_arguments": {…}, "extra_state": {…}}',
}
"""A valid example of each event, for the fixes."""
FORMS: dict[str, type[Struct]] = {
    CHUNK: Chunk,
    "copilotStatusUpdate": Status,
    "copilotMessageArtifact": Artifact,
    "copilotCitationCollection": Citations,
    "copilotPromptSuggestions": Suggestions,
    CALL: Call,
}
KINDS: dict[object, type[Artifact]] = {"chart": Chart, "table": Table}


def faults(frames: Sequence[Frame], *, old: bool) -> Iterator[Fault]:
    """Yield faults of single events, then of their number and order."""
    for frame in frames:
        yield from form(frame, old=old)
    calls = [place for place, frame in enumerate(frames) if frame.name == CALL]
    if len(calls) > 1:
        fix = "send one, and the next when its result is there; one get_widget_data may name several widgets"
        yield Fault(f"{len(calls)} function calls in one stream: the client carries out each at once", fix)
    elif calls and calls[0] != len(frames) - 1:
        yield Fault("something follows the function call", "send the call as the last event and close")
    if not any(frame.name in FORMS for frame in frames):
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


def form(frame: Frame, *, old: bool) -> Iterator[Fault]:
    name, data = frame.name, frame.data
    if name not in FORMS:
        known = ", ".join(FORMS)
        yield Fault(
            f"the event {name or 'without a name'} is ignored", f"send one of {known}", enforced=False
        )
        return
    if old and name not in (CHUNK, CALL):
        fix = f"send nothing but {CHUNK} and {CALL} where widgets are a list"
        yield Fault(f"the client of 2024 does not know {name}", fix, enforced=False)
    kind = (
        KINDS.get(data.get("type"), FORMS[name])
        if name == "copilotMessageArtifact" and isinstance(data, dict)
        else FORMS[name]
    )
    if why := misfit(data, kind):
        yield Fault(f"{name}: {why}", f"send {SAMPLES[name]}")
        return
    yield from contents(name, data, old=old)


def contents(name: str, data: dict[str, Any], *, old: bool) -> Iterator[Fault]:
    if name == CALL:
        yield from judged(data["function"], data["input_arguments"], data.get("extra_state"), old=old)
    elif name == "copilotMessageArtifact" and '"' in data["name"]:
        yield Fault("an artifact's name holds a quote, which breaks the page", "leave quotes out of names")
    elif name == "copilotStatusUpdate" and data["eventType"] == "ERROR":
        why = "a status of the type ERROR makes the client forget the newest call and its result"
        yield Fault(why, "send WARNING, unless the context was too long", enforced=False)
