"""Check answers to plain questions and to questions about a widget, for both client versions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from rightseat.doctor import running_server
from rightseat.doctor.client import ProbeReply, Unreachable
from rightseat.doctor.openbb.events import (
    CALL_EVENT,
    CHUNK_EVENT,
    EXTRA_STATE_FIX,
    MISSING_EXTRA_STATE,
    STATUS_EVENT,
    ReceivedEvent,
    check_events,
    parse_stream,
)
from rightseat.doctor.openbb.simulated_client import (
    PLAIN_QUESTION,
    WIDGET_QUESTION,
    OpenBBPage,
    SimulatedChat,
    check_readable,
    find_unknown_widgets,
    make_current_fields,
    make_human_message,
    make_legacy_fields,
    make_loose_request,
)
from rightseat.doctor.result import CheckResult, Fault, broken, good, report_faults, skipped

MAX_ROUND_TRIPS = 6
MIN_STREAM_EVENTS = 4
"""Answers with fewer events are too short to judge streaming."""
ERROR_STREAM_FIX = (
    "answer 200 with a stream that says it in words: of anything else the person sees only that it failed"
)


def format_era(*, old: bool) -> str:
    return "openbb 2024" if old else "openbb today"


def check_reply(reply: ProbeReply, *, old: bool) -> tuple[list[ReceivedEvent], list[Fault]]:
    """Return the events of an answer and all its faults."""
    read_faults = list(check_readable(reply))
    if reply.status != 200:
        body_text = reply.body[:200].decode("utf-8", "replace")
        return [], [*read_faults, Fault(f"HTTP {reply.status}: {body_text}", ERROR_STREAM_FIX)]
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return [], [*read_faults, Fault("the answer is no event stream", "answer with text/event-stream")]
    frames, stream_faults = parse_stream(reply.body)
    return frames, [*read_faults, *stream_faults, *check_events(frames, old=old), *check_trace_header(reply)]


def check_trace_header(reply: ProbeReply) -> Iterator[Fault]:
    exposed = reply.headers.get("access-control-expose-headers", "").lower()
    if "x-trace-id" in reply.headers and "x-trace-id" not in exposed and "*" not in exposed:
        yield Fault("the page may not read X-Trace-Id", "name it in Access-Control-Expose-Headers", False)


def join_text(frames: Iterable[ReceivedEvent]) -> str:
    return "".join(frame.data["delta"] for frame in frames if frame.name == CHUNK_EVENT)


def find_call(frames: list[ReceivedEvent]) -> Any:
    return frames[-1].data if frames and frames[-1].name == CALL_EVENT else None


async def check_plain_question(caller: OpenBBPage, url: str, *, old: bool) -> AsyncIterator[CheckResult]:
    what = f"{format_era(old=old)}: question"
    fields = make_legacy_fields() if old else make_current_fields()
    try:
        reply = await caller.post(url, {"messages": [make_human_message(PLAIN_QUESTION)], **fields})
    except Unreachable as error:
        yield broken(what, str(error), ERROR_STREAM_FIX)
        return
    frames, wrong = check_reply(reply, old=old)
    bad = any(fault.enforced for fault in wrong)
    for line in report_faults(what, wrong, "" if bad else f"answered {join_text(frames)[:60]!r}"):
        yield line
    for frame in [] if bad else frames:
        if frame.name == STATUS_EVENT and frame.data["eventType"] != "INFO":
            yield skipped(what, f"a failure, told as it should be: {frame.data['message']}")
    if not bad and len(frames) >= MIN_STREAM_EVENTS:
        yield running_server.check_streaming(what, reply)


async def check_widget_question(caller: OpenBBPage, url: str, *, old: bool) -> AsyncIterator[CheckResult]:
    """Ask about a widget and answer the function calls until there is text."""
    what = f"{format_era(old=old)}: widget"
    chat = SimulatedChat(WIDGET_QUESTION, old=old)
    posted: list[str] = []
    while len(posted) <= MAX_ROUND_TRIPS:
        posted.append(json.dumps(chat.messages))
        try:
            frames, wrong = check_reply(await caller.post(url, chat.build_body()), old=old)
        except Unreachable as error:
            frames, wrong = [], [Fault(str(error), ERROR_STREAM_FIX)]
        enforced = [fault for fault in wrong if fault.enforced]
        # The client posts again even if it deleted the call and its result.
        call = find_call(frames) if set(enforced) <= {MISSING_EXTRA_STATE} else None
        if call is not None and posted[-1] in posted[:-1]:
            yield broken(what, "endless: the same request is answered by the same call", EXTRA_STATE_FIX)
            return
        for line in report_faults(what, enforced) if enforced else ():
            yield line
        if call is None:
            if not enforced:
                yield judge_round_trips(what, len(posted) - 1, join_text(frames))
            return
        if unknown_widgets := list(find_unknown_widgets(call, old=old)):
            yield broken(what, f"asks for {unknown_widgets[0]!r}, which is not on the dashboard", "name a given widget")
            return
        chat.answer_call(call)
    yield broken(what, f"no answer after {MAX_ROUND_TRIPS} calls", "end a turn that repeats its calls with words")


def judge_round_trips(what: str, trips: int, text: str) -> CheckResult:
    if not trips:
        return skipped(what, "answered without asking for its data", "ask the model to use what is offered")
    if not text:
        return broken(what, "the result of the call brings no words", "answer with text")
    return good(what, f"{trips} call{'s' if trips > 1 else ''}, then words: {text[:60]!r}")


async def check_tolerance(caller: OpenBBPage, url: str) -> AsyncIterator[CheckResult]:
    """Check requests that exceed the official models, and an empty message list."""
    what = "openbb: loose request"
    try:
        _, wrong = check_reply(await caller.post(url, make_loose_request()), old=False)
        for line in report_faults(what, (fault for fault in wrong if fault.enforced), "null, forms and new fields"):
            yield line
        empty = await caller.post(url, {"messages": []})
    except Unreachable as error:
        yield broken(what, str(error), ERROR_STREAM_FIX)
        return
    what = "openbb: no messages"
    if empty.status == 422 and b"messages list cannot be empty" in empty.body:
        yield good(what, "HTTP 422")
    else:
        fix = 'answer 422 with "messages list cannot be empty": OpenBB\'s own tests look for it'
        yield (broken if empty.status >= 500 else skipped)(what, f"HTTP {empty.status}", fix)
