"""Probes by which `rightseat doctor` checks the CopilotKit door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.http.endpoint import Probe

PROBE_PATH = "/copilotkit"
AGENTS_REQUEST = {"query": "query availableAgents { availableAgents { agents { name id description } } }"}
# A short form of the clients' document, with deferred status and streamed text.
DOCUMENT = """mutation generateCopilotResponse($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    threadId runId __typename
    ... on CopilotResponse @defer {
      status {
        ... on BaseResponseStatus { code __typename }
        ... on FailedResponseStatus { reason details __typename }
        __typename
      }
    }
    messages @stream {
      __typename
      ... on BaseMessageOutput { id createdAt }
      ... on TextMessageOutput { content @stream role }
    }
  }
}"""
SAMPLE_MESSAGE = {"content": "Count from one to five, in words.", "role": "user"}
RUN_INPUT = {
    "metadata": {"requestType": "Chat"},
    "frontend": {"actions": []},
    "messages": [{"id": "1", "createdAt": "2025-01-01T00:00:00.000Z", "textMessage": SAMPLE_MESSAGE}],
}
RUN_REQUEST = {"query": DOCUMENT, "variables": {"data": RUN_INPUT}}


def check_agents(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return f"HTTP {status}, and the answer is no JSON"
    if problem := get_first_error(answer):
        return f"HTTP {status}: {problem}"
    data = answer.get("data")
    if status == 200 and isinstance(data, dict) and isinstance(data.get("availableAgents"), dict):
        return None
    return f"HTTP {status}, and no list of agents"


def get_first_error(answer: dict[str, Any]) -> str | None:
    errors = answer.get("errors")
    if not isinstance(errors, list) or not errors or not isinstance(errors[0], dict):
        return None
    return str(errors[0].get("message"))


def check_run(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200 or not headers.get("content-type", "").startswith("multipart/mixed"):
        return check_agents(status, headers, body) or "the answer is not streamed in parts"
    try:
        frames = [msgspec.json.decode(part.split(b"\r\n\r\n", 1)[1]) for part in split_parts(body)]
        entries = [entry for frame in frames for entry in frame.get("incremental", [])]
        statuses = [e["data"]["status"] for e in entries if "status" in (e.get("data") or {})]
    except (msgspec.MsgspecError, IndexError, AttributeError, TypeError, KeyError, UnicodeDecodeError):
        return "the parts cannot be read"
    if not frames or frames[-1].get("hasNext") is not False or not body.endswith(b"\r\n-----\r\n"):
        return "the answer ends too early"
    failed = next((s for s in statuses if s.get("code") == "Failed"), None)
    if failed is not None:
        return f"the run failed: {(failed.get('details') or {}).get('description')}"
    return None if statuses else "the run has no status"


def split_parts(body: bytes) -> list[bytes]:
    return body.split(b"\r\n---")[1:-1]


PROBES = (
    Probe("agents", "POST", PROBE_PATH, check_agents, msgspec.json.encode(AGENTS_REQUEST)),
    Probe("run", "POST", PROBE_PATH, check_run, msgspec.json.encode(RUN_REQUEST)),
)
