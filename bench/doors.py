"""How a client asks at a door, and what it must hear."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


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

    def request(self, prompt: str, streamed: bool = True, key: str = "") -> bytes:
        body = json.dumps(self.ask(prompt, streamed)).encode()
        shown = f"Authorization: Bearer {key}\r\n" if key else ""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"{shown}Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def text(self, body: bytes) -> str:
        """The text of a whole SSE body."""
        frames = (line[6:] for line in body.split(b"\n") if line.startswith(b"data: {"))
        return "".join(self.heard(json.loads(frame)) for frame in frames)

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
    return {
        "threadId": f"thread {prompt}",
        "runId": f"run {prompt}",
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


OPENAI = Door("openai", "/v1/chat/completions", _openai_ask, _openai_heard, whole=True)
AGUI = Door("agui", "/agui/default", _agui_ask, _agui_heard, whole=False)
OPENBB = Door("openbb", "/v1/query", _openbb_ask, _openbb_heard, whole=False)
DOORS = {door.name: door for door in (OPENAI, AGUI, OPENBB)}
