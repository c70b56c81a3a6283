"""Parse an event stream as the client does: invalid JSON in an event ends the turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from msgspec import Struct

from rightseat.doctor.openbb.fault import Fault

LINE_END = re.compile(r"\r\n|\n|\r")
NAMED = "write `event: NAME` and `data: {…}` for each event, and a blank line after it"
JSON = "write every event's data as one line of JSON; leave out [DONE]"


class Frame(Struct, frozen=True):
    name: str
    data: Any


class Cut(Struct):
    """An event whose lines are still arriving."""

    name: str = ""
    data: list[str] | None = None


def read(body: bytes) -> tuple[list[Frame], list[Fault]]:
    faults: list[Fault] = []
    frames: list[Frame] = []
    for cut in cuts(body, faults):
        if cut.data is None:
            faults.append(Fault(f"the event {cut.name} has no data", NAMED))
            continue
        try:
            # Accept lone surrogates, as JavaScript does.
            frames.append(Frame(cut.name, json.loads("\n".join(cut.data), parse_constant=refuse)))
        except (ValueError, RecursionError):
            shown = "\n".join(cut.data)[:60]
            faults.append(Fault(f"data that is no JSON ends the person's turn: {shown!r}", JSON))
    return frames, faults


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def cuts(body: bytes, faults: list[Fault]) -> Iterator[Cut]:
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    *whole, rest = LINE_END.split(text)
    open: Cut | None = None
    for line in whole:
        if not line:
            if open is not None:
                yield open
            open = None
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        # An empty field is a comment.
        if field == "event":
            open = open or Cut()
            open.name = value
        elif field == "data":
            open = open or Cut()
            open.data = [*(open.data or ()), value]
        elif field not in ("", "id", "retry"):
            faults.append(Fault(f"a line that is no field of an event: {line[:60]!r}", NAMED, enforced=False))
    if open is not None or rest:
        faults.append(Fault("the last event is lost: no blank line ends it", NAMED))
