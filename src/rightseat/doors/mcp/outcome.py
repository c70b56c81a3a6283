"""Convert the events of a run to the result of a tools/call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from rightseat.doors.mcp.questions import put
from rightseat.doors.mcp.wire import Ask
from rightseat.types.events import (
    CallResult,
    CallStart,
    Custom,
    Event,
    Interrupt,
    RunFailed,
    StepStart,
    TextDelta,
    TextStart,
)


@dataclass(slots=True)
class Heard:
    """Collected output of a run. With `direct_call` the tool's result is the output; otherwise it is the
    assistant's text, and results of its own tools are ignored."""

    called: bool = False
    texts: list[str] = field(default_factory=list)
    result: CallResult | None = None
    failed: RunFailed | None = None
    questions: list[Interrupt] = field(default_factory=list)

    def take(self, event: Event) -> str | None:
        """Add an event; return the progress message for it, if any."""
        match event:
            case TextStart() if self.texts:
                self.texts.append("\n\n")
            case TextDelta(text=text):
                self.texts.append(text)
            case CallResult() if self.called:
                self.result = event
            case Interrupt():
                self.questions.append(event)
            case RunFailed():
                self.failed = event
            case CallStart(name=name):
                return f"calls {name}"
            case StepStart(name=name):
                return name
            case Custom(name="progress", value={"message": str(text)}):
                return text
            case _:
                pass
        return None


def result_of(ask: Ask, heard: Heard, thread: str) -> dict[str, Any]:
    if heard.failed is not None:
        return failed(heard.failed.message)
    if heard.questions:
        return questioned(ask, heard.questions, thread)
    words = "".join(heard.texts).strip()
    if heard.result is None:
        return {"content": [text(words)]}
    return outcome(heard.result, words)


def outcome(result: CallResult, words: str) -> dict[str, Any]:
    """Format a tool's result, followed by other text of the run, such as a link to a file."""
    try:
        value = msgspec.json.decode(result.content)
    except (msgspec.DecodeError, RecursionError):
        value = None
    if result.failed:
        match value:
            case {"error": {"message": str(message)}}:
                return failed(message)
            case _:
                return failed(result.content)
    found: dict[str, Any] = {"content": [text(result.content), *([text(words)] if words else [])]}
    if isinstance(value, dict):
        found["structuredContent"] = value
    return found


def questioned(ask: Ask, questions: list[Interrupt], thread: str) -> dict[str, Any]:
    """Return `input_required` to a stateless client with elicitation, else an error with the questions."""
    if ask.modern and ask.elicits:
        requests = {f"{question.kind}.{question.id}": put(question) for question in questions}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": thread}
    told = "\n".join(f"{question.message} ({question.id})" for question in questions)
    why = "This needs a person's answer, and this client cannot ask (it offers no elicitation):"
    return failed(f"{why}\n{told}")


def failed(message: str) -> dict[str, Any]:
    return {"content": [text(message)], "isError": True}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
