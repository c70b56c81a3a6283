"""Parse an event stream as the client does: invalid JSON in an event ends the turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from msgspec import Struct

from rightseat.doctor.openbb.fault import Fault

LINE_END = re.compile(r"\r\n|\n|\r")
EVENT_FORMAT_FIX = "write `event: NAME` and `data: {…}` for each event, and a blank line after it"
JSON_DATA_FIX = "write every event's data as one line of JSON; leave out [DONE]"


class ReceivedEvent(Struct, frozen=True):
    name: str
    data: Any


class PartialEvent(Struct):
    """An event whose lines are still arriving."""

    name: str = ""
    data: list[str] | None = None


def parse_stream(body: bytes) -> tuple[list[ReceivedEvent], list[Fault]]:
    faults: list[Fault] = []
    frames: list[ReceivedEvent] = []
    for event in split_events(body, faults):
        if event.data is None:
            faults.append(Fault(f"the event {event.name} has no data", EVENT_FORMAT_FIX))
            continue
        try:
            # Accept lone surrogates, as JavaScript does.
            frames.append(
                ReceivedEvent(event.name, json.loads("\n".join(event.data), parse_constant=reject_constant))
            )
        except (ValueError, RecursionError):
            excerpt = "\n".join(event.data)[:60]
            faults.append(Fault(f"data that is no JSON ends the person's turn: {excerpt!r}", JSON_DATA_FIX))
    return frames, faults


def reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def split_events(body: bytes, faults: list[Fault]) -> Iterator[PartialEvent]:
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    *lines, tail = LINE_END.split(text)
    event: PartialEvent | None = None
    for line in lines:
        if not line:
            if event is not None:
                yield event
            event = None
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        # An empty field is a comment.
        if field == "event":
            event = event or PartialEvent()
            event.name = value
        elif field == "data":
            event = event or PartialEvent()
            event.data = [*(event.data or ()), value]
        elif field not in ("", "id", "retry"):
            faults.append(
                Fault(f"a line that is no field of an event: {line[:60]!r}", EVENT_FORMAT_FIX, enforced=False)
            )
    if event is not None or tail:
        faults.append(Fault("the last event is lost: no blank line ends it", EVENT_FORMAT_FIX))
