"""Encode events as OpenBB's server-sent events.

A stream has at most one function call, as its last event. Legacy clients know text and calls only. A failure
is text in a stream with status 200: of any other status the user sees nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.doors.openbb import messages
from rightseat.doors.openbb.artifacts import format_artifact, make_citations, normalize_citation
from rightseat.doors.openbb.client_results import make_outbound
from rightseat.doors.openbb.read import OpenBBRequest, describe_assistant
from rightseat.doors.openbb.turn import complete_turn
from rightseat.doors.openbb.wire import PendingClientCall, as_dict, as_list, to_json
from rightseat.errors import INTERNAL_ERROR, CallerError, GuardrailRefused, OutputGuarded, RightseatError, TooLarge
from rightseat.http.endpoint import SSE_HEADERS, Host, format_error_headers, get_error_url, make_reply
from rightseat.http.reply import EarlyStart, Reply, ResponseStart
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
    RunStarted,
    StepStart,
    Suggestions,
    TextDelta,
    TextStart,
)
from rightseat.types.language import Language
from rightseat.types.messages import ToolCall
from rightseat.types.output import RunOutput
from rightseat.types.sentences import get_sentence
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none
from rightseat.types.turn import Turn

encode = msgspec.json.Encoder().encode
TEXT_EVENT = b'event: copilotMessageChunk\ndata: {"delta":'
PARAGRAPH = "\n\n"
FAILURE_FRAME = TEXT_EVENT + encode(f"{PARAGRAPH}{INTERNAL_ERROR.message} ({INTERNAL_ERROR.code})") + b"}\n\n"
MAX_DETAIL = 2000
GUARDRAIL_CODES = (GuardrailRefused.code, OutputGuarded.code)
CUT_SENTENCES = {"length": "cut_length", "content_filter": "cut_content_filter"}


def refuse(error: RightseatError) -> Reply:
    """Answer an error in the shape of OpenBB's example server: a bad body is 422."""
    status = 422 if error.status == 400 else error.status
    body = {"detail": error.message, "code": error.code, "doc_url": get_error_url(error)}
    return make_reply(status, encode(body), *format_error_headers(error))


def refuse_for(error: RightseatError, headers: dict[str, str]) -> Reply:
    """Answer an error of a request whose body was not read. What is too large is said in a stream: the client shows
    nothing of any other response."""
    if not isinstance(error, TooLarge):
        return refuse(error)
    language: Language = "zh" if headers.get("accept-language", "").lower().startswith("zh") else "en"
    text = f"{get_sentence('openbb_too_large', language)} ({error.code})"
    body, links = TEXT_EVENT + encode(text) + b"}\n\n", format_error_headers(error)
    return make_reply(200, body, *links, content_type=b"text/event-stream; charset=utf-8")


async def stream_answer(request: OpenBBRequest, host: Host) -> Reply:
    """Stream the answer. The response head is sent with the first event, or early where that is late."""
    writer = OpenBBEventWriter(request)
    trace_header = ((b"x-trace-id", request.trace_id.encode()),) if request.trace_id else ()
    head = ResponseStart(200, (*SSE_HEADERS, *trace_header), KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)
    opening = b"".join(writer.write_opening())
    started = bool(opening)
    if started:
        yield head
        yield opening
    else:
        # The test harness of OpenBB's library fails at a comment before the first event; Workspace skips it.
        yield EarlyStart(head, quiet=not request.reads_comments)
    if request.pending_calls or not request.items:
        return
    async with make_outbound(request.fetch_rules) as outbound:
        turn = await apply_table_rules(request, await complete_turn(request, outbound), host)
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


async def apply_table_rules(request: OpenBBRequest, turn: Turn, host: Host) -> Turn:
    """Return the turn with what rules have decided for a model that needs them; any other turn unchanged."""
    description = describe_assistant(host, turn.assistant)
    if description is None or not description.needs_rules:
        return turn

    def decide() -> Turn:
        # Imported here: other models need none of its patterns.
        from rightseat.doors.openbb.table_rules import decide_turn

        return decide_turn(request, turn, description)

    # Rows and options of widgets may be many: they are read beside the event loop.
    return await asyncio.to_thread(decide)


def format_details(details: Any) -> list[Any] | None:
    """Return the details of a status update, which Workspace takes as objects and texts."""
    items = [details] if isinstance(details, dict | str) and details else as_list(details)
    return [item if isinstance(item, dict | str) else to_json(item) for item in items] or None


class OpenBBEventWriter:
    def __init__(self, request: OpenBBRequest) -> None:
        self.request = request
        self.has_text = False
        self.has_output = False
        self.notices_written = False
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

    def write_notices(self) -> Iterator[bytes]:
        """Write what was left out or not read, as status updates; each is told once in a turn."""
        if self.notices_written:
            return
        self.notices_written = True
        for notice in self.request.notices:
            if notice.is_new:
                yield from self.write_status(notice.text, "WARNING" if notice.failed else "INFO")

    def write_notices_as_text(self) -> Iterator[bytes]:
        """Write all notices of the turn below the answer, for clients that show text only."""
        if self.request.notices and not self.request.shows_events:
            yield from self.write_sentence("\n".join(f"({notice.text})" for notice in self.request.notices))

    def write_event(self, event: Event) -> Iterator[bytes]:
        match event:
            case RunStarted():
                # Not before: a run that is refused has a status of its own.
                yield from self.write_notices()
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
                # A tool may yield anything.
                values: list[Any] = list(items)
                citations = [normalize_citation(item) for item in values if isinstance(item, dict)]
                yield from self.write_sse("copilotCitationCollection", {"citations": citations})
            case Suggestions(prompts):
                yield from self.write_sse("copilotPromptSuggestions", {"suggestions": list(prompts)})
            case Custom("progress", {"message": str(text)} as value):
                kind = "WARNING" if value.get("warning") is True else "INFO"
                yield from self.write_status(text, kind, format_details(value.get("details")))
            case Custom("history_cut", value):
                yield from self.write_status(self.say("history_cut"), details=[value])
            case _:
                pass

    def write_finish(self, event: RunFinished) -> Iterator[bytes]:
        if event.pending:
            outputs = (self.output.calls.get(id) for id in event.pending)
            calls = (output.call for output in outputs if output and output.ended)
            yield from self.write_client_calls([*calls])
            return
        if event.reason in CUT_SENTENCES:
            yield from self.write_sentence(get_sentence(CUT_SENTENCES[event.reason], self.request.language))
        elif not self.has_text and not self.has_output:
            yield from self.write_sentence(get_sentence("no_answer", self.request.language))
        elif self.request.sources and self.request.shows_events:
            collection = {"citations": make_citations(self.request.sources)}
            yield from self.write_sse("copilotCitationCollection", collection)
        yield from self.write_notices_as_text()

    def write_client_calls(self, calls: list[ToolCall]) -> Iterator[bytes]:
        """Write the calls with the arguments that the client takes. The engine has refused others already; an agent
        of another kind has no such check."""
        pending = []
        for call in calls:
            try:
                arguments = self.request.convert_arguments(call.name, as_dict(decode_or_none(call.arguments)))
                pending.append(PendingClientCall(call.id, call.name, arguments))
            except CallerError as error:
                yield from self.write_sentence(error.message)
                return
        yield from self.write_function_call(pending)

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
