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

Wire = dict[str, Any]
MAX_BODY = 64 << 20
# Seconds between checks for a disconnected caller while no event comes.
LOOK = 0.25


class Stopped(BaseException):
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


def load(spec: str) -> Any:
    module, _, attribute = spec.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def anew(thing: Any) -> Any:
    """Return a fresh crew or flow for one run: a crew keeps state, so it is copied."""
    if isinstance(thing, type) or (callable(thing) and not hasattr(thing, "kickoff")):
        thing = thing()
        crew = getattr(thing, "crew", None)
        return crew() if callable(crew) and not hasattr(thing, "kickoff") else thing
    if hasattr(thing, "tasks") and hasattr(thing, "copy"):
        return thing.copy()
    return type(thing)()


def inputs_of(runs: Any, asked: Wire) -> Wire:
    """Build the inputs: the client's state and the `request`; a flow also gets `messages` and `thread`. If a
    crew has exactly one other placeholder, it gets the request too."""
    messages = [item for item in asked.get("messages") or () if isinstance(item, dict)]
    spoken = [text_of(item.get("content")) for item in messages if item.get("role") == "user"]
    request = spoken[-1] if spoken else ""
    state = asked.get("state")
    given = {**(state if isinstance(state, dict) else {}), "request": request}
    if not hasattr(runs, "tasks"):
        return fitting(runs, {**given, "messages": messages, "thread": str(asked.get("threadId") or "")})
    blanks = set(runs.fetch_inputs()) - set(given)
    return {**given, **({blanks.pop(): request} if len(blanks) == 1 else {})}


def fitting(flow: Any, given: Wire) -> Wire:
    """Drop the inputs that a flow's typed state does not declare."""
    known = getattr(type(flow.state), "model_fields", None)
    return given if known is None else {key: value for key, value in given.items() if key in known}


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def perform(thing: Any, asked: Wire, emit: Callable[[Wire], None]) -> None:
    """Run the crew once and emit the run's events."""
    context = importlib.import_module("crewai.events.stream_context")
    ids = {"threadId": str(asked.get("threadId") or ""), "runId": str(asked.get("runId") or "")}
    emit({"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"})
    telling = beside("telling").Telling(emit)
    runs = anew(thing)
    for agent in getattr(runs, "agents", ()):
        if hasattr(getattr(agent, "llm", None), "stream"):
            agent.llm.stream = True
    token = context.add_stream_sink(lambda _, event: telling.see(event))
    try:
        result = runs.kickoff(inputs=inputs_of(runs, asked))
    finally:
        context.reset_stream_sinks(token)
    telling.say(words(result))
    emit({"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}, "usage": usage(result)})


def words(result: Any) -> str:
    raw = getattr(result, "raw", result)
    if raw is None or isinstance(raw, str):
        return raw or ""
    return json.dumps(beside("telling").plain(raw), ensure_ascii=False, default=str)


def usage(result: Any) -> list[Wire]:
    found = getattr(result, "token_usage", None)
    if not getattr(found, "total_tokens", 0):
        return []
    names = {"inputTokens": "prompt_tokens", "outputTokens": "completion_tokens"}
    return [{key: int(getattr(found, name, 0) or 0) for key, name in names.items()}]


# ---- The HTTP server. ----


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    thing: Any = None
    key = ""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the calling server has a log."""

    def do_GET(self) -> None:
        self.refuse(405)

    def do_POST(self) -> None:
        given = self.headers.get("Authorization") or ""
        if not hmac.compare_digest(given.encode(), f"Bearer {self.key}".encode()):
            self.refuse(401)
            return
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY:
            self.refuse(413)
            return
        try:
            asked = json.loads(self.rfile.read(size))
        except ValueError:
            self.refuse(400)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in happenings(self.thing, asked, self.connection):
            data = b"data: " + json.dumps(event, default=str).encode() + b"\n\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True


def happenings(thing: Any, asked: Wire, connection: socket.socket) -> Iterator[Wire]:
    """Yield the events of a run in its own thread, which stops at its next event after a disconnect."""
    events: queue.SimpleQueue[Wire | None] = queue.SimpleQueue()
    gone = threading.Event()

    def emit(event: Wire) -> None:
        if gone.is_set():
            raise Stopped
        events.put(event)

    def run() -> None:
        try:
            perform(thing, asked, emit)
        except Stopped:
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
                event = events.get(timeout=LOOK)
            except queue.Empty:
                if left(connection):
                    raise ConnectionAbortedError("the caller has left") from None
                continue
            if event is None:
                return
            yield event
    finally:
        gone.set()


def left(connection: socket.socket) -> bool:
    """Whether the peer has closed the connection: it is readable and at its end."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


class Listening(ThreadingHTTPServer):
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
    Handler.key = stdin.readline().decode().strip()

    def watch() -> None:
        while stdin.read(4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module("crewai.events.stream_context")
        Handler.thing = load(spec)
    finally:
        kind, error, _ = sys.exc_info()
        if kind is not None:
            out.write(json.dumps({"error": kind.__name__, "module": getattr(error, "name", None)}) + "\n")
    server = Listening(("127.0.0.1", 0), Handler)
    out.write(json.dumps({"port": server.server_address[1]}) + "\n")
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
