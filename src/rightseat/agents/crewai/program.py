"""AG-UI server of a CrewAI crew or flow: `python program.py MODULE:ATTRIBUTE`.

The program runs in an environment that has crewai but not rightseat, so it imports only crewai and the
standard library. The first line of its standard input is the key that every request must send. It listens on
a port that the system chooses and prints one line of JSON: the port, or the error. It exits when its input
ends, so it never outlives the server. The crew's output goes to standard error.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import hmac
import importlib
import json
import os
import queue
import select
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSONObject = dict[str, Any]
MAX_BODY = 64 << 20

# Seconds between checks for a disconnected caller while no event comes.
POLL_SECONDS = 0.25


class RunCancelled(BaseException):
    """Unwinds a run whose caller disconnected. A BaseException, so that no `except Exception` handles it."""


def make_runnable(target: Any) -> Any:
    """Return a fresh crew or flow for one run: a crew keeps state, so it is copied."""
    if isinstance(target, type) or (callable(target) and not hasattr(target, "kickoff")):
        target = target()
        crew = getattr(target, "crew", None)
        return crew() if callable(crew) and not hasattr(target, "kickoff") else target
    if hasattr(target, "tasks") and hasattr(target, "copy"):
        return target.copy()
    return type(target)()


def build_inputs(runnable: Any, run_input: JSONObject) -> JSONObject:
    """Build the inputs: the client's state and the `request`; a flow also gets `messages` and `thread`. If a
    crew has exactly one other placeholder, it gets the request too."""
    messages = [item for item in run_input.get("messages") or () if isinstance(item, dict)]
    user_texts = [join_content_text(item.get("content")) for item in messages if item.get("role") == "user"]
    request = user_texts[-1] if user_texts else ""
    state = run_input.get("state")
    inputs = {**(state if isinstance(state, dict) else {}), "request": request}
    if not hasattr(runnable, "tasks"):
        inputs |= {"messages": messages, "thread": str(run_input.get("threadId") or "")}
        # A flow with a typed state takes only the inputs that it declares.
        declared = getattr(type(runnable.state), "model_fields", inputs)
        return {key: value for key, value in inputs.items() if key in declared}
    blanks = set(runnable.fetch_inputs()) - set(inputs)
    return {**inputs, **({blanks.pop(): request} if len(blanks) == 1 else {})}


def join_content_text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def run_crew(target: Any, run_input: JSONObject, emit: Callable[[JSONObject], None]) -> None:
    """Run the crew once and emit the run's events."""
    context = importlib.import_module("crewai.events.stream_context")
    ids = {"threadId": str(run_input.get("threadId") or ""), "runId": str(run_input.get("runId") or "")}
    emit({"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"})
    mapper = CrewEventMapper(emit)
    runnable = make_runnable(target)
    for agent in getattr(runnable, "agents", ()):
        if hasattr(getattr(agent, "llm", None), "stream"):
            agent.llm.stream = True
    token = context.add_stream_sink(lambda _, event: mapper.on_event(event))
    try:
        result = runnable.kickoff(inputs=build_inputs(runnable, run_input))
    finally:
        context.reset_stream_sinks(token)
    mapper.emit_result(format_result(result))
    emit({"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}, "usage": list_usage(result)})


def format_result(result: Any) -> str:
    raw = getattr(result, "raw", result)
    if raw is None or isinstance(raw, str):
        return raw or ""
    return json.dumps(to_json_value(raw), ensure_ascii=False, default=str)


def list_usage(result: Any) -> list[JSONObject]:
    tokens = getattr(result, "token_usage", None)
    if not getattr(tokens, "total_tokens", 0):
        return []
    names = {"inputTokens": "prompt_tokens", "outputTokens": "completion_tokens"}
    return [{key: int(getattr(tokens, name, 0) or 0) for key, name in names.items()}]


class CrewRequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: Any = None
    key = ""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the calling server has a log."""

    def do_GET(self) -> None:
        self.send_status(405)

    def do_POST(self) -> None:
        authorization = self.headers.get("Authorization") or ""
        if not hmac.compare_digest(authorization.encode(), f"Bearer {self.key}".encode()):
            self.send_status(401)
            return
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY:
            self.send_status(413)
            return
        try:
            run_input = json.loads(self.rfile.read(size))
        except ValueError:
            self.send_status(400)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in stream_run_events(self.target, run_input, self.connection):
            data = b"data: " + json.dumps(event, default=str).encode() + b"\n\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def send_status(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True


def stream_run_events(target: Any, run_input: JSONObject, connection: socket.socket) -> Iterator[JSONObject]:
    """Yield the events of a run in its own thread, which stops at its next event after a disconnect."""
    events: queue.SimpleQueue[JSONObject | None] = queue.SimpleQueue()
    cancelled = threading.Event()

    def emit(event: JSONObject) -> None:
        if cancelled.is_set():
            raise RunCancelled
        events.put(event)

    def run() -> None:
        try:
            run_crew(target, run_input, emit)
        except RunCancelled:
            pass
        finally:
            # The error propagates to the end of the thread, which prints it.
            kind = sys.exc_info()[0]
            if kind is not None:
                events.put({"type": "RUN_ERROR", "message": "the crew failed", "code": kind.__name__})
            events.put(None)

    threading.Thread(target=contextvars.Context().run, args=(run,), daemon=True).start()
    try:
        while True:
            try:
                event = events.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if has_disconnected(connection):
                    raise ConnectionAbortedError("the caller has left") from None
                continue
            if event is None:
                return
            yield event
    finally:
        cancelled.set()


def has_disconnected(connection: socket.socket) -> bool:
    """Whether the peer has closed the connection: it is readable and at its end."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


class CrewHTTPServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a disconnected caller."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def main(spec: str) -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    stdin = os.fdopen(os.dup(0), "rb", buffering=0)
    os.dup2(2, 1)
    # A crew that reads from the terminal must not read our input.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    CrewRequestHandler.key = stdin.readline().decode().strip()

    def watch() -> None:
        while stdin.read(4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module("crewai.events.stream_context")
        module, _, attribute = spec.partition(":")
        CrewRequestHandler.target = functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    finally:
        kind, error, _ = sys.exc_info()
        if kind is not None:
            out.write(json.dumps({"error": kind.__name__, "module": getattr(error, "name", None)}) + "\n")
    server = CrewHTTPServer(("127.0.0.1", 0), CrewRequestHandler)
    out.write(json.dumps({"port": server.server_address[1]}) + "\n")
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


class ReActTextSplitter:
    """Splits one model answer into reasoning and text. Agents without native tool calls write ReAct text:
    what comes before `Final Answer:` is reasoning."""

    FINAL_ANSWER = "Final Answer:"
    REASONING_PREFIXES = ("Thought:", "Action:")

    def __init__(self, emit: Callable[[JSONObject], None]) -> None:
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
            self.buffer = start.removeprefix(self.REASONING_PREFIXES[0]).lstrip() if self.mode == "thought" else start
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
            size for size in range(len(self.FINAL_ANSWER) - 1, 0, -1) if self.buffer.endswith(self.FINAL_ANSWER[:size])
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

    def __init__(self, emit: Callable[[JSONObject], None]) -> None:
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
        by_id = [item for item in self.open_calls if item[0] == started]
        open_calls = by_id or [item for item in self.open_calls if item[1] == name]
        if not open_calls:
            return
        self.open_calls.remove(open_calls[0])
        id = open_calls[0][2]
        failed = kind != "tool_usage_finished"
        output = f"The tool failed: {event.error}" if failed else event.output
        content = output if isinstance(output, str) else json.dumps(to_json_value(output), default=str)
        result = {"messageId": f"result-{id}", "toolCallId": id, "content": content, "role": "tool"}
        self.emit({"type": "TOOL_CALL_RESULT", **result})


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


if __name__ == "__main__":
    main(sys.argv[1])
