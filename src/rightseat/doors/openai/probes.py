"""Probes by which `rightseat doctor` checks the OpenAI door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.http.endpoint import Probe

PROBE_REQUEST = {"messages": [{"role": "user", "content": "Count from one to five, in words."}]}


def describe_refusal(status: int, body: bytes) -> str | None:
    """Describe an error response; None for status 200."""
    if status == 200:
        return None
    try:
        message = msgspec.json.decode(body, type=dict[str, dict[str, Any]])["error"]["message"]
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError):
        return f"HTTP {status}, and no error in OpenAI's shape"
    return f"HTTP {status}: {message}"


def check_completion(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := describe_refusal(status, body):
        return problem
    try:
        choice = msgspec.json.decode(body, type=dict[str, Any])["choices"][0]
        content = choice["message"]["content"] or choice["message"].get("tool_calls")
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError, UnicodeDecodeError):
        return "the answer is no chat.completion"
    return None if content else f"the answer is empty (finish_reason {choice.get('finish_reason')})"


def check_stream(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := describe_refusal(status, body):
        return problem
    if not headers.get("content-type", "").startswith("text/event-stream"):
        return "the answer is no event stream"
    if b'data: {"error"' in body:
        last = body.rsplit(b"data: ", 1)[-1].strip()
        return describe_refusal(502, last)
    if not body.rstrip().endswith(b"data: [DONE]"):
        return "the stream ended without [DONE]"
    return None if b'"delta"' in body else "the stream has no chat.completion.chunk"


def check_model_list(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := describe_refusal(status, body):
        return problem
    try:
        models = msgspec.json.decode(body, type=dict[str, Any])["data"]
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError):
        return "the answer is no list of models"
    return None if models else "the list is empty"


CHAT_PATH = "/v1/chat/completions"
PROBES = (
    Probe("models", "GET", "/v1/models", check_model_list),
    Probe("chat, whole", "POST", CHAT_PATH, check_completion, msgspec.json.encode(PROBE_REQUEST)),
    Probe(
        "chat, streamed",
        "POST",
        CHAT_PATH,
        check_stream,
        msgspec.json.encode({**PROBE_REQUEST, "stream": True}),
    ),
)
