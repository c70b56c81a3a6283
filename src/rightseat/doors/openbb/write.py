"""Encode events as OpenBB's server-sent events.

A stream has at most one function call, as its last event. Legacy clients know text and calls only. A failure
is text in a stream with status 200: of any other status the user sees nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.doors.openbb import messages
from rightseat.doors.openbb.artifacts import format_artifact, make_citations, normalize_citation
from rightseat.doors.openbb.client_results import make_outbound
from rightseat.doors.openbb.read import OpenBBRequest
from rightseat.doors.openbb.turn import complete_turn
from rightseat.doors.openbb.wire import PendingClientCall, as_dict
from rightseat.errors import INTERNAL_ERROR, GuardrailRefused, OutputGuarded, RightseatError
from rightseat.http.endpoint import SSE_HEADERS, Host, format_retry_after, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.events import (
    Artifact,
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Citations,
    Custom,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    RunFailed,
    RunFinished,
    StepStart,
    Suggestions,
    TextDelta,
    TextStart,
)
from rightseat.types.output import RunOutput
from rightseat.types.sentences import get_sentence
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none

encode = msgspec.json.Encoder().encode
TEXT_EVENT = b'event: copilotMessageChunk\ndata: {"delta":'
PARAGRAPH = "\n\n"
FAILURE_FRAME = TEXT_EVENT + encode(f"{PARAGRAPH}{INTERNAL_ERROR.message} ({INTERNAL_ERROR.code})") + b"}\n\n"
MAX_DETAIL = 2000
GUARDRAIL_CODES = (GuardrailRefused.code, OutputGuarded.code)
CUT_OFF_REASONS = ("length", "content_filter")


def refuse(error: RightseatError) -> Reply:
    """Answer an error in the shape of OpenBB's example server: a bad body is 422."""
    status = 422 if error.status == 400 else error.status
    return make_reply(status, encode({"detail": error.message, "code": error.code}), *format_retry_after(error))


async def stream_answer(request: OpenBBRequest, host: Host) -> Reply:
    """Stream the answer. The response head is sent with the first event, so that no keep-alive precedes it."""
    writer = OpenBBEventWriter(request)
    trace_header = ((b"x-trace-id", request.trace_id.encode()),) if request.trace_id else ()
    head = ResponseStart(200, (*SSE_HEADERS, *trace_header), KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)
    started = False
    for piece in writer.write_opening():
        if not started:
            started = True
            yield head
        yield piece
    if request.pending_calls or not request.items:
        return
    async with make_outbound() as outbound:
        turn = await complete_turn(request, outbound)
    for piece in writer.write_unread_notices():
        yield piece
    # One generator, not two nested ones: each token would pay for the second.
    async with closing(host.run(turn)) as events:
        async for event in events:
            if type(event) is TextDelta and started:
                if event.text:
                    writer.has_text = True
                    yield TEXT_EVENT + encode(event.text) + b"}\n\n"
                continue
            for piece in writer.write_event(event):
                if not started:
                    started = True
                    yield head
                yield piece


class OpenBBEventWriter:
    def __init__(self, request: OpenBBRequest) -> None:
        self.request = request
        self.has_text = False
        self.has_output = False
        self.reasoning: list[str] = []
        self.output = RunOutput()
        """The calls so far."""

    def write_opening(self) -> Iterator[bytes]:
        """Write what precedes or replaces the model's answer."""
        if not self.request.items:
            yield from self.write_sentence(self.say("unreadable"))
        elif self.request.pending_calls:
            yield from self.write_function_call(list(self.request.pending_calls), resumed=True)
        elif count := self.request.slow_parts:
            yield from self.write_status(self.say("reading_files" if count > 1 else "reading_file", count=count))

    def write_unread_notices(self) -> Iterator[bytes]:
        for sentence in self.request.unread_notices:
            yield from self.write_status(sentence, "WARNING")

    def write_event(self, event: Event) -> Iterator[bytes]:
        match event:
            case TextStart():
                if self.has_text:
                    yield from self.write_text(PARAGRAPH)
            case TextDelta(text=text):
                if text:
                    yield from self.write_text(text)
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                yield from self.write_call_event(event)
            case RunFinished():
                yield from self.write_finish(event)
            case RunFailed(code, message):
                yield from self.write_failure(code, message)
            case _ if self.request.shows_events:
                yield from self.write_workspace_event(event)
            case _:
                pass

    def write_text(self, text: str) -> Iterator[bytes]:
        self.has_text = True
        yield TEXT_EVENT + encode(text) + b"}\n\n"

    def say(self, key: str, **values: object) -> str:
        """Return a sentence of this door in the person's language."""
        return get_sentence(f"openbb_{key}", self.request.language, **values)

    def write_sentence(self, text: str) -> Iterator[bytes]:
        return self.write_text((PARAGRAPH if self.has_text else "") + text)

    def write_sse(self, name: str, data: dict[str, Any]) -> Iterator[bytes]:
        self.has_output = True
        yield format_event(encode(data), event=name)

    def write_status(self, message: str, kind: str = "INFO", details: list[Any] | None = None) -> Iterator[bytes]:
        if not self.request.shows_events:
            return
        data: dict[str, Any] = {"eventType": kind, "message": message, "group": "reasoning"}
        yield format_event(encode(data | ({"details": details} if details else {})), event="copilotStatusUpdate")

    def write_call_event(self, event: CallStart | CallArgs | CallEnd | CallResult) -> Iterator[bytes]:
        self.output.add_event(event)
        call = self.output.calls.get(event.id)
        match event:
            case CallEnd() if call and not call.start.client:
                arguments = as_dict(decode_or_none(call.call.arguments))
                yield from self.write_status(
                    self.say("running", name=call.start.name), details=[arguments] if arguments else None
                )
            case CallResult(_, content, failed):
                name = call.start.name if call else self.say("a_tool")
                kind, verb = ("WARNING", "failed") if failed else ("INFO", "done")
                details = [content[:MAX_DETAIL]] if content else None
                yield from self.write_status(self.say(verb, name=name), kind, details)
            case _:
                pass

    def write_workspace_event(self, event: Event) -> Iterator[bytes]:
        """Write events that only Workspace shows."""
        match event:
            case StepStart(name):
                yield from self.write_status(name)
            case ReasoningDelta(text=text):
                self.reasoning.append(text)
            case ReasoningEnd():
                thought, self.reasoning = "".join(self.reasoning).strip(), []
                if thought:
                    yield from self.write_status(self.say("thinking"), details=[thought[:MAX_DETAIL]])
            case Artifact():
                yield from self.write_sse("copilotMessageArtifact", format_artifact(event, self.request.artifact_names))
            case Citations(items):
                yield from self.write_sse("copilotCitationCollection", {"citations": [*map(normalize_citation, items)]})
            case Suggestions(prompts):
                yield from self.write_sse("copilotPromptSuggestions", {"suggestions": list(prompts)})
            case Custom("progress", {"message": str(text)}):
                yield from self.write_status(text)
            case Custom("history_cut", value):
                yield from self.write_status(self.say("history_cut"), details=[value])
            case _:
                pass

    def write_finish(self, event: RunFinished) -> Iterator[bytes]:
        if event.pending:
            outputs = (self.output.calls.get(id) for id in event.pending)
            calls = (output.call for output in outputs if output and output.ended)
            pending = [PendingClientCall(c.id, c.name, as_dict(decode_or_none(c.arguments))) for c in calls]
            yield from self.write_function_call(pending)
        elif event.reason in CUT_OFF_REASONS:
            yield from self.write_sentence(self.say(event.reason))
        elif not self.has_text and not self.has_output:
            yield from self.write_sentence(self.say("no_answer"))
        elif self.request.sources and self.request.shows_events:
            collection = {"citations": make_citations(self.request.sources)}
            yield from self.write_sse("copilotCitationCollection", collection)

    def write_function_call(self, pending: list[PendingClientCall], *, resumed: bool = False) -> Iterator[bytes]:
        """Write the function call that ends the stream."""
        request = self.request
        next_calls, later = messages.split_next_calls(pending, request.tools, legacy=request.legacy)
        if not next_calls:
            yield from self.write_sentence(self.say("missing_tool"))
            return
        # Equal calls within one answer are allowed; repeating an earlier answer's calls is a loop.
        if not resumed and messages.is_repeated(pending, request.tools, request.seen_calls, legacy=request.legacy):
            yield from self.write_sentence(self.say("repeated_call"))
            return
        seen = tuple(dict.fromkeys((*request.state.seen, *request.seen_calls)))[-256:]
        state = replace(request.state, calls=tuple(next_calls), later=tuple(later), seen=seen)
        data = messages.make_function_call(state, request.tools, legacy=request.legacy)
        yield format_event(encode(data), event="copilotFunctionCall")

    def write_failure(self, code: str, message: str) -> Iterator[bytes]:
        if code in GUARDRAIL_CODES:
            # A guardrail's refusal is not an error: send it as text.
            yield from self.write_sentence(message)
            return
        # ERROR makes the client drop the newest call and its result: right only if they were too long.
        kind = "ERROR" if code == "context_too_long" and self.request.current_batches else "WARNING"
        yield from self.write_status(self.say("answer_failed"), kind, [{"code": code}])
        yield from self.write_sentence(f"{message} ({code})")
