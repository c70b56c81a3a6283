"""Screen of the client's chat: what a person sees of an answer, as lines of text.

The screen follows the client: it ignores events that the client does not know, shows neither empty text nor hidden
status updates, and ends where the client would throw.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from rightseat.doctor.openbb.events import (
    ARTIFACT_EVENT,
    CALL_EVENT,
    CHUNK_EVENT,
    CITATIONS_EVENT,
    EVENT_TYPES,
    SLICE_CHARTS,
    STATUS_EVENT,
    SUGGESTIONS_EVENT,
    FatalFault,
    ReceivedEvent,
    check_call,
    find_data_error,
    list_chart_keys,
)
from rightseat.doctor.result import Fault
from rightseat.documents.document import ReadRequest
from rightseat.documents.text import read_html

PartKind = Literal[
    "text", "step", "warning", "table", "chart", "html", "note", "citation", "suggestion", "call", "error", "not shown"
]
INVISIBLE_KINDS = ("call", "not shown")
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 5, 8, 40
MAX_LINE, MAX_LINES = 200, 12
MAX_PAGE = 200_000
"""Characters of an HTML page that are looked at."""
# A server's text must not move the cursor of the terminal. Directional marks could show it in another order.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class ScreenPart(Struct, frozen=True):
    """One thing on the screen; or one that is not shown, and why."""

    kind: PartKind
    title: str
    lines: tuple[str, ...] = ()

    @property
    def is_visible(self) -> bool:
        return self.kind not in INVISIBLE_KINDS

    def format_text(self) -> str:
        title = self.title if self.kind == "text" else f"[{self.kind}] {self.title}"
        return remove_control("\n".join([title, *(f"    {line}" for line in self.lines)]).rstrip())


def remove_control(text: str) -> str:
    return CONTROL.sub("", text)


def build_screen(stream: Iterable[ReceivedEvent | Fault], *, old: bool = False) -> list[ScreenPart]:
    """Return what the client shows of a stream, in its order."""
    parts: list[ScreenPart] = []
    for item in stream:
        for part in show_item(item, old=old):
            if part.kind == "text" and parts and parts[-1].kind == "text":
                part = ScreenPart("text", parts.pop().title + part.title)
            parts.append(part)
        if parts and parts[-1].kind == "error":
            break
    return parts


def show_item(item: ReceivedEvent | Fault, *, old: bool) -> Iterator[ScreenPart]:
    match item:
        case FatalFault():
            yield ScreenPart("error", f"The answer ends here: {item.why}")
        case Fault():
            yield ScreenPart("not shown", item.why)
        case ReceivedEvent(name) if name not in EVENT_TYPES or (old and name not in (CHUNK_EVENT, CALL_EVENT)):
            yield ScreenPart("not shown", f"the event {name or 'without a name'}, which the client does not know")
        case ReceivedEvent(name) if why := find_data_error(item):
            yield ScreenPart("not shown", f"{name}: {why}")
        case ReceivedEvent(name, data):
            yield from show_data(name, data, old=old)


def show_data(name: str, data: dict[str, Any], *, old: bool) -> Iterator[ScreenPart]:
    """Yield the parts of a valid event."""
    match name:
        case _ if name == CHUNK_EVENT:
            if data["delta"]:
                yield ScreenPart("text", data["delta"])
        case _ if name == STATUS_EVENT:
            yield from show_status(data)
        case _ if name == ARTIFACT_EVENT:
            yield show_artifact(data)
        case _ if name == CITATIONS_EVENT:
            yield from map(show_citation, data["citations"])
        case _ if name == SUGGESTIONS_EVENT:
            yield from (ScreenPart("suggestion", text) for text in data["suggestions"])
        case _:
            yield show_call(data, old=old)


def show_status(data: dict[str, Any]) -> Iterator[ScreenPart]:
    """Yield a status update with its details and its artifacts; nothing if it is hidden."""
    if data.get("hidden"):
        return
    details = [line for detail in data.get("details") or () for line in list_detail_lines(detail)]
    yield ScreenPart("step" if data["eventType"] == "INFO" else "warning", data["message"], limit_lines(details))
    for artifact in data.get("artifacts") or ():
        yield from show_item(ReceivedEvent(ARTIFACT_EVENT, artifact), old=False)


def list_detail_lines(detail: dict[str, Any] | str) -> list[str]:
    if isinstance(detail, str):
        return detail.splitlines()
    return [f"{name}: {format_value(value)}" for name, value in detail.items()]


def limit_lines(lines: list[str]) -> tuple[str, ...]:
    lines = [line for line in lines if line.strip()]
    shown = [cut(line, MAX_LINE) for line in lines[:MAX_LINES]]
    return (*shown, f"… and {len(lines) - MAX_LINES} more lines") if len(lines) > MAX_LINES else tuple(shown)


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def format_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def show_artifact(artifact: dict[str, Any]) -> ScreenPart:
    title, content = artifact["name"], artifact["content"]
    if artifact["description"] not in ("", title):
        title = f"{title} ({cut(artifact['description'], MAX_LINE)})"
    match artifact["type"]:
        case "table":
            return ScreenPart("table", f"{title}: {count(len(content), 'row')}", tuple(format_table(content)))
        case "chart":
            return show_chart(title, artifact)
        case "html" if isinstance(content, str):
            page = content[:MAX_PAGE].encode("utf-8", "replace")
            text = read_html(page, ReadRequest("html", budget=2000)).text
            return ScreenPart("html", title, limit_lines(text.split("\n") if text else ["(a page without text)"]))
        case kind:
            text = content if isinstance(content, str) else format_value(content)
            return ScreenPart("note", title if kind == "text" else f"{title}, {kind}", limit_lines(text.splitlines()))


def count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def format_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the first rows as aligned columns, and how much is not printed here."""
    names = list(dict.fromkeys(name for row in rows[:MAX_ROWS] for name in row))
    shown = names[:MAX_COLUMNS]
    cells = [shown, *([format_value(row.get(name)) for name in shown] for row in rows[:MAX_ROWS])]
    cells = [[cut(" ".join(cell.split()), MAX_CELL) for cell in line] for line in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells if shown else ():
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    left_out = [(len(rows) - MAX_ROWS, "row"), (len(names) - MAX_COLUMNS, "column")]
    for number, word in left_out:
        if number > 0:
            yield f"… and {count(number, f'more {word}')}"


def show_chart(title: str, artifact: dict[str, Any]) -> ScreenPart:
    kind, rows = artifact["chart_params"]["chartType"], artifact["content"]
    over, *drawn = list_chart_keys(artifact)
    unit = "slice" if kind in SLICE_CHARTS else "point"
    lines = [f"{key} by {over}: {format_series(rows, over, key)}" for key in drawn]
    return ScreenPart("chart", f"{title}: {kind}, {count(len(rows), unit)}", tuple(lines))


def format_series(rows: list[dict[str, Any]], over: str, key: str) -> str:
    """Format the first points of a series; a row without one of its two values draws nothing."""
    points = [(row[over], row[key]) for row in rows if row.get(over) is not None and row.get(key) is not None]
    if not points:
        return "nothing is drawn"
    texts = [f"{format_value(at)} {format_value(value)}" for at, value in points[:MAX_ROWS]]
    return cut(", ".join(texts) + (", …" if len(points) > MAX_ROWS else ""), MAX_LINE)


def show_citation(citation: dict[str, Any]) -> ScreenPart:
    """Return a citation with its details, and the quoted lines that are highlighted on their pages."""
    source = citation["source_info"]
    name = source.get("name") or source.get("widget_id") or source.get("origin") or "Source"
    lines = [line for detail in citation.get("details") or () for line in list_detail_lines(detail)]
    for boxes in citation.get("quote_bounding_boxes") or ():
        lines += [f"highlighted on page {box['page']}: {box['text']}" for box in boxes]
    return ScreenPart("citation", f"{name} ({source['type']})", limit_lines(lines))


def show_call(call: dict[str, Any], *, old: bool) -> ScreenPart:
    """Return the function call that the client carries out, or the error by which it ends the turn."""
    function, arguments = call["function"], call["input_arguments"]
    for fault in check_call(function, arguments, call.get("extra_state"), old=old):
        if isinstance(fault, FatalFault):
            return ScreenPart("error", f"The answer ends here: {fault.why}")
    sources = arguments.get("data_sources") or [arguments]
    return ScreenPart("call", function, limit_lines([format_source(source) for source in sources]))


def format_source(source: Mapping[str, Any]) -> str:
    """Format what a call asks for: a widget with its parameters, or the arguments of another function."""
    name = source.get("id") or source.get("tool_name") or source.get("slug") or source.get("widget_uuid")
    values = source.get("input_args", source.get("parameters"))
    if name is None or not isinstance(values, dict | None):
        return format_value(source)
    return f"{name}" + (
        f" ({', '.join(f'{key}: {format_value(value)}' for key, value in values.items())})" if values else ""
    )
