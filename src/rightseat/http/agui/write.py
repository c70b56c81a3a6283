"""Converts events to AG-UI 1.0, nearly one to one. Interrupts are held until the end of the run: they are its
outcome, and for clients without outcomes a CUSTOM event before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from rightseat.errors import RightseatError
from rightseat.http.agui.read import INPUT
from rightseat.http.endpoint import SSE, retry_header, whole
from rightseat.http.reply import Head, Reply
from rightseat.http.sse import COMMENT, frame
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
    Nested,
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
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import File, Image, Message, Part, Text
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

encode = msgspec.json.Encoder().encode
CUT = '{"error":{"code":"stopped","message":"The answer was stopped before this call was whole."}}'
TITLES = {
    400: "Invalid request body",
    401: "Unauthorized",
    404: "Not found",
    409: "Thread already running",
}


def title(error: RightseatError) -> str:
    """Return the title by which CopilotKit's clients distinguish errors."""
    if error.status == 404 and error.param in ("agentId", "agentName"):
        return "Agent not found"
    return TITLES.get(error.status, error.code)


def refuse(error: RightseatError) -> Reply:
    body = encode({"error": title(error), "message": error.message, "code": error.code})
    return whole(error.status, body, *retry_header(error))


async def stream(events: AsyncIterator[Event], turn: Turn, knows_outcomes: bool = True) -> Reply:
    frames = Frames(turn.thread, turn.run, knows_outcomes)
    # These ids are no thread positions: a client cannot resume from them.
    number = 0
    yield Head(200, SSE, COMMENT)
    async with closing(events):
        async for event in events:
            if type(event) is TextDelta:
                number += 1
                yield b"id: run-%d\n%b" % (number, frames.text(event))
                continue
            for item in frames.write(event):
                number += 1
                yield framed(item, knows_outcomes, f"run-{number}")


def framed(item: dict[str, Any], knows_outcomes: bool, id: str | None = None) -> bytes:
    """Encode one AG-UI event as an SSE frame.

    CopilotKit 1.50 and 1.51 fail on reasoning events and cannot be told from later versions. They ignore
    `data:` without a space, which all others accept: so reasoning is sent without the space."""
    written = frame(encode(item), id)
    if knows_outcomes or not item["type"].startswith("REASONING_"):
        return written
    return written.replace(b"data: ", b"data:", 1)


class Frames:
    """Converts the events of one run to AG-UI events."""

    def __init__(self, thread: str, run: str, knows_outcomes: bool = True) -> None:
        self.thread = thread
        self.run = run
        self.knows_outcomes = knows_outcomes
        self.interrupts: list[Interrupt] = []
        self.open: set[str] = set()
        self.steps: Counter[str] = Counter()
        self.inside: dict[str, Nested] = {}
        self.text_id = ""
        self.before = b""
        self.posted: tuple[Message, ...] = ()
        self.state: Any = None
        """The client's state, where the thread was truncated before this run."""

    def text(self, event: TextDelta) -> bytes:
        if event.id != self.text_id:
            self.enter(event.id)
        return self.before + encode(event.text) + b"}\n\n"

    def enter(self, id: str) -> None:
        """Set the current message and precompute the bytes before each of its deltas."""
        self.text_id = id
        head = {"type": "TEXT_MESSAGE_CONTENT", "messageId": id}
        self.before = b"data: " + encode(head)[:-1] + b',"delta":'

    def write(self, event: Event) -> list[dict[str, Any]]:
        match event:
            case RunStarted(thread, run):
                self.thread, self.run = thread, run
                return [self.started(), *(happening(StateSnapshot(self.state)) if self.state else ())]
            case TextStart(id):
                return [{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}]
            case TextEnd(id):
                return [{"type": "TEXT_MESSAGE_END", "messageId": id}]
            case Interrupt():
                self.interrupts.append(event)
                return []
            case RunFinished():
                return [*self.unfinished(), *self.question(event), self.finished(event)]
            case RunFailed(code, message):
                return [{"type": "RUN_ERROR", "message": message, "code": code}]
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                return self.call(event)
            case StepStart() | StepEnd():
                return self.step(event)
            case Nested():
                return [self.nested(event)]
            case _:
                return happening(event)

    def started(self) -> dict[str, Any]:
        """Return RUN_STARTED, with the known posted messages as `input`, for clients that connect later."""
        ids = {"threadId": self.thread, "runId": self.run}
        body: dict[str, Any] = {"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"}
        if self.posted:
            posted = [spoken(message, f"{self.run}-{n}") for n, message in enumerate(self.posted)]
            rest: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
            body["input"] = {**ids, "messages": posted, **rest}
        return body

    def call(self, event: CallStart | CallArgs | CallEnd | CallResult) -> list[dict[str, Any]]:
        match event:
            case CallStart(id, name, message):
                self.open.add(id)
                call = {"toolCallId": id, "toolCallName": name, "parentMessageId": message}
                return [{"type": "TOOL_CALL_START", **call}]
            case CallArgs(id, json):
                return [{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": json}]
            case CallEnd(id):
                self.open.discard(id)
                return [{"type": "TOOL_CALL_END", "toolCallId": id}]
            case CallResult(id, content):
                result = {"messageId": f"result-{id}", "toolCallId": id, "content": content, "role": "tool"}
                return [{"type": "TOOL_CALL_RESULT", **result}]

    def step(self, event: StepStart | StepEnd) -> list[dict[str, Any]]:
        """Convert a step event. Clients refuse a step that is opened twice or that ends without a start in
        the same run; parallel calls may share a step, and a resumed call continues in another run."""
        name, open_ = event.name, self.steps[event.name]
        if isinstance(event, StepStart):
            self.steps[name] += 1
            return [] if open_ else [{"type": "STEP_STARTED", "stepName": name}]
        self.steps[name] = max(open_ - 1, 0)
        return [{"type": "STEP_FINISHED", "stepName": name}] if open_ == 1 else []

    def unfinished(self) -> list[dict[str, Any]]:
        """Return end events for steps and subagents that a failed or interrupted call left open: clients take
        a run with an open one for broken."""
        stopped = RunFailed("stopped", "It was stopped.")
        inside = [Nested(item.run, item.agent, item.call, stopped) for item in self.inside.values()]
        left = [name for name, count in self.steps.items() if count]
        steps = [{"type": "STEP_FINISHED", "stepName": name} for name in reversed(left)]
        return [*(self.nested(item) for item in reversed(inside)), *steps]

    def nested(self, item: Nested) -> dict[str, Any]:
        """Convert a subagent's event; to CUSTOM for clients before 1.0, which may fail on unknown types."""
        if isinstance(item.event, RunStarted):
            self.inside[item.run] = item
        elif isinstance(item.event, RunFinished | RunFailed):
            self.inside.pop(item.run, None)
        return inner(item) if self.knows_outcomes else told(item)

    def stopped(self) -> list[dict[str, Any]]:
        """Return end events for a stopped run, or for a failed one that another run follows."""
        left: list[dict[str, Any]] = []
        for id in sorted(self.open):
            # Closed with a result, so that no client executes a partial call.
            left += [{"type": "TOOL_CALL_END", "toolCallId": id}, *self.call(CallResult(id, CUT, True))]
        end: dict[str, Any] = {"type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run}
        if self.knows_outcomes:
            end["outcome"] = {"type": "cancelled"}
        return [*left, *self.unfinished(), end]

    def question(self, event: RunFinished) -> list[dict[str, Any]]:
        """Return the first interrupt as a CUSTOM event, for clients without outcomes (CopilotKit 1.50): they
        show one question and answer it without its id. With pending client calls the question comes later."""
        if not self.interrupts or event.pending or self.open:
            return []
        return [{"type": "CUSTOM", "name": "on_interrupt", "value": older(self.interrupts[0])}]

    def finished(self, event: RunFinished) -> dict[str, Any]:
        if self.open:
            # An error, so that the client does not execute a partial call.
            problem = (
                "The answer was cut off in the middle of a tool call. Allow more tokens, or ask for less."
            )
            return {"type": "RUN_ERROR", "message": problem, "code": event.reason}
        outcome: dict[str, Any] = {"type": "success"}
        # A client before 1.0 that gets an interrupt does not post its tool results: it is asked later.
        if self.interrupts and (self.knows_outcomes or not event.pending):
            outcome = {"type": "interrupt", "interrupts": [interrupt(item) for item in self.interrupts]}
        elif event.pending and self.knows_outcomes:
            outcome["pendingToolCallIds"] = event.pending
        body: dict[str, Any] = {
            "type": "RUN_FINISHED",
            "threadId": self.thread,
            "runId": self.run,
            "outcome": outcome,
        }
        if event.reason in ("length", "content_filter"):
            body["result"] = {"finishReason": event.reason}
        if event.usage is not None:
            usage = {"inputTokens": event.usage.input, "outputTokens": event.usage.output}
            # `cost` is not in the protocol, which allows further fields.
            cost = {"cost": event.usage.cost} if event.usage.cost else {}
            body["usage"] = [usage | cost]
        return body


def happening(event: Event) -> list[dict[str, Any]]:
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
            return [{"type": "CUSTOM", "name": type(event).__name__.lower(), "value": event}]
        case _:
            return []


def inner(item: Nested) -> dict[str, Any]:
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
            return told(item)


def told(item: Nested) -> dict[str, Any]:
    """Wrap a subagent's event as CUSTOM: as a plain event, clients would take its text for the outer run's
    and post it again."""
    value = {"subagentRunId": item.run, "name": item.agent, "event": item.event}
    return {"type": "CUSTOM", "name": "subagent", "value": value}


def reason(item: Interrupt) -> str:
    """Return AG-UI's interrupt reason, by which clients choose a component."""
    if item.kind != "confirm":
        return INPUT
    return "confirmation" if item.call is None else "tool_call"


def interrupt(item: Interrupt) -> dict[str, Any]:
    body = {"id": item.id, "reason": reason(item), "message": item.message, "responseSchema": item.schema}
    if item.call is not None:
        body["toolCallId"] = item.call
    if item.expires is not None:
        body["expiresAt"] = datetime.fromtimestamp(item.expires, UTC).isoformat()
    if item.value is not None:
        body["metadata"] = {"value": item.value}
    return body


def older(item: Interrupt) -> Any:
    """Format an interrupt for clients without outcomes: the agent's own value, with id and reason."""
    if not isinstance(item.value, dict):
        return interrupt(item) if item.value is None else item.value
    return {**interrupt(item), **item.value, "id": item.id, "reason": reason(item)}


def spoken(message: Message, otherwise: str) -> dict[str, Any]:
    """Format a message as AG-UI clients store it."""
    body: dict[str, Any] = {"id": message.id or otherwise, "role": message.role}
    if message.name is not None:
        body["name"] = message.name
    if message.call_id is not None:
        body["toolCallId"] = message.call_id
    if message.calls:
        body["toolCalls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    plain = all(isinstance(part, Text) for part in message.parts)
    if plain and not (message.calls and not message.parts):
        body["content"] = message.text
    elif not plain:
        body["content"] = [shown(part) for part in message.parts]
    return body


def shown(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(url) if url.startswith("data:") and ";base64," in url:
            media, _, data = url.removeprefix("data:").partition(";base64,")
            source = {"type": "data", "value": data, "mimeType": media}
            return {"type": "image", "source": source, **named(part.name)}
        case Image(url):
            return {"type": "image", "source": {"type": "url", "value": url}}
        case File(name, media, data):
            source = {"type": "data", "value": data or "", "mimeType": media or "application/octet-stream"}
            return {"type": "document", "source": source, **named(name)}


def named(name: str | None) -> dict[str, Any]:
    """Return the file name as metadata, where `parse_filename` finds it in a posted history."""
    return {"metadata": {"filename": name}} if name else {}
