"""Encode events as OpenBB's server-sent events.

A stream has at most one function call, as its last event. Legacy clients know text and calls only. A failure
is text in a stream with status 200: of any other status the user sees nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.doors.openbb import calls
from rightseat.doors.openbb.artifacts import artifact
from rightseat.doors.openbb.citations import citations, foreign
from rightseat.doors.openbb.gather import finished
from rightseat.doors.openbb.read import Asked
from rightseat.doors.openbb.results import web
from rightseat.doors.openbb.wire import Due
from rightseat.errors import GuardrailRefused, OutputGuarded, RightseatError
from rightseat.http.endpoint import SSE, Host, retry_header, whole
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
    ReasoningDelta,
    ReasoningEnd,
    RunFailed,
    RunFinished,
    StepStart,
    Suggestions,
    TextDelta,
    TextStart,
)
from rightseat.types.streams import closing

encode = msgspec.json.Encoder().encode
CHUNK = b'event: copilotMessageChunk\ndata: {"delta":'
PARAGRAPH = "\n\n"
MAX_DETAIL = 2000
GUARDED = (GuardrailRefused.code, OutputGuarded.code)
LOOP = "I have asked for this data before and got the same, so I stop here. Please ask in another way."
GONE = "The answer needs a widget or a tool that is not there any more. Please ask again."
UNREADABLE = "None of the messages can be read, so there is nothing to answer. Please ask again."
NOTHING = "The model gave no answer. Please ask again."
CUT = {
    "length": "The answer was cut off: it reached the limit of tokens. Ask for less at once. (length)",
    "content_filter": "The model's provider stopped this answer. (content_filter)",
}


def refuse(error: RightseatError) -> Reply:
    """Answer an error in the shape of OpenBB's example server: a bad body is 422."""
    status = 422 if error.status == 400 else error.status
    return whole(status, encode({"detail": error.message, "code": error.code}), *retry_header(error))


async def stream(asked: Asked, host: Host) -> Reply:
    """Stream the answer. The response head is sent with the first event, so that no keep-alive precedes
    it."""
    frames = Frames(asked)
    trace = ((b"x-trace-id", asked.trace.encode()),) if asked.trace else ()
    head = Head(200, (*SSE, *trace), COMMENT)
    begun = False
    for piece in frames.begin():
        if not begun:
            begun = True
            yield head
        yield piece
    if asked.due or not asked.items:
        return
    async with web() as outbound:
        turn = await finished(asked, outbound)
    for piece in frames.unread():
        yield piece
    # One generator, not two nested ones: each token would pay for the second.
    async with closing(host.run(turn)) as events:
        async for event in events:
            if type(event) is TextDelta and begun:
                if event.text:
                    frames.spoke = True
                    yield CHUNK + encode(event.text) + b"}\n\n"
                continue
            for piece in frames.write(event):
                if not begun:
                    begun = True
                    yield head
                yield piece


class Frames:
    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.spoke = False
        self.shown = False
        self.thoughts: list[str] = []
        self.open: dict[str, tuple[CallStart, list[str]]] = {}
        self.names: dict[str, str] = {}
        self.due: dict[str, Due] = {}

    def begin(self) -> Iterator[bytes]:
        """Write what precedes or replaces the model's answer."""
        if not self.asked.items:
            yield from self.sentence(UNREADABLE)
        elif self.asked.due:
            yield from self.call(list(self.asked.due), again=True)
        elif count := self.asked.slow:
            yield from self.status(f"Reading {count} file{'s' if count > 1 else ''}")

    def unread(self) -> Iterator[bytes]:
        """Write notices about unread data; called after `write_opening`."""
        for sentence in self.asked.unread:
            yield from self.status(sentence, "WARNING")

    def write(self, event: Event) -> Iterator[bytes]:
        match event:
            case TextStart():
                if self.spoke:
                    yield from self.say(PARAGRAPH)
            case TextDelta(text=text):
                if text:
                    yield from self.say(text)
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                yield from self.on_call(event)
            case RunFinished():
                yield from self.finish(event)
            case RunFailed(code, message):
                yield from self.fail(code, message)
            case _ if self.asked.today:
                yield from self.happening(event)
            case _:
                pass

    def say(self, text: str) -> Iterator[bytes]:
        self.spoke = True
        yield CHUNK + encode(text) + b"}\n\n"

    def sentence(self, text: str) -> Iterator[bytes]:
        return self.say((PARAGRAPH if self.spoke else "") + text)

    def send(self, name: str, data: dict[str, Any]) -> Iterator[bytes]:
        self.shown = True
        yield frame(encode(data), event=name)

    def status(self, message: str, kind: str = "INFO", details: list[Any] | None = None) -> Iterator[bytes]:
        if not self.asked.today:
            return
        data: dict[str, Any] = {"eventType": kind, "message": message, "group": "reasoning"}
        yield frame(encode(data | ({"details": details} if details else {})), event="copilotStatusUpdate")

    def on_call(self, event: CallStart | CallArgs | CallEnd | CallResult) -> Iterator[bytes]:
        match event:
            case CallStart(id):
                self.open[id] = (event, [])
                self.names[id] = event.name
            case CallArgs(id, json) if id in self.open:
                self.open[id][1].append(json)
            case CallEnd(id) if id in self.open:
                start, parts = self.open.pop(id)
                given = arguments("".join(parts))
                if start.client:
                    self.due[id] = Due(id, start.name, given)
                else:
                    yield from self.status(f"Running {start.name}", details=[given] if given else None)
            case CallResult(id, content, failed):
                name = self.names.get(id, "A tool")
                kind, verb = ("WARNING", "failed") if failed else ("INFO", "is done")
                yield from self.status(f"{name} {verb}", kind, [content[:MAX_DETAIL]] if content else None)
            case _:
                pass

    def happening(self, event: Event) -> Iterator[bytes]:
        """Write events that only Workspace shows."""
        match event:
            case StepStart(name):
                yield from self.status(name)
            case ReasoningDelta(text=text):
                self.thoughts.append(text)
            case ReasoningEnd():
                thought, self.thoughts = "".join(self.thoughts).strip(), []
                if thought:
                    yield from self.status("Thinking", details=[thought[:MAX_DETAIL]])
            case Artifact():
                yield from self.send("copilotMessageArtifact", artifact(event, self.asked.names))
            case Citations(items):
                yield from self.send("copilotCitationCollection", {"citations": [*map(foreign, items)]})
            case Suggestions(prompts):
                yield from self.send("copilotPromptSuggestions", {"suggestions": list(prompts)})
            case Custom("progress", {"message": str(text)}):
                yield from self.status(text)
            case Custom("history_cut", value):
                yield from self.status(
                    "Older messages were left out: they do not fit the model", details=[value]
                )
            case _:
                pass

    def finish(self, event: RunFinished) -> Iterator[bytes]:
        if event.reason in CUT:
            yield from self.sentence(CUT[event.reason])
            return
        if event.pending:
            yield from self.call([self.due[id] for id in event.pending if id in self.due])
            return
        if not self.spoke and not self.shown:
            yield from self.sentence(NOTHING)
        elif self.asked.sources and self.asked.today:
            collection = {"citations": citations(self.asked.sources)}
            yield from self.send("copilotCitationCollection", collection)

    def call(self, due: list[Due], *, again: bool = False) -> Iterator[bytes]:
        """Write the function call that ends the stream."""
        asked = self.asked
        now, later = calls.taken(due, asked.offers, old=asked.old)
        if not now:
            yield from self.sentence(GONE)
            return
        # Equal calls within one answer are allowed; repeating an earlier answer's calls is a loop.
        if not again and calls.repeated(due, asked.offers, asked.seen, old=asked.old):
            yield from self.sentence(LOOP)
            return
        state = calls.next_state(asked.state, now, later, asked.seen)
        data = calls.function_call(state, asked.offers, old=asked.old)
        yield frame(encode(data), event="copilotFunctionCall")

    def fail(self, code: str, message: str) -> Iterator[bytes]:
        if code in GUARDED:
            # A guardrail's refusal is not an error: send it as text.
            yield from self.sentence(message)
            return
        # ERROR makes the client drop the newest call and its result: right only if they were too long.
        kind = "ERROR" if code == "context_too_long" and self.asked.current else "WARNING"
        yield from self.status("The answer failed", kind, [{"code": code}])
        yield from self.sentence(f"{message} ({code})")


def arguments(text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
