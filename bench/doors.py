"""How a client asks at a door, and what it must hear."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.machine import ROOT

Json = dict[str, Any]
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Door:
    name: str
    path: str
    ask: Callable[[str, bool], Json]
    """(prompt, streamed) → the body of the request."""
    heard: Callable[[Json], str]
    """One frame of the answer → the text in it."""
    whole: bool
    """Whether it can also answer in one body."""
    accept: str = EVENTS
    detached: bool = False
    """Whether an answer goes on when its client leaves."""

    def request(self, prompt: str, streamed: bool = True, key: str = "") -> bytes:
        body = json.dumps(self.ask(prompt, streamed)).encode()
        shown = f"Authorization: Bearer {key}\r\n" if key else ""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"{shown}Accept: {self.accept}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def text(self, body: bytes) -> str:
        """The text of a whole streamed body: events, or parts that are one line of JSON each."""
        mark = b"data: " if self.accept == EVENTS else b""
        lines = (line.removeprefix(mark) for line in body.split(b"\n") if line.startswith(mark + b"{"))
        return "".join(self.heard(json.loads(line)) for line in lines)

    @staticmethod
    def whole_text(body: bytes) -> str:
        """The text of an answer in one body; so far only OpenAI's door gives one."""
        text: str = json.loads(body)["choices"][0]["message"]["content"]
        return text


def _openai_ask(prompt: str, streamed: bool) -> Json:
    return {"model": "bench", "stream": streamed, "messages": [{"role": "user", "content": prompt}]}


def _openai_heard(frame: Json) -> str:
    choices = frame.get("choices") or [{}]
    text: str = choices[0].get("delta", {}).get("content") or ""
    return text


def _agui_ask(prompt: str, streamed: bool) -> Json:
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


def _agui_heard(frame: Json) -> str:
    text: str = frame["delta"] if frame.get("type") == "TEXT_MESSAGE_CONTENT" else ""
    return text


def _openbb_ask(prompt: str, streamed: bool) -> Json:
    return {
        "messages": [{"role": "human", "content": prompt}],
        "context": [],
        "widgets": {"primary": [], "secondary": [], "extra": []},
        "urls": [],
        "timezone": "Europe/Paris",
        "workspace_options": {},
        "tools": [],
    }


def _openbb_heard(frame: Json) -> str:
    text: str = frame.get("delta") or ""
    return text


# As the clients name them; they read parts.
PARTS = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)


@cache
def document() -> str:
    """What the client 1.10.6 sends, with the names of types that its cache adds."""
    return (ROOT / "bench" / "copilotkit.graphql").read_text(encoding="utf-8")


def _graphql_ask(prompt: str, streamed: bool) -> Json:
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
        "query": document(),
        "variables": {"data": data, "properties": {}},
    }


def _graphql_heard(frame: Json) -> str:
    """Chunks are strings; messages are not, and hold no text yet."""
    items = (item for entry in frame.get("incremental", ()) for item in entry.get("items", ()))
    return "".join(item for item in items if isinstance(item, str))


OPENAI = Door("openai", "/v1/chat/completions", _openai_ask, _openai_heard, whole=True)
AGUI = Door("agui", "/agui/default", _agui_ask, _agui_heard, whole=False)
OPENBB = Door("openbb", "/v1/query", _openbb_ask, _openbb_heard, whole=False)
GRAPHQL = Door("graphql", "/copilotkit", _graphql_ask, _graphql_heard, whole=False, accept=PARTS)
COPILOTKIT = Door("copilotkit", "/copilotkit/agent/default/run", _agui_ask, _agui_heard, whole=False, detached=True)
DOORS = {door.name: door for door in (OPENAI, AGUI, OPENBB, GRAPHQL, COPILOTKIT)}
