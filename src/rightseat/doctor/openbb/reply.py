"""ExaminedReply: one answer, its faults and what a person sees of it. Chats are played with their function calls."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec import Struct

from rightseat.doctor.client import ProbeReply, Unreachable
from rightseat.doctor.openbb.events import (
    CALL_EVENT,
    CHUNK_EVENT,
    EXTRA_STATE_FIX,
    MISSING_EXTRA_STATE,
    ReceivedEvent,
    check_events,
    parse_stream,
)
from rightseat.doctor.openbb.screen import ScreenPart, build_screen
from rightseat.doctor.openbb.simulated_client import OpenBBPage, SimulatedChat, check_readable
from rightseat.doctor.result import Fault

MAX_ROUND_TRIPS = 6
SLOW_SECONDS = 10.0
ERROR_STREAM_FIX = (
    "answer 200 with a stream that says it in words: of anything else the person sees only that it failed"
)
NOTHING_SEEN = Fault("no event that the client knows: the person sees nothing", "send text, also when it fails")
ENDLESS = Fault("endless: the same request is answered by the same call", EXTRA_STATE_FIX)
TOO_MANY_CALLS = Fault(f"no answer after {MAX_ROUND_TRIPS} calls", "end a turn that repeats its calls with words")


class ExaminedReply(Struct, frozen=True):
    """One answer: its events, its faults, and what a person sees of it."""

    frames: list[ReceivedEvent]
    faults: list[Fault]
    parts: list[ScreenPart]
    reply: ProbeReply | None = None

    @property
    def enforced_faults(self) -> list[Fault]:
        return [fault for fault in self.faults if fault.enforced]

    @property
    def text(self) -> str:
        return "".join(frame.data["delta"] for frame in self.frames if frame.name == CHUNK_EVENT)

    @property
    def call(self) -> Any:
        """The function call that the client carries out. It does so even if it deletes the call and its result."""
        is_right = set(self.enforced_faults) <= {MISSING_EXTRA_STATE}
        return self.frames[-1].data if is_right and self.frames and self.frames[-1].name == CALL_EVENT else None


def examine_reply(reply: ProbeReply, origin: str, *, old: bool, cut: str = "") -> ExaminedReply:
    """Examine an answer. `cut` says why it is not whole."""
    read_faults = list(check_readable(reply, origin))
    if read_faults:
        error = ScreenPart("error", "The client shows that it failed: the browser hides the answer (CORS)")
        return ExaminedReply([], read_faults, [error], reply)
    if reply.status != 200:
        body_text = reply.body[:200].decode("utf-8", "replace")
        error = ScreenPart("error", f"The client shows only that it failed: HTTP {reply.status}")
        return ExaminedReply([], [Fault(f"HTTP {reply.status}: {body_text}", ERROR_STREAM_FIX)], [error], reply)
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        fault = Fault("the answer is no event stream", "answer with text/event-stream")
        return ExaminedReply([], [fault], [ScreenPart("not shown", fault.why)], reply)
    stream = list(parse_stream(reply.body))
    frames = [item for item in stream if isinstance(item, ReceivedEvent)]
    parts = build_screen(stream, old=old)
    faults = [item for item in stream if isinstance(item, Fault)]
    faults += [*check_events(frames, old=old), *check_trace_header(reply), *check_first_byte(reply)]
    if cut:
        faults.append(Fault(cut, ERROR_STREAM_FIX))
        parts.append(ScreenPart("error", f"The client shows that it failed: {cut}"))
    if all(part.kind == "not shown" for part in parts):
        faults.append(NOTHING_SEEN)
    return ExaminedReply(frames, faults, parts, reply)


def check_trace_header(reply: ProbeReply) -> Iterator[Fault]:
    exposed = reply.headers.get("access-control-expose-headers", "").lower()
    if "x-trace-id" in reply.headers and "x-trace-id" not in exposed and "*" not in exposed:
        yield Fault("the page may not read X-Trace-Id", "name it in Access-Control-Expose-Headers", False)


def check_first_byte(reply: ProbeReply) -> Iterator[Fault]:
    if reply.first_byte_seconds > SLOW_SECONDS:
        why = f"nothing came for {reply.first_byte_seconds:.0f} s: a proxy may cut the connection"
        yield Fault(why, "send the head and a comment while the model thinks", enforced=False)


async def post_query(caller: OpenBBPage, url: str, body: dict[str, Any], *, old: bool) -> ExaminedReply:
    """Post a request and examine the answer, also one that is cut or never comes."""
    try:
        return examine_reply(await caller.post(url, body, old=old), caller.origin, old=old)
    except Unreachable as error:
        if error.partial is not None:
            return examine_reply(error.partial, caller.origin, old=old, cut=str(error))
        part = ScreenPart("error", f"The client shows that it failed: {error}")
        return ExaminedReply([], [Fault(str(error), ERROR_STREAM_FIX)], [part])


async def play_chat(caller: OpenBBPage, url: str, chat: SimulatedChat) -> AsyncIterator[ExaminedReply]:
    """Post a chat and yield each answer; carry out its function call and post again, until there is none."""
    posted: list[str] = []
    while len(posted) <= MAX_ROUND_TRIPS:
        messages = json.dumps(chat.messages)
        answer = await post_query(caller, url, chat.build_body(), old=chat.old)
        if answer.call is not None and messages in posted:
            yield make_ended_reply(ENDLESS)
            return
        yield answer
        if answer.call is None:
            return
        posted.append(messages)
        chat.answer_call(answer.call)
    yield make_ended_reply(TOO_MANY_CALLS)


def make_ended_reply(fault: Fault) -> ExaminedReply:
    return ExaminedReply([], [fault], [ScreenPart("error", f"No answer comes: {fault.why}")])
