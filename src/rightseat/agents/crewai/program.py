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
import importlib.util
import json
import os
import queue
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

JSONObject = dict[str, Any]
MAX_BODY = 64 << 20
# Seconds between checks for a disconnected caller while no event comes.
POLL_SECONDS = 0.25


class RunCancelled(BaseException):
    """Unwinds a run whose caller disconnected. A BaseException, so that no `except Exception` handles it."""


@functools.cache
def beside(name: str) -> Any:
    """Load a module of this folder, which is not on sys.path so that it shadows none of the crew's."""
    spec = importlib.util.spec_from_file_location(
        f"_rightseat_{name}", Path(__file__).with_name(f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- The run. ----


def load_attribute(spec: str) -> Any:
    module, _, attribute = spec.partition(":")
    target: Any = importlib.import_module(module)
    for part in attribute.split("."):
        target = getattr(target, part)
    return target


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
        return select_flow_inputs(
            runnable, {**inputs, "messages": messages, "thread": str(run_input.get("threadId") or "")}
        )
    blanks = set(runnable.fetch_inputs()) - set(inputs)
    return {**inputs, **({blanks.pop(): request} if len(blanks) == 1 else {})}


def select_flow_inputs(flow: Any, inputs: JSONObject) -> JSONObject:
    """Drop the inputs that a flow's typed state does not declare."""
    known = getattr(type(flow.state), "model_fields", None)
    return inputs if known is None else {key: value for key, value in inputs.items() if key in known}


def join_content_text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def run_crew(target: Any, run_input: JSONObject, emit: Callable[[JSONObject], None]) -> None:
    """Run the crew once and emit the run's events."""
    context = importlib.import_module("crewai.events.stream_context")
    ids = {"threadId": str(run_input.get("threadId") or ""), "runId": str(run_input.get("runId") or "")}
    emit({"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"})
    mapper = beside("telling").CrewEventMapper(emit)
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
    return json.dumps(beside("telling").to_json_value(raw), ensure_ascii=False, default=str)


def list_usage(result: Any) -> list[JSONObject]:
    tokens = getattr(result, "token_usage", None)
    if not getattr(tokens, "total_tokens", 0):
        return []
    names = {"inputTokens": "prompt_tokens", "outputTokens": "completion_tokens"}
    return [{key: int(getattr(tokens, name, 0) or 0) for key, name in names.items()}]


# ---- The HTTP server. ----


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
        CrewRequestHandler.target = load_attribute(spec)
    finally:
        kind, error, _ = sys.exc_info()
        if kind is not None:
            out.write(json.dumps({"error": kind.__name__, "module": getattr(error, "name", None)}) + "\n")
    server = CrewHTTPServer(("127.0.0.1", 0), CrewRequestHandler)
    out.write(json.dumps({"port": server.server_address[1]}) + "\n")
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
