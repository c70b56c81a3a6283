"""Probes by which `rightseat doctor` checks the MCP door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.http.endpoint import Probe


def check_tool_list(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return f"HTTP {status}, and no JSON-RPC answer"
    if status != 200 or "error" in answer:
        return f"HTTP {status}: {answer.get('error', {}).get('message')}"
    return None if answer.get("result", {}).get("tools") else "no tool is listed"


PROBE_REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PROBES = (Probe("tools", "POST", "/mcp", check_tool_list, msgspec.json.encode(PROBE_REQUEST)),)
