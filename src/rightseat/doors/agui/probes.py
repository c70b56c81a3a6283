"""Probes by which `rightseat doctor` checks the AG-UI door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.errors import UpstreamGarbled
from rightseat.http.endpoint import Probe
from rightseat.http.sse import SseParser

PROBE_REQUEST = {
    "threadId": "doctor",
    "runId": "doctor",
    "messages": [{"id": "1", "role": "user", "content": "Count from one to five, in words."}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


def check_run(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_refusal(status, body)
    if not headers.get("content-type", "").startswith("text/event-stream"):
        return "the answer is no event stream"
    try:
        reader = SseParser()
        frames = [*reader.feed(body), *reader.close()]
        events = [msgspec.json.decode(frame, type=dict[str, Any]) for frame in frames]
    except (msgspec.MsgspecError, UnicodeDecodeError, UpstreamGarbled):
        return "the stream cannot be read"
    kinds = [event.get("type") for event in events]
    if kinds[:1] != ["RUN_STARTED"]:
        return "the run does not begin with RUN_STARTED"
    if kinds[-1] == "RUN_ERROR":
        return f"the run failed: {events[-1].get('message')}"
    return None if kinds[-1] == "RUN_FINISHED" else "the run ended without RUN_FINISHED"


def describe_refusal(status: int, body: bytes) -> str:
    try:
        return f"HTTP {status}: {msgspec.json.decode(body, type=dict[str, Any])['message']}"
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError):
        return f"HTTP {status}, and no error in AG-UI's shape"


PROBES = (Probe("run", "POST", "/agui/default", check_run, msgspec.json.encode(PROBE_REQUEST)),)
