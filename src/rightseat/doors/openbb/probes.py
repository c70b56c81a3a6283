"""Probes by which `rightseat doctor` checks the OpenBB door."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.errors import RightseatError, UpstreamGarbled
from rightseat.http.endpoint import Probe
from rightseat.http.sse import SseParser

LEGACY_PROBE = {"messages": [{"role": "human", "content": "Count from one to five, in words."}]}
ERROR_SUFFIX = re.compile(r" \(([a-z_]+)\)\Z")
WORKSPACE_PROBE = {
    **LEGACY_PROBE,
    "widgets": {"primary": [], "secondary": [], "extra": []},
    "timezone": "UTC",
}


def describe_refusal(status: int, body: bytes) -> str | None:
    if status == 200:
        return None
    try:
        return f"HTTP {status}: {msgspec.json.decode(body, type=dict[str, Any])['detail']}"
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError):
        return f"HTTP {status}, and no error in OpenBB's shape"


def check_agents_json(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := describe_refusal(status, body):
        return problem
    try:
        agents = msgspec.json.decode(body, type=dict[str, dict[str, Any]])
        entries = [
            (entry["name"], entry["description"], entry["endpoints"]["query"]) for entry in agents.values()
        ]
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError):
        return "the answer is no file of agents"
    if any(entry.get("image", "-") in ("", None) for entry in agents.values()):
        return "an agent has an empty image, for which the client refuses the whole file"
    return None if entries else "the file names nobody"


def check_query(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if problem := describe_refusal(status, body):
        return problem
    if not headers.get("content-type", "").startswith("text/event-stream"):
        return "the answer is no event stream"
    try:
        reader = SseParser()
        data = [
            msgspec.json.decode(one, type=dict[str, Any]) for one in (*reader.feed(body), *reader.close())
        ]
    except (msgspec.MsgspecError, UnicodeDecodeError, UpstreamGarbled):
        return "an event is not JSON: the client would stop there"
    text = "".join(str(one.get("delta", "")) for one in data)
    if (failed := ERROR_SUFFIX.search(text)) and failed[1] in list_error_codes(RightseatError):
        return f"the run failed: {text[-300:]}"
    if not body.startswith(b"event: "):
        return "the stream begins with something else than an event"
    return None if text or any("function" in one for one in data) else "the answer is empty"


def list_error_codes(kind: type[RightseatError]) -> set[str]:
    """List error codes, by which a failed answer's text ends: legacy clients get no other sign of failure."""
    return {kind.code}.union(*(list_error_codes(child) for child in kind.__subclasses__()))


PROBES = (
    Probe("agents.json", "GET", "/agents.json", check_agents_json),
    Probe("copilots.json", "GET", "/copilots.json", check_agents_json),
    Probe("query of 2024", "POST", "/v1/query", check_query, msgspec.json.encode(LEGACY_PROBE)),
    Probe("query of today", "POST", "/v1/query", check_query, msgspec.json.encode(WORKSPACE_PROBE)),
)
