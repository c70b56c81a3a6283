"""Convert a stream of events to the lists of CopilotResponse: messages with chunks and statuses, meta events.

A ResponseSink takes them: PlannedResponseWriter encodes frames, IncrementalLists feeds graphql-core. Clients
expect a call directly before its result, so a later call waits for an earlier call's result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from rightseat.doors.copilotkit.failures import details
from rightseat.doors.copilotkit.read import Asked, decoded
from rightseat.doors.copilotkit.states import AgentStates
from rightseat.errors import GuardrailRefused, OutputGuarded
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
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

encode = msgspec.json.Encoder().encode
CallEvent = CallStart | CallArgs | CallEnd | CallResult
Status = dict[str, Any]

PENDING: Status = {"__typename": "PendingMessageStatus", "code": "Pending"}
SUCCESS: Status = {"__typename": "SuccessMessageStatus", "code": "Success"}
FAILED: Status = {
    "__typename": "FailedMessageStatus",
    "code": "Failed",
    "reason": "Error streaming message content",
}
DONE: Status = {"__typename": "SuccessResponseStatus", "code": "Success"}
GUARDED = (GuardrailRefused.code, OutputGuarded.code)
CUT = "The answer was cut off in the middle of a tool call. Allow more tokens, or ask for less."
# CopilotKit's names for our tool error codes.
CODES = {
    "tool_failed": "HANDLER_ERROR",
    "invalid_json": "INVALID_ARGUMENTS",
    "invalid_arguments": "INVALID_ARGUMENTS",
}


class Sink(Protocol):
    def message(self, kind: str, fields: dict[str, Any]) -> int:
        """Add a message; return its number in the list."""
        ...

    def chunk(self, number: int, text: str) -> None: ...
    def status(self, number: int, status: Status) -> None: ...
    def meta(self, fields: dict[str, Any]) -> None: ...
    def end(self, status: Status) -> None: ...


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Story:
    def __init__(self, asked: Asked, sink: Sink, clock: Callable[[], str] = now) -> None:
        self.asked = asked
        self.sink = sink
        self.clock = clock
        self.texts: dict[str, int] = {}
        self.ended: list[int] = []
        """Texts that have ended but have no status yet: a failure directly after them marks them as
        failed."""
        self.waiting: dict[str, list[CallEvent]] = {}
        """Calls without a result, in order. Events of the first are sent at once, those of the others are
        queued."""
        self.calls: dict[str, tuple[int, CallStart]] = {}
        self.questions: list[Interrupt] = []
        self.states = AgentStates(asked)

    def write(self, event: Event) -> None:
        match event:
            case TextDelta(id, text):
                if text:
                    self.sink.chunk(self.texts[id], text)
            case TextEnd(id):
                self.ended.append(self.texts.pop(id))
            case ReasoningEnd():
                pass
            case RunFailed():
                self.fail(event)
            case _:
                self.settle(SUCCESS)
                self.happen(event)

    def happen(self, event: Event) -> None:
        match event:
            case TextStart(id):
                self.texts[id] = self.sink.message("TextMessageOutput", self.text(id))
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                self.queue(event)
            case Interrupt():
                self.questions.append(event)
            case StateSnapshot() | StateDelta() | StepStart() | StepEnd() | RunStarted():
                if self.states.see(event):
                    self.tell_state()
            case RunFinished():
                self.finish(event)
            case _:
                pass  # GraphQL clients have no shape for other events

    def settle(self, status: Status) -> None:
        for number in self.ended:
            self.sink.status(number, status)
        self.ended.clear()

    # Calls.

    def queue(self, event: CallEvent) -> None:
        if isinstance(event, CallStart):
            self.waiting[event.id] = []
        elif event.id not in self.waiting:
            self.tell(event)  # the result of a call from an earlier answer
            return
        if event.id != next(iter(self.waiting)):
            self.waiting[event.id].append(event)
            return
        self.tell(event)
        while self.over(event):
            del self.waiting[event.id]
            if not self.waiting:
                return
            held = self.release(next(iter(self.waiting)))
            if held is None:
                return
            event = held

    def over(self, event: CallEvent) -> bool:
        """Whether the event is the last of its call in this answer."""
        if isinstance(event, CallEnd):
            return event.id in self.calls and self.calls[event.id][1].client
        return isinstance(event, CallResult)

    def release(self, id: str) -> CallEvent | None:
        """Send the queued events of a call; return the last one."""
        held, self.waiting[id] = self.waiting[id], []
        for event in held:
            self.tell(event)
        return held[-1] if held else None

    def tell(self, event: CallEvent) -> None:
        match event:
            case CallStart(id, name, message):
                fields = {"id": id, "createdAt": self.clock(), "name": name, "scope": None}
                fields["parentMessageId"] = message
                self.calls[id] = self.sink.message("ActionExecutionMessageOutput", fields), event
            case CallArgs(id, json):
                if json:
                    self.sink.chunk(self.calls[id][0], json)
            case CallEnd(id):
                number, start = self.calls[id]
                self.sink.status(number, SUCCESS)
                # Kept for the result, which needs the name.
                self.calls[id] = -1, start
            case CallResult(id):
                self.result(event)

    def result(self, event: CallResult) -> None:
        _, start = self.calls.pop(event.id, (0, None))
        name = start.name if start else self.asked.names.get(event.id, "")
        fields = {
            "id": f"result-{event.id}",
            "createdAt": self.clock(),
            "actionExecutionId": event.id,
            "actionName": name,
            "result": encoded(event),
        }
        self.sink.status(self.sink.message("ResultMessageOutput", fields), SUCCESS)

    def flush(self) -> bool:
        """Send all queued events; return whether a call was cut off. It stays pending, so that no client runs
        it."""
        for id in list(self.waiting):
            self.release(id)
        cut = [number for number, _ in self.calls.values() if number >= 0]
        for number in cut:
            self.sink.status(number, PENDING)
        return bool(cut)

    # Questions, state and ends.

    def ask(self) -> None:
        if self.questions and self.asked.brought:
            # Without a text after the results the client would run its calls again, endlessly.
            self.say(self.questions[0].id, "\n\n".join(item.message for item in self.questions))
        for item in self.questions:
            self.sink.meta(question(item))

    def say(self, id: str, words: str) -> None:
        """Send a text message. `id` belongs to the run, so that the engine recognizes the posted message as
        its own."""
        number = self.sink.message("TextMessageOutput", self.text(id))
        self.sink.chunk(number, words)
        self.sink.status(number, SUCCESS)

    def text(self, id: str) -> dict[str, Any]:
        return {"id": id, "createdAt": self.clock(), "role": "assistant", "parentMessageId": None}

    def tell_state(self) -> None:
        fields = {"id": f"ck-{uuid.uuid4()}", "createdAt": self.clock(), **self.states.fields()}
        self.sink.status(self.sink.message("AgentStateMessageOutput", fields), SUCCESS)

    def finish(self, event: RunFinished) -> None:
        cut = self.flush()
        # With pending client calls the client posts again at once, and gets the questions then.
        if not event.pending:
            self.ask()
        # An agent that waits for the client or the user is not finished.
        if event.reason not in ("calls", "interrupt") and self.states.close():
            self.tell_state()
        self.sink.end(failed(RunFailed(event.reason, CUT, fault="upstream")) if cut else DONE)

    def fail(self, event: RunFailed) -> None:
        self.ended += self.texts.values()
        self.settle(FAILED)
        self.flush()
        if self.states.close():
            self.tell_state()
        self.sink.end(failed(event))


def failed(error: RunFailed) -> Status:
    guarded = error.code in GUARDED
    # Clients show this reason instead of an answer.
    reason = {"guardrailsReason": error.message} if guarded else {}
    return {
        "__typename": "FailedResponseStatus",
        "code": "Failed",
        "reason": "GUARDRAILS_VALIDATION_FAILED" if guarded else "UNKNOWN_ERROR",
        "details": {**reason, **details(error)},
    }


def encoded(event: CallResult) -> str:
    """Encode a tool result as the clients decode it: an error has an empty `result` beside it."""
    if not event.failed:
        return event.content
    told = decoded(event.content)
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict):
        error = {"code": "tool_failed", "message": event.content}
    code = CODES.get(str(error.get("code")), error.get("code"))
    return encode({"error": {**error, "code": code}, "result": ""}).decode()


def question(event: Interrupt) -> dict[str, Any]:
    """Make the meta event of an interrupt. The client echoes `value` with the answer, so it has the id,
    unless an agent asks with plain text, which its page expects unchanged."""
    value: dict[str, Any] = {"message": event.message, "schema": event.schema}
    if event.call is not None:
        value["call"] = event.call
    asked = event.value if isinstance(event.value, dict) else {}
    value |= {**asked, "id": event.id, "kind": event.kind}
    return {
        "__typename": "LangGraphInterruptEvent",
        "type": "MetaEvent",
        "name": "LangGraphInterruptEvent",
        "value": event.value if isinstance(event.value, str) else encode(value).decode(),
        "response": None,
    }
