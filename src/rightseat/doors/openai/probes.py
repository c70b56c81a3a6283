"""Probes by which `rightseat doctor` checks the OpenAI door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.http.endpoint import Probe

QUESTION = {"messages": [{"role": "user", "content": "Count from one to five, in words."}]}


def refused(status: int, body: bytes) -> str | None:
    """Describe an error response; None for status 200."""
    if status == 200:
        return None
    try:
        said = msgspec.json.decode(body, type=dict[str, dict[str, Any]])["error"]["message"]
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError):
        return f"HTTP {status}, and no error in OpenAI's shape"
    return f"HTTP {status}: {said}"


def whole(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := refused(status, body):
        return problem
    try:
        choice = msgspec.json.decode(body, type=dict[str, Any])["choices"][0]
        spoken = choice["message"]["content"] or choice["message"].get("tool_calls")
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError, UnicodeDecodeError):
        return "the answer is no chat.completion"
    return None if spoken else f"the answer is empty (finish_reason {choice.get('finish_reason')})"


def streamed(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := refused(status, body):
        return problem
    if not headers.get("content-type", "").startswith("text/event-stream"):
        return "the answer is no event stream"
    if b'data: {"error"' in body:
        last = body.rsplit(b"data: ", 1)[-1].strip()
        return refused(502, last)
    if not body.rstrip().endswith(b"data: [DONE]"):
        return "the stream ended without [DONE]"
    return None if b'"delta"' in body else "the stream has no chat.completion.chunk"


def listed(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := refused(status, body):
        return problem
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])["data"]
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError):
        return "the answer is no list of models"
    return None if found else "the list is empty"


CHAT = "/v1/chat/completions"
PROBES = (
    Probe("models", "GET", "/v1/models", listed),
    Probe("chat, whole", "POST", CHAT, whole, msgspec.json.encode(QUESTION)),
    Probe("chat, streamed", "POST", CHAT, streamed, msgspec.json.encode({**QUESTION, "stream": True})),
)
