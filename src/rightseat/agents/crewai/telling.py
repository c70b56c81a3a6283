"""CrewAI events → AG-UI events. Runs in the crew's environment: standard library only."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

AGUIEventDict = dict[str, Any]


class ReActTextSplitter:
    """Splits one model answer into reasoning and text. Agents without native tool calls write ReAct text:
    what comes before `Final Answer:` is reasoning."""

    FINAL_ANSWER = "Final Answer:"
    REASONING_PREFIXES = ("Thought:", "Action:")

    def __init__(self, emit: Callable[[AGUIEventDict], None]) -> None:
        self.emit = emit
        self.id = uuid.uuid4().hex
        self.buffer = ""
        self.mode = ""
        self.text = ""
        self.has_open_reasoning = False

    def feed(self, text: str) -> None:
        self.buffer += text
        if not self.mode:
            start = self.buffer.lstrip()
            if any(sign.startswith(start) for sign in self.REASONING_PREFIXES if len(start) < len(sign)):
                return
            self.mode = "thought" if start.startswith(self.REASONING_PREFIXES) else "text"
            self.buffer = (
                start.removeprefix(self.REASONING_PREFIXES[0]).lstrip() if self.mode == "thought" else start
            )
        if self.mode == "thought":
            self.split_reasoning()
        if self.mode == "text":
            self.emit_text(self.buffer)

    def split_reasoning(self) -> None:
        before, mark, after = self.buffer.partition(self.FINAL_ANSWER)
        if mark:
            self.emit_reasoning(before)
            self.mode, self.buffer = "text", after.lstrip()
            return
        # The end of the buffer may be the beginning of the marker.
        ends = (
            size
            for size in range(len(self.FINAL_ANSWER) - 1, 0, -1)
            if self.buffer.endswith(self.FINAL_ANSWER[:size])
        )
        ready = len(self.buffer) - next(ends, 0)
        self.emit_reasoning(self.buffer[:ready])
        self.buffer = self.buffer[ready:]

    def emit_reasoning(self, text: str) -> None:
        text = text if self.has_open_reasoning else text.lstrip()
        if text:
            self.has_open_reasoning = True
            self.emit({"type": "REASONING_MESSAGE_CONTENT", "messageId": f"{self.id}-r", "delta": text})

    def emit_text(self, text: str) -> None:
        self.buffer = ""
        if not self.text:
            text = text.lstrip()
            if not text:
                return
            self.end_reasoning()
            self.emit({"type": "TEXT_MESSAGE_START", "messageId": self.id, "role": "assistant"})
        self.text += text
        self.emit({"type": "TEXT_MESSAGE_CONTENT", "messageId": self.id, "delta": text})

    def finish(self) -> None:
        if self.mode == "thought":
            self.emit_reasoning(self.buffer)
        elif self.buffer:
            self.emit_text(self.buffer)
        self.end_reasoning()
        if self.text:
            self.emit({"type": "TEXT_MESSAGE_END", "messageId": self.id})

    def end_reasoning(self) -> None:
        if self.has_open_reasoning:
            self.has_open_reasoning = False
            self.emit({"type": "REASONING_MESSAGE_END", "messageId": f"{self.id}-r"})


class CrewEventMapper:
    """Maps CrewAI events to AG-UI events, in the crew's thread and in order."""

    def __init__(self, emit: Callable[[AGUIEventDict], None]) -> None:
        self.emit = emit
        self.splitter: ReActTextSplitter | None = None
        self.call_id = ""
        self.texts: list[str] = []
        self.open_calls: list[tuple[str, str, str]] = []
        """Calls without a result: event id, tool, our id."""

    def on_event(self, event: Any) -> None:
        kind = getattr(event, "type", "")
        if kind == "llm_stream_chunk":
            self.on_chunk(event)
        elif kind == "llm_thinking_chunk":
            self.emit({"type": "REASONING_MESSAGE_CHUNK", "messageId": "thought", "delta": str(event.chunk)})
        elif kind.startswith("tool_usage_"):
            self.end_text()
            self.on_tool(kind, event)
        elif kind in ("task_started", "task_completed", "task_failed"):
            self.end_text()
            self.emit_step(kind == "task_started", read_task_name(event))
        elif kind.startswith("method_execution_"):
            self.end_text()
            self.on_method(kind, event)
        elif kind in ("llm_call_completed", "llm_call_failed"):
            self.end_text()

    def on_chunk(self, event: Any) -> None:
        if getattr(event, "tool_call", None) is not None or not event.chunk:
            return
        call = str(getattr(event, "call_id", "") or "")
        if self.splitter is None or call != self.call_id:
            self.end_text()
            self.splitter, self.call_id = ReActTextSplitter(self.emit), call
        self.splitter.feed(str(event.chunk))

    def end_text(self) -> None:
        """End the open text."""
        if self.splitter is not None:
            self.splitter.finish()
            self.texts.append(self.splitter.text.strip())
            self.splitter = None

    def emit_result(self, text: str) -> None:
        """Emit the final result, unless it equals the last text."""
        self.end_text()
        if text.strip() and text.strip() not in self.texts[-1:]:
            splitter = ReActTextSplitter(self.emit)
            splitter.mode = "text"
            splitter.feed(text)
            splitter.finish()

    def emit_step(self, begins: bool, name: str) -> None:
        self.emit({"type": "STEP_STARTED" if begins else "STEP_FINISHED", "stepName": name})

    def on_method(self, kind: str, event: Any) -> None:
        if kind == "method_execution_started":
            self.emit_step(True, str(event.method_name))
            return
        state = getattr(event, "state", None)
        if state is not None:
            self.emit({"type": "STATE_SNAPSHOT", "snapshot": to_json_value(state)})
        self.emit_step(False, str(event.method_name))

    def on_tool(self, kind: str, event: Any) -> None:
        name = str(event.tool_name)
        if kind == "tool_usage_started":
            id = f"call-{uuid.uuid4().hex}"
            args = event.tool_args
            text = args if isinstance(args, str) else json.dumps(args, default=str)
            self.open_calls.append((str(event.event_id), name, id))
            self.emit({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name})
            self.emit({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": text or "{}"})
            self.emit({"type": "TOOL_CALL_END", "toolCallId": id})
            return
        started = str(getattr(event, "started_event_id", "") or "")
        open_call = next((item for item in self.open_calls if item[0] == started), None)
        open_call = open_call or next((item for item in self.open_calls if item[1] == name), None)
        if open_call is None:
            return
        self.open_calls.remove(open_call)
        failed = kind != "tool_usage_finished"
        output = f"The tool failed: {event.error}" if failed else event.output
        content = output if isinstance(output, str) else json.dumps(to_json_value(output), default=str)
        result = {"messageId": f"result-{open_call[2]}", "toolCallId": open_call[2], "content": content}
        self.emit({"type": "TOOL_CALL_RESULT", **result, "role": "tool"})


def read_task_name(event: Any) -> str:
    task = getattr(event, "task", None)
    name = getattr(event, "task_name", None) or getattr(task, "name", None)
    name = name or getattr(getattr(task, "agent", None), "role", None) or "task"
    return " ".join(str(name).split())[:80]


def to_json_value(value: Any) -> Any:
    """Convert a value to plain JSON types."""
    dump = getattr(value, "model_dump", None)
    dumped = dump(mode="json") if dump is not None else value
    return json.loads(json.dumps(dumped, default=str))
