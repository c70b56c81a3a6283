"""CrewAI events → AG-UI events. Runs in the crew's environment: standard library only."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

Wire = dict[str, Any]


class Speech:
    """Splits one model answer into reasoning and text. Agents without native tool calls write ReAct text:
    what comes before `Final Answer:` is reasoning."""

    MARK = "Final Answer:"
    SIGNS = ("Thought:", "Action:")

    def __init__(self, emit: Callable[[Wire], None]) -> None:
        self.emit = emit
        self.id = uuid.uuid4().hex
        self.held = ""
        self.mode = ""
        self.said = ""
        self.thought = False

    def add(self, text: str) -> None:
        self.held += text
        if not self.mode:
            start = self.held.lstrip()
            if any(sign.startswith(start) for sign in self.SIGNS if len(start) < len(sign)):
                return
            self.mode = "thought" if start.startswith(self.SIGNS) else "text"
            self.held = start.removeprefix(self.SIGNS[0]).lstrip() if self.mode == "thought" else start
        if self.mode == "thought":
            self.think()
        if self.mode == "text":
            self.say(self.held)

    def think(self) -> None:
        before, mark, after = self.held.partition(self.MARK)
        if mark:
            self.reason(before)
            self.mode, self.held = "text", after.lstrip()
            return
        # The end of the buffer may be the beginning of the marker.
        ends = (size for size in range(len(self.MARK) - 1, 0, -1) if self.held.endswith(self.MARK[:size]))
        ready = len(self.held) - next(ends, 0)
        self.reason(self.held[:ready])
        self.held = self.held[ready:]

    def reason(self, text: str) -> None:
        text = text if self.thought else text.lstrip()
        if text:
            self.thought = True
            self.emit({"type": "REASONING_MESSAGE_CONTENT", "messageId": f"{self.id}-r", "delta": text})

    def say(self, text: str) -> None:
        self.held = ""
        if not self.said:
            text = text.lstrip()
            if not text:
                return
            self.thought_over()
            self.emit({"type": "TEXT_MESSAGE_START", "messageId": self.id, "role": "assistant"})
        self.said += text
        self.emit({"type": "TEXT_MESSAGE_CONTENT", "messageId": self.id, "delta": text})

    def end(self) -> None:
        if self.mode == "thought":
            self.reason(self.held)
        elif self.held:
            self.say(self.held)
        self.thought_over()
        if self.said:
            self.emit({"type": "TEXT_MESSAGE_END", "messageId": self.id})

    def thought_over(self) -> None:
        if self.thought:
            self.thought = False
            self.emit({"type": "REASONING_MESSAGE_END", "messageId": f"{self.id}-r"})


class Telling:
    """Maps CrewAI events to AG-UI events, in the crew's thread and in order."""

    def __init__(self, emit: Callable[[Wire], None]) -> None:
        self.emit = emit
        self.speech: Speech | None = None
        self.call = ""
        self.said: list[str] = []
        self.tools: list[tuple[str, str, str]] = []
        """Calls without a result: event id, tool, our id."""

    def see(self, event: Any) -> None:
        kind = getattr(event, "type", "")
        if kind == "llm_stream_chunk":
            self.chunk(event)
        elif kind == "llm_thinking_chunk":
            self.emit({"type": "REASONING_MESSAGE_CHUNK", "messageId": "thought", "delta": str(event.chunk)})
        elif kind.startswith("tool_usage_"):
            self.quiet()
            self.tool(kind, event)
        elif kind in ("task_started", "task_completed", "task_failed"):
            self.quiet()
            self.step(kind == "task_started", task_name(event))
        elif kind.startswith("method_execution_"):
            self.quiet()
            self.method(kind, event)
        elif kind in ("llm_call_completed", "llm_call_failed"):
            self.quiet()

    def chunk(self, event: Any) -> None:
        if getattr(event, "tool_call", None) is not None or not event.chunk:
            return
        call = str(getattr(event, "call_id", "") or "")
        if self.speech is None or call != self.call:
            self.quiet()
            self.speech, self.call = Speech(self.emit), call
        self.speech.add(str(event.chunk))

    def quiet(self) -> None:
        """End the open text."""
        if self.speech is not None:
            self.speech.end()
            self.said.append(self.speech.said.strip())
            self.speech = None

    def say(self, text: str) -> None:
        """Emit the final result, unless it equals the last text."""
        self.quiet()
        if text.strip() and text.strip() not in self.said[-1:]:
            speech = Speech(self.emit)
            speech.mode = "text"
            speech.add(text)
            speech.end()

    def step(self, begins: bool, name: str) -> None:
        self.emit({"type": "STEP_STARTED" if begins else "STEP_FINISHED", "stepName": name})

    def method(self, kind: str, event: Any) -> None:
        if kind == "method_execution_started":
            self.step(True, str(event.method_name))
            return
        state = getattr(event, "state", None)
        if state is not None:
            self.emit({"type": "STATE_SNAPSHOT", "snapshot": plain(state)})
        self.step(False, str(event.method_name))

    def tool(self, kind: str, event: Any) -> None:
        name = str(event.tool_name)
        if kind == "tool_usage_started":
            id = f"call-{uuid.uuid4().hex}"
            args = event.tool_args
            text = args if isinstance(args, str) else json.dumps(args, default=str)
            self.tools.append((str(event.event_id), name, id))
            self.emit({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name})
            self.emit({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": text or "{}"})
            self.emit({"type": "TOOL_CALL_END", "toolCallId": id})
            return
        started = str(getattr(event, "started_event_id", "") or "")
        open_ = next((item for item in self.tools if item[0] == started), None)
        open_ = open_ or next((item for item in self.tools if item[1] == name), None)
        if open_ is None:
            return
        self.tools.remove(open_)
        failed = kind != "tool_usage_finished"
        output = f"The tool failed: {event.error}" if failed else event.output
        content = output if isinstance(output, str) else json.dumps(plain(output), default=str)
        result = {"messageId": f"result-{open_[2]}", "toolCallId": open_[2], "content": content}
        self.emit({"type": "TOOL_CALL_RESULT", **result, "role": "tool"})


def task_name(event: Any) -> str:
    task = getattr(event, "task", None)
    name = getattr(event, "task_name", None) or getattr(task, "name", None)
    name = name or getattr(getattr(task, "agent", None), "role", None) or "task"
    return " ".join(str(name).split())[:80]


def plain(value: Any) -> Any:
    """Convert a value to plain JSON types."""
    dump = getattr(value, "model_dump", None)
    made = dump(mode="json") if dump is not None else value
    return json.loads(json.dumps(made, default=str))
