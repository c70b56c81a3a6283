"""Check answers to plain questions and to questions about a widget, for both client versions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from rightseat.doctor import doors
from rightseat.doctor.client import Reply, Unreachable
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.doctor.openbb.caller import Caller, readable
from rightseat.doctor.openbb.chat import Chat, strangers
from rightseat.doctor.openbb.events import CALL, CHUNK, faults
from rightseat.doctor.openbb.fault import Fault, lines
from rightseat.doctor.openbb.functions import LOST, STATE
from rightseat.doctor.openbb.requests import ASK, PLAIN, human, loose, then, today
from rightseat.doctor.openbb.stream import Frame, read

MOST_TRIPS = 6
TELLING = 4
"""Answers with fewer events are too short to judge streaming."""
TOLD = "answer 200 with a stream that says it in words: of anything else the person sees only that it failed"


def era(*, old: bool) -> str:
    return "openbb 2024" if old else "openbb today"


def judged(reply: Reply, *, old: bool) -> tuple[list[Frame], list[Fault]]:
    """Return the events of an answer and all its faults."""
    found = list(readable(reply))
    if reply.status != 200:
        said = reply.body[:200].decode("utf-8", "replace")
        return [], [*found, Fault(f"HTTP {reply.status}: {said}", TOLD)]
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return [], [*found, Fault("the answer is no event stream", "answer with text/event-stream")]
    frames, wrong = read(reply.body)
    return frames, [*found, *wrong, *faults(frames, old=old), *hidden(reply)]


def hidden(reply: Reply) -> Iterator[Fault]:
    exposed = reply.headers.get("access-control-expose-headers", "").lower()
    if "x-trace-id" in reply.headers and "x-trace-id" not in exposed and "*" not in exposed:
        yield Fault("the page may not read X-Trace-Id", "name it in Access-Control-Expose-Headers", False)


def said(frames: Iterable[Frame]) -> str:
    return "".join(frame.data["delta"] for frame in frames if frame.name == CHUNK)


def call_of(frames: list[Frame]) -> dict[str, Any] | None:
    found: dict[str, Any] | None = frames[-1].data if frames and frames[-1].name == CALL else None
    return found


async def plain(caller: Caller, url: str, *, old: bool) -> AsyncIterator[Line]:
    what = f"{era(old=old)}: question"
    body = {"messages": [human(PLAIN)], **(then() if old else today())}
    try:
        reply = await caller.post(url, body)
    except Unreachable as error:
        yield broken(what, str(error), TOLD)
        return
    frames, wrong = judged(reply, old=old)
    bad = any(fault.enforced for fault in wrong)
    for line in lines(what, wrong, "" if bad else f"answered {said(frames)[:60]!r}"):
        yield line
    for warning in [] if bad else failures(frames):
        yield skipped(what, f"a failure, told as it should be: {warning}")
    if not bad and len(frames) >= TELLING:
        yield doors.flow(what, reply)


def failures(frames: Iterable[Frame]) -> list[str]:
    states = [frame.data for frame in frames if frame.name == "copilotStatusUpdate"]
    return [state["message"] for state in states if state["eventType"] != "INFO"]


async def trip(caller: Caller, url: str, *, old: bool) -> AsyncIterator[Line]:
    """Ask about a widget and answer the function calls until there is text."""
    what = f"{era(old=old)}: widget"
    chat = Chat(ASK, old=old)
    asked: list[str] = []
    while len(asked) <= MOST_TRIPS:
        asked.append(json.dumps(chat.messages))
        try:
            frames, wrong = judged(await caller.post(url, chat.body()), old=old)
        except Unreachable as error:
            frames, wrong = [], [Fault(str(error), TOLD)]
        enforced = [fault for fault in wrong if fault.enforced]
        # The client posts again even if it deleted the call and its result.
        call = call_of(frames) if set(enforced) <= {LOST} else None
        if call is not None and asked[-1] in asked[:-1]:
            yield broken(what, "endless: the same request is answered by the same call", STATE)
            return
        for line in lines(what, enforced) if enforced else ():
            yield line
        if call is None:
            if not enforced:
                yield ended(what, len(asked) - 1, said(frames))
            return
        if gone := list(strangers(call, old=old)):
            yield broken(what, f"asks for {gone[0]!r}, which is not on the dashboard", "name a given widget")
            return
        chat.give(call)
    yield broken(what, f"no answer after {MOST_TRIPS} calls", "end a turn that repeats its calls with words")


def ended(what: str, trips: int, text: str) -> Line:
    if not trips:
        return skipped(what, "answered without asking for its data", "ask the model to use what is offered")
    if not text:
        return broken(what, "the result of the call brings no words", "answer with text")
    return good(what, f"{trips} call{'s' if trips > 1 else ''}, then words: {text[:60]!r}")


async def tolerance(caller: Caller, url: str) -> AsyncIterator[Line]:
    """Check requests that exceed the official models, and an empty message list."""
    what = "openbb: loose request"
    try:
        _, wrong = judged(await caller.post(url, loose()), old=False)
        for line in lines(what, (fault for fault in wrong if fault.enforced), "null, forms and new fields"):
            yield line
        empty = await caller.post(url, {"messages": []})
    except Unreachable as error:
        yield broken(what, str(error), TOLD)
        return
    what = "openbb: no messages"
    if empty.status == 422 and b"messages list cannot be empty" in empty.body:
        yield good(what, "HTTP 422")
    else:
        fix = 'answer 422 with "messages list cannot be empty": OpenBB\'s own tests look for it'
        yield (broken if empty.status >= 500 else skipped)(what, f"HTTP {empty.status}", fix)
