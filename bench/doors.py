"""How a client asks at a door, and what it must hear."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.machine import ROOT

Json = dict[str, Any]
EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class BenchDoor:
    name: str
    path: str
    make_body: Callable[[str, bool], Json]
    """(prompt, streamed) → the body of the request."""
    read_frame_text: Callable[[Json], str]
    """One frame of the answer → the text in it."""
    answers_unstreamed: bool
    """Whether it can also answer in one body."""
    accept: str = EVENT_STREAM
    detached: bool = False
    """Whether an answer goes on when its client leaves."""

    def format_request(self, prompt: str, streamed: bool = True, key: str = "") -> bytes:
        body = json.dumps(self.make_body(prompt, streamed)).encode()
        auth_header = f"Authorization: Bearer {key}\r\n" if key else ""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"{auth_header}Accept: {self.accept}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def read_streamed_text(self, body: bytes) -> str:
        """The text of a whole streamed body: events, or parts that are one line of JSON each."""
        mark = b"data: " if self.accept == EVENT_STREAM else b""
        lines = (line.removeprefix(mark) for line in body.split(b"\n") if line.startswith(mark + b"{"))
        return "".join(self.read_frame_text(json.loads(line)) for line in lines)

    @staticmethod
    def read_unstreamed_text(body: bytes) -> str:
        """The text of an answer in one body; so far only OpenAI's door gives one."""
        text: str = json.loads(body)["choices"][0]["message"]["content"]
        return text


def _make_openai_body(prompt: str, streamed: bool) -> Json:
    return {"model": "bench", "stream": streamed, "messages": [{"role": "user", "content": prompt}]}


def _read_openai_text(frame: Json) -> str:
    choices = frame.get("choices") or [{}]
    text: str = choices[0].get("delta", {}).get("content") or ""
    return text


def _make_agui_body(prompt: str, streamed: bool) -> Json:
    # Always a new conversation: what a thread held before is not what a token costs.
    return {
        "threadId": str(uuid.uuid4()),
        "runId": str(uuid.uuid4()),
        "state": {},
        "messages": [{"id": "1", "role": "user", "content": prompt}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


def _read_agui_text(frame: Json) -> str:
    text: str = frame["delta"] if frame.get("type") == "TEXT_MESSAGE_CONTENT" else ""
    return text


def _make_openbb_body(prompt: str, streamed: bool) -> Json:
    return {
        "messages": [{"role": "human", "content": prompt}],
        "context": [],
        "widgets": {"primary": [], "secondary": [], "extra": []},
        "urls": [],
        "timezone": "Europe/Paris",
        "workspace_options": {},
        "tools": [],
    }


def _read_openbb_text(frame: Json) -> str:
    text: str = frame.get("delta") or ""
    return text


# As the clients name them; they read parts.
MULTIPART_ACCEPT = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)


@cache
def read_graphql_document() -> str:
    """What the client 1.10.6 sends, with the names of types that its cache adds."""
    return (ROOT / "bench" / "copilotkit.graphql").read_text(encoding="utf-8")


def _make_graphql_body(prompt: str, streamed: bool) -> Json:
    message = {"id": "1", "createdAt": "2026-11-15T00:02:24.520Z", "textMessage": {"content": prompt, "role": "user"}}
    data = {
        "agentStates": [],
        "context": [],
        "extensions": {},
        "forwardedParameters": {},
        "frontend": {"actions": [], "url": "http://localhost:3000/"},
        "messages": [message],
        "metaEvents": [],
        "metadata": {"requestType": "Chat"},
        "runId": None,
        "threadId": str(uuid.uuid4()),
    }
    return {
        "operationName": "generateCopilotResponse",
        "query": read_graphql_document(),
        "variables": {"data": data, "properties": {}},
    }


def _read_graphql_text(frame: Json) -> str:
    """Chunks are strings; messages are not, and hold no text yet."""
    items = (item for entry in frame.get("incremental", ()) for item in entry.get("items", ()))
    return "".join(item for item in items if isinstance(item, str))


OPENAI = BenchDoor("openai", "/v1/chat/completions", _make_openai_body, _read_openai_text, answers_unstreamed=True)
AGUI = BenchDoor("agui", "/agui/default", _make_agui_body, _read_agui_text, answers_unstreamed=False)
OPENBB = BenchDoor("openbb", "/v1/query", _make_openbb_body, _read_openbb_text, answers_unstreamed=False)
GRAPHQL = BenchDoor(
    "graphql", "/copilotkit", _make_graphql_body, _read_graphql_text, answers_unstreamed=False, accept=MULTIPART_ACCEPT
)
COPILOTKIT = BenchDoor(
    "copilotkit",
    "/copilotkit/agent/default/run",
    _make_agui_body,
    _read_agui_text,
    answers_unstreamed=False,
    detached=True,
)
DOORS = {door.name: door for door in (OPENAI, AGUI, OPENBB, GRAPHQL, COPILOTKIT)}
