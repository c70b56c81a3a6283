"""Converts events to AG-UI 1.0, nearly one to one. Interrupts are held until the end of the run: they are its
outcome, and for clients without outcomes a CUSTOM event before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from rightseat.errors import INTERNAL_ERROR, RightseatError
from rightseat.http.agui.read import INPUT_REQUIRED
from rightseat.http.endpoint import SSE_HEADERS, format_error_headers, make_reply
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
    Interrupt,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    SubRunEvent,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.json_values import encode_json
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart, TextMessagePart
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

_encode_text = msgspec.json.Encoder().encode
CUT_CALL_RESULT = '{"error":{"code":"stopped","message":"The answer was stopped before this call was whole."}}'
CUSTOM_NAMES: dict[type, str] = {Artifact: "artifact", Citations: "citations", Suggestions: "suggestions"}
TITLES = {400: "Invalid request body", 401: "Unauthorized", 404: "Not found", 409: "Thread already running"}


def error_title(error: RightseatError) -> str:
    """Return the title by which CopilotKit's clients distinguish errors."""
    if error.status == 404 and error.param in ("agentId", "agentName"):
        return "Agent not found"
    return TITLES.get(error.status, error.code)


def make_error_reply(error: RightseatError) -> Reply:
    body = encode_json({"error": error_title(error), "message": error.message, "code": error.code})
    return make_reply(error.status, body, *format_error_headers(error))


FAILURE_FRAME = format_event(
    encode_json({"type": "RUN_ERROR", "message": INTERNAL_ERROR.message, "code": INTERNAL_ERROR.code})
)


async def stream_run(events: AsyncIterator[Event], turn: Turn, supports_outcomes: bool = True) -> Reply:
    encoder = AguiEncoder(turn.thread, turn.run, supports_outcomes)
    # These ids are no thread positions: a client cannot resume from them.
    number = 0
    yield ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)
    async with closing(events):
        async for event in events:
            if type(event) is TextDelta:
                number += 1
                yield b"id: run-%d\n%b" % (number, encoder.encode_text(event))
                continue
            for item in encoder.convert(event):
                number += 1
                yield encode_frame(item, supports_outcomes, f"run-{number}")


def encode_frame(item: dict[str, Any], supports_outcomes: bool, id: str) -> bytes:
    """Encode one AG-UI event as an SSE frame.

    CopilotKit 1.50 and 1.51 fail on reasoning events and cannot be told from later versions. They ignore
    `data:` without a space, which all others accept: so reasoning is sent without the space."""
    frame_bytes = format_event(encode_json(item), id)
    if supports_outcomes or not item["type"].startswith("REASONING_"):
        return frame_bytes
    return frame_bytes.replace(b"data: ", b"data:", 1)


class AguiEncoder:
    """Converts the events of one run to AG-UI events."""

    def __init__(self, thread: str, run: str, supports_outcomes: bool = True) -> None:
        self.thread = thread
        self.run = run
        self.supports_outcomes = supports_outcomes
        self.interrupts: list[Interrupt] = []
        self.open_calls: set[str] = set()
        self.open_steps: Counter[str] = Counter()
        self.open_subagents: dict[str, SubRunEvent] = {}
        self.text_id = ""
        self.text_prefix = b""
        self.input_messages: tuple[Message, ...] = ()
        self.state: Any = None
        """The client's state, where the thread was truncated before this run."""

    def encode_text(self, event: TextDelta) -> bytes:
        if event.id != self.text_id:
            # The bytes before the text are encoded once for each message.
            self.text_id = event.id
            head = {"type": "TEXT_MESSAGE_CONTENT", "messageId": event.id}
            self.text_prefix = b"data: " + encode_json(head)[:-1] + b',"delta":'
        try:
            # Hot path: a text needs none of what encode_json looks for.
            text = _encode_text(event.text)
        except UnicodeEncodeError:
            text = encode_json(event.text)
        return self.text_prefix + text + b"}\n\n"

    def convert(self, event: Event) -> list[dict[str, Any]]:
        match event:
            case RunStarted(thread, run):
                self.thread, self.run = thread, run
                return [self.make_run_started(), *(convert_other(StateSnapshot(self.state)) if self.state else ())]
            case TextStart(id):
                return [{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}]
            case TextEnd(id):
                return [{"type": "TEXT_MESSAGE_END", "messageId": id}]
            case Interrupt():
                self.interrupts.append(event)
                return []
            case RunFinished():
                return [*self.close_open_items(), *self.make_legacy_question(event), self.make_run_finished(event)]
            case RunFailed(code, message):
                return [{"type": "RUN_ERROR", "message": message, "code": code}]
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                return self.convert_call(event)
            case StepStart() | StepEnd():
                return self.convert_step(event)
            case SubRunEvent():
                return [self.convert_nested(event)]
            case _:
                return convert_other(event)

    def make_run_started(self) -> dict[str, Any]:
        """Return RUN_STARTED, with the known posted messages as `input`, for clients that connect later."""
        ids = {"threadId": self.thread, "runId": self.run}
        body: dict[str, Any] = {"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"}
        if self.input_messages:
            messages = [format_message(message, f"{self.run}-{n}") for n, message in enumerate(self.input_messages)]
            defaults: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
            body["input"] = {**ids, "messages": messages, **defaults}
        return body

    def convert_call(self, event: CallStart | CallArgs | CallEnd | CallResult) -> list[dict[str, Any]]:
        match event:
            case CallStart(id, name, message):
                self.open_calls.add(id)
                call = {"toolCallId": id, "toolCallName": name, "parentMessageId": message}
                return [{"type": "TOOL_CALL_START", **call}]
            case CallArgs(id, json):
                return [{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": json}]
            case CallEnd(id):
                self.open_calls.discard(id)
                return [{"type": "TOOL_CALL_END", "toolCallId": id}]
            case CallResult(id, content):
                # A call that proved invalid has a result and no end; clients need both.
                end = self.convert_call(CallEnd(id)) if id in self.open_calls else []
                result = {"messageId": f"result-{id}", "toolCallId": id, "content": content, "role": "tool"}
                return [*end, {"type": "TOOL_CALL_RESULT", **result}]

    def convert_step(self, event: StepStart | StepEnd) -> list[dict[str, Any]]:
        """Convert a step event. Clients refuse a step that is opened twice or that ends without a start in
        the same run; parallel calls may share a step, and a resumed call continues in another run."""
        name, open_ = event.name, self.open_steps[event.name]
        if isinstance(event, StepStart):
            self.open_steps[name] += 1
            return [] if open_ else [{"type": "STEP_STARTED", "stepName": name}]
        self.open_steps[name] = max(open_ - 1, 0)
        return [{"type": "STEP_FINISHED", "stepName": name}] if open_ == 1 else []

    def close_open_items(self) -> list[dict[str, Any]]:
        """Return end events for steps and subagents that a failed or interrupted call left open: clients take
        a run with an open one for broken."""
        stopped = RunFailed("stopped", "It was stopped.")
        subagents = [SubRunEvent(item.run, item.agent, item.call, stopped) for item in self.open_subagents.values()]
        names = [name for name, count in self.open_steps.items() if count]
        steps = [{"type": "STEP_FINISHED", "stepName": name} for name in reversed(names)]
        return [*(self.convert_nested(item) for item in reversed(subagents)), *steps]

    def convert_nested(self, item: SubRunEvent) -> dict[str, Any]:
        """Convert a subagent's event; to CUSTOM for clients before 1.0, which may fail on unknown types."""
        if isinstance(item.event, RunStarted):
            self.open_subagents[item.run] = item
        elif isinstance(item.event, RunFinished | RunFailed):
            self.open_subagents.pop(item.run, None)
        return format_subagent_event(item) if self.supports_outcomes else format_nested_as_custom(item)

    def make_cancelled_end(self) -> list[dict[str, Any]]:
        """Return end events for a stopped run, or for a failed one that another run follows."""
        items: list[dict[str, Any]] = []
        for id in sorted(self.open_calls):
            # Closed with a result, so that no client executes a partial call.
            items += self.convert_call(CallEnd(id)) + self.convert_call(CallResult(id, CUT_CALL_RESULT, True))
        end: dict[str, Any] = {"type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run}
        if self.supports_outcomes:
            end["outcome"] = {"type": "cancelled"}
        return [*items, *self.close_open_items(), end]

    def make_legacy_question(self, event: RunFinished) -> list[dict[str, Any]]:
        """Return the first interrupt as a CUSTOM event, for clients without outcomes (CopilotKit 1.50): they
        show one question and answer it without its id. With pending client calls the question comes later."""
        if not self.interrupts or event.pending or self.open_calls:
            return []
        return [{"type": "CUSTOM", "name": "on_interrupt", "value": format_legacy_interrupt(self.interrupts[0])}]

    def make_run_finished(self, event: RunFinished) -> dict[str, Any]:
        if self.open_calls:
            # An error, so that the client does not execute a partial call.
            problem = "The answer was cut off in the middle of a tool call. Allow more tokens, or ask for less."
            return {"type": "RUN_ERROR", "message": problem, "code": event.reason}
        outcome: dict[str, Any] = {"type": "success"}
        # A client before 1.0 that gets an interrupt does not post its tool results: it is asked later.
        if self.interrupts and (self.supports_outcomes or not event.pending):
            outcome = {"type": "interrupt", "interrupts": [format_interrupt(item) for item in self.interrupts]}
        elif event.pending and self.supports_outcomes:
            outcome["pendingToolCallIds"] = event.pending
        body: dict[str, Any] = {"type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run, "outcome": outcome}
        if event.reason in ("length", "content_filter"):
            body["result"] = {"finishReason": event.reason}
        if event.usage is not None:
            usage = {"inputTokens": event.usage.input, "outputTokens": event.usage.output}
            # `cost` is not in the protocol, which allows further fields.
            cost = {"cost": event.usage.cost} if event.usage.cost else {}
            body["usage"] = [usage | cost]
        return body


def convert_other(event: Event) -> list[dict[str, Any]]:
    """Convert reasoning, state, and the events that AG-UI has only CUSTOM for."""
    match event:
        case ReasoningStart(id):
            start = {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}
            return [{"type": "REASONING_START", "messageId": id}, start]
        case ReasoningDelta(id, text):
            return [{"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text}]
        case ReasoningEnd(id):
            end = {"type": "REASONING_MESSAGE_END", "messageId": id}
            return [end, {"type": "REASONING_END", "messageId": id}]
        case StateSnapshot(state):
            return [{"type": "STATE_SNAPSHOT", "snapshot": state}]
        case StateDelta(patch):
            return [{"type": "STATE_DELTA", "delta": patch}]
        case Custom(name, value):
            return [{"type": "CUSTOM", "name": name, "value": value}]
        case Artifact() | Citations() | Suggestions():
            return [{"type": "CUSTOM", "name": CUSTOM_NAMES[type(event)], "value": event}]
        case _:
            return []


def format_subagent_event(item: SubRunEvent) -> dict[str, Any]:
    """Convert start and end of a subagent run; its other events become CUSTOM."""
    own = {"subagentRunId": item.run}
    match item.event:
        case RunStarted():
            return {"type": "SUBAGENT_STARTED", **own, "name": item.agent, "parentToolCallId": item.call}
        case RunFinished(reason):
            outcome = "suspended" if reason == "interrupt" else "success"
            return {"type": "SUBAGENT_FINISHED", **own, "outcome": {"type": outcome}}
        case RunFailed(code, message):
            return {"type": "SUBAGENT_ERROR", **own, "message": message, "code": code}
        case _:
            return format_nested_as_custom(item)


def format_nested_as_custom(item: SubRunEvent) -> dict[str, Any]:
    """Wrap a subagent's event as CUSTOM: clients would take a plain text for the outer run's and post it again."""
    value = {"subagentRunId": item.run, "name": item.agent, "event": item.event}
    return {"type": "CUSTOM", "name": "subagent", "value": value}


def interrupt_reason(item: Interrupt) -> str:
    """Return AG-UI's interrupt reason, by which clients choose a component."""
    if item.kind != "confirm":
        return INPUT_REQUIRED
    return "confirmation" if item.call is None else "tool_call"


def format_interrupt(item: Interrupt) -> dict[str, Any]:
    body = {"id": item.id, "reason": interrupt_reason(item), "message": item.message, "responseSchema": item.schema}
    if item.call is not None:
        body["toolCallId"] = item.call
    if item.expires is not None:
        body["expiresAt"] = datetime.fromtimestamp(item.expires, UTC).isoformat()
    if item.value is not None:
        body["metadata"] = {"value": item.value}
    return body


def format_legacy_interrupt(item: Interrupt) -> Any:
    """Format an interrupt for clients without outcomes: the agent's own value, with id and reason."""
    if not isinstance(item.value, dict):
        return format_interrupt(item) if item.value is None else item.value
    return {**format_interrupt(item), **item.value, "id": item.id, "reason": interrupt_reason(item)}


def format_message(message: Message, default_id: str) -> dict[str, Any]:
    """Format a message as AG-UI clients store it."""
    body: dict[str, Any] = {"id": message.id or default_id, "role": message.role}
    if message.name is not None:
        body["name"] = message.name
    if message.call_id is not None:
        body["toolCallId"] = message.call_id
    if message.calls:
        body["toolCalls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    plain = all(isinstance(part, TextMessagePart) for part in message.parts)
    if plain and not (message.calls and not message.parts):
        body["content"] = message.text
    elif not plain:
        body["content"] = [format_part(part) for part in message.parts]
    return body


def format_part(part: MessagePart) -> dict[str, Any]:
    match part:
        case TextMessagePart(text):
            return {"type": "text", "text": text}
        case ImageMessagePart(url) if url.startswith("data:") and ";base64," in url:
            media, _, data = url.removeprefix("data:").partition(";base64,")
            source = {"type": "data", "value": data, "mimeType": media}
            return {"type": "image", "source": source, **format_filename(part.name)}
        case ImageMessagePart(url):
            return {"type": "image", "source": {"type": "url", "value": url}}
        case FileMessagePart(name, media, data):
            source = {"type": "data", "value": data or "", "mimeType": media or "application/octet-stream"}
            return {"type": "document", "source": source, **format_filename(name)}


def format_filename(name: str | None) -> dict[str, Any]:
    """Return the file name as metadata, where `parse_filename` finds it in a posted history."""
    return {"metadata": {"filename": name}} if name else {}
