"""Convert a stream of events to the lists of CopilotResponse: messages with chunks and statuses, meta events.

A ResponseSink takes them: PlannedResponseWriter encodes frames, ResponseCollector collects the whole. Clients
expect a call directly before its result, so a later call waits for an earlier call's result.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from rightseat.doors.copilotkit.agent_state import AgentStateTracker
from rightseat.doors.copilotkit.failures import make_error_details
from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.errors import GuardrailRefused, OutputGuarded
from rightseat.types.events import (
    EXIT,
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Custom,
    Event,
    Interrupt,
    ReasoningEnd,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.text import decode_or_none

encode = msgspec.json.Encoder().encode
CallEvent = CallStart | CallArgs | CallEnd | CallResult
Status = dict[str, Any]

PENDING: Status = {"__typename": "PendingMessageStatus", "code": "Pending"}
SUCCESS: Status = {"__typename": "SuccessMessageStatus", "code": "Success"}
FAILED: Status = {"__typename": "FailedMessageStatus", "code": "Failed", "reason": "Error streaming message content"}
DONE: Status = {"__typename": "SuccessResponseStatus", "code": "Success", "type": "Success"}
GUARDRAIL_CODES = (GuardrailRefused.code, OutputGuarded.code)
CUT_OFF = "The answer was cut off in the middle of a tool call. Allow more tokens, or ask for less."
# CopilotKit's names for our tool error codes.
CLIENT_ERROR_CODES = {
    "tool_failed": "HANDLER_ERROR",
    "invalid_json": "INVALID_ARGUMENTS",
    "invalid_arguments": "INVALID_ARGUMENTS",
}


class ResponseSink(Protocol):
    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        """Add a message; return its number in the list."""
        ...

    def add_chunk(self, number: int, text: str) -> None: ...
    def set_status(self, number: int, status: Status) -> None: ...
    def add_meta_event(self, fields: dict[str, Any]) -> None: ...
    def add_extension(self, name: str, value: Any) -> None:
        """Add an entry of the result's `extensions`, the place that GraphQL leaves to servers."""
        ...

    def set_extensions(self, values: dict[str, Any]) -> None:
        """Set the response's own field `extensions`, as a model, an agent or a hook does by `response_extensions`."""
        ...

    def finish(self, status: Status) -> None: ...


def format_time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_now() -> str:
    return format_time(datetime.now(UTC))


class ResponseBuilder:
    def __init__(self, request: CopilotKitRequest, sink: ResponseSink) -> None:
        self.request = request
        self.sink = sink
        self.open_texts: dict[str, int] = {}
        self.ended_texts: list[int] = []
        """Texts that have ended but have no status yet: a failure directly after them marks them as failed."""
        self.queued_calls: dict[str, list[CallEvent]] = {}
        """Calls without a result, in order. Events of the first are sent at once, those of the others wait."""
        self.started_calls: dict[str, tuple[int, CallStart]] = {}
        self.questions: list[Interrupt] = []
        self.states = AgentStateTracker(request)

    def add_event(self, event: Event) -> None:
        match event:
            case TextDelta(id, text):
                if text:
                    self.sink.add_chunk(self.open_texts[id], text)
            case TextEnd(id):
                self.ended_texts.append(self.open_texts.pop(id))
            case ReasoningEnd():
                pass
            case RunFailed():
                self.finish_failed(event)
            case _:
                self.set_ended_status(SUCCESS)
                self.handle_event(event)

    def handle_event(self, event: Event) -> None:
        match event:
            case TextStart(id):
                self.open_texts[id] = self.sink.add_message("TextMessageOutput", self.make_text_fields(id))
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                self.queue_call_event(event)
            case Interrupt():
                self.questions.append(event)
            case StateSnapshot() | StateDelta() | StepStart() | StepEnd() | RunStarted():
                if self.states.apply_event(event):
                    self.send_state()
            case Custom():
                self.handle_custom(event)
            case RunFinished():
                self.finish(event)
            case _:
                pass  # GraphQL clients have no shape for other events

    def handle_custom(self, event: Custom) -> None:
        match event:
            case Custom("history_cut", value):
                self.sink.add_extension("history_cut", value)
            case Custom("extensions", dict(values)):
                self.sink.set_extensions(values)
            case Custom(name) if name == EXIT:
                self.states.has_exited = True
            case _:
                pass

    def set_ended_status(self, status: Status) -> None:
        for number in self.ended_texts:
            self.sink.set_status(number, status)
        self.ended_texts.clear()

    # Calls.

    def queue_call_event(self, event: CallEvent) -> None:
        if isinstance(event, CallStart):
            self.queued_calls[event.id] = []
        elif event.id not in self.queued_calls:
            self.send_call_event(event)  # the result of a call from an earlier answer
            return
        if event.id != next(iter(self.queued_calls)):
            self.queued_calls[event.id].append(event)
            return
        self.send_call_event(event)
        while self.is_call_over(event):
            del self.queued_calls[event.id]
            if not self.queued_calls:
                return
            last_event = self.release_call(next(iter(self.queued_calls)))
            if last_event is None:
                return
            event = last_event

    def is_call_over(self, event: CallEvent) -> bool:
        """Whether the event is the last of its call in this answer."""
        if isinstance(event, CallEnd):
            return event.id in self.started_calls and self.started_calls[event.id][1].client
        return isinstance(event, CallResult)

    def release_call(self, id: str) -> CallEvent | None:
        """Send the queued events of a call; return the last one."""
        queued, self.queued_calls[id] = self.queued_calls[id], []
        for event in queued:
            self.send_call_event(event)
        return queued[-1] if queued else None

    def send_call_event(self, event: CallEvent) -> None:
        match event:
            case CallStart(id, name, message):
                fields = {"id": id, "createdAt": format_now(), "name": name, "scope": None, "parentMessageId": message}
                self.started_calls[id] = self.sink.add_message("ActionExecutionMessageOutput", fields), event
            case CallArgs(id, json):
                if json:
                    self.sink.add_chunk(self.started_calls[id][0], json)
            case CallEnd(id):
                number, start = self.started_calls[id]
                self.sink.set_status(number, SUCCESS)
                # Kept for the result, which needs the name.
                self.started_calls[id] = -1, start
            case CallResult(id):
                self.send_result(event)

    def send_result(self, event: CallResult) -> None:
        number, start = self.started_calls.pop(event.id, (-1, None))
        if number >= 0:
            # The call proved invalid and has no end; with a result no client runs it.
            self.sink.set_status(number, SUCCESS)
        name = start.name if start else self.request.call_names.get(event.id, "")
        fields = {
            "id": f"result-{event.id}",
            "createdAt": format_now(),
            "actionExecutionId": event.id,
            "actionName": name,
            "result": encode_result(event),
        }
        self.sink.set_status(self.sink.add_message("ResultMessageOutput", fields), SUCCESS)

    def flush_calls(self) -> bool:
        """Send all queued events; return whether a call was cut off. It stays pending, so that no client runs it."""
        for id in list(self.queued_calls):
            self.release_call(id)
        cut = [number for number, _ in self.started_calls.values() if number >= 0]
        for number in cut:
            self.sink.set_status(number, PENDING)
        return bool(cut)

    # Questions, state and ends.

    def send_questions(self) -> None:
        if self.questions and self.request.has_client_results:
            # Without a text after the results the client would run its calls again, endlessly.
            self.send_text(self.questions[0].id, "\n\n".join(item.message for item in self.questions))
        for item in self.questions:
            self.sink.add_meta_event(make_interrupt_event(item))

    def send_text(self, id: str, content: str) -> None:
        """Send a text message. `id` belongs to the run, so that the engine recognizes the posted message as its own."""
        number = self.sink.add_message("TextMessageOutput", self.make_text_fields(id))
        self.sink.add_chunk(number, content)
        self.sink.set_status(number, SUCCESS)

    def make_text_fields(self, id: str) -> dict[str, Any]:
        return {"id": id, "createdAt": format_now(), "role": "assistant", "parentMessageId": None}

    def send_state(self) -> None:
        fields = {"id": f"ck-{uuid.uuid4()}", "createdAt": format_now(), **self.states.make_message_fields()}
        self.sink.set_status(self.sink.add_message("AgentStateMessageOutput", fields), SUCCESS)

    def finish(self, event: RunFinished) -> None:
        cut = self.flush_calls()
        # With pending client calls the client posts again at once, and gets the questions then.
        if not event.pending:
            self.send_questions()
        # An agent that waits for the client or the user is not finished, unless it says so.
        waits = event.reason in ("calls", "interrupt") and not self.states.has_exited
        if not waits and self.states.finish():
            self.send_state()
        self.sink.finish(make_failed_status(RunFailed(event.reason, CUT_OFF, fault="upstream")) if cut else DONE)

    def finish_failed(self, event: RunFailed) -> None:
        self.ended_texts += self.open_texts.values()
        self.set_ended_status(FAILED)
        self.flush_calls()
        if self.states.finish():
            self.send_state()
        self.sink.finish(make_failed_status(event))


def format_extensions(values: dict[str, Any]) -> dict[str, Any]:
    """Format `extensions` as the response's type has them: of OpenAI's assistants, and nothing else."""
    assistants = values.get("openaiAssistantAPI")
    fields = None
    if isinstance(assistants, dict):
        ids = {name: assistants.get(name) for name in ("runId", "threadId")}
        texts = {name: None if id is None else str(id) for name, id in ids.items()}
        fields = {"__typename": "OpenAIApiAssistantAPIResponse", **texts}
    return {"__typename": "ExtensionsResponse", "openaiAssistantAPI": fields}


def make_failed_status(error: RunFailed) -> Status:
    guarded = error.code in GUARDRAIL_CODES
    # Clients show this reason instead of an answer.
    reason = {"guardrailsReason": error.message} if guarded else {}
    return {
        "__typename": "FailedResponseStatus",
        "code": "Failed",
        "reason": "GUARDRAILS_VALIDATION_FAILED" if guarded else "UNKNOWN_ERROR",
        "details": {**reason, **make_error_details(error)},
        "type": "Failed",
        "description": error.message,
    }


def encode_result(event: CallResult) -> str:
    """Encode a tool result as the clients decode it: an error has an empty `result` beside it."""
    if not event.failed:
        return event.content
    content = decode_or_none(event.content)
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        error = {"code": "tool_failed", "message": event.content}
    code = CLIENT_ERROR_CODES.get(str(error.get("code")), error.get("code"))
    return encode({"error": {**error, "code": code}, "result": ""}).decode()


def make_interrupt_event(event: Interrupt) -> dict[str, Any]:
    """Make the meta event of an interrupt. The client echoes `value` with the answer, so it has the id,
    unless an agent asks with plain text, which its page expects unchanged."""
    value: dict[str, Any] = {"message": event.message, "schema": event.schema}
    if event.call is not None:
        value["call"] = event.call
    agent_value = event.value if isinstance(event.value, dict) else {}
    value |= {**agent_value, "id": event.id, "kind": event.kind}
    return {
        "__typename": "LangGraphInterruptEvent",
        "type": "MetaEvent",
        "name": "LangGraphInterruptEvent",
        "value": event.value if isinstance(event.value, str) else encode(value).decode(),
        "response": None,
    }
