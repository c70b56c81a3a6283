"""Convert the events of a run to the result of a tools/call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from rightseat.doors.mcp.questions import make_elicitation
from rightseat.doors.mcp.wire import McpRequest
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
class RunOutcome:
    """Collected output of a run. With `direct_call` the tool's result is the output; otherwise it is the
    assistant's text, and results of its own tools are ignored."""

    direct_call: bool = False
    texts: list[str] = field(default_factory=list)
    result: CallResult | None = None
    error: RunFailed | None = None
    questions: list[Interrupt] = field(default_factory=list)

    def add_event(self, event: Event) -> str | None:
        """Add an event; return the progress message for it, if any."""
        match event:
            case TextStart() if self.texts:
                self.texts.append("\n\n")
            case TextDelta(text=text):
                self.texts.append(text)
            case CallResult() if self.direct_call:
                self.result = event
            case Interrupt():
                self.questions.append(event)
            case RunFailed():
                self.error = event
            case CallStart(name=name):
                return f"calls {name}"
            case StepStart(name=name):
                return name
            case Custom(name="progress", value={"message": str(text)}):
                return text
            case _:
                pass
        return None


def make_result(rpc: McpRequest, heard: RunOutcome, thread: str) -> dict[str, Any]:
    if heard.error is not None:
        return format_error(heard.error.message)
    if heard.questions:
        return format_questions(rpc, heard.questions, thread)
    said_text = "".join(heard.texts).strip()
    if heard.result is None:
        return {"content": [text_content(said_text)]}
    return format_tool_result(heard.result, said_text)


def format_tool_result(result: CallResult, extra_text: str) -> dict[str, Any]:
    """Format a tool's result, followed by other text of the run, such as a link to a file."""
    try:
        value = msgspec.json.decode(result.content)
    except (msgspec.DecodeError, RecursionError):
        value = None
    if result.failed:
        match value:
            case {"error": {"message": str(message)}}:
                return format_error(message)
            case _:
                return format_error(result.content)
    tool_result: dict[str, Any] = {
        "content": [text_content(result.content), *([text_content(extra_text)] if extra_text else [])]
    }
    if isinstance(value, dict):
        tool_result["structuredContent"] = value
    return tool_result


def format_questions(rpc: McpRequest, questions: list[Interrupt], thread: str) -> dict[str, Any]:
    """Return `input_required` to a stateless client with elicitation, else an error with the questions."""
    if rpc.stateless and rpc.supports_elicitation:
        requests = {f"{question.kind}.{question.id}": make_elicitation(question) for question in questions}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": thread}
    listing = "\n".join(f"{question.message} ({question.id})" for question in questions)
    reason = "This needs a person's answer, and this client cannot ask (it offers no elicitation):"
    return format_error(f"{reason}\n{listing}")


def format_error(message: str) -> dict[str, Any]:
    return {"content": [text_content(message)], "isError": True}


def text_content(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}
