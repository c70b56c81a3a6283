"""Tolerant readers of the fields of a peer's events."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.types.events import Usage

_COUNTS = ("inputTokens", "outputTokens", "cachedInputTokens")


def usage(listed: Any) -> Usage | None:
    """Sum the token counts of all models of a run."""
    if not isinstance(listed, list) or not listed:
        return None
    total = Usage()
    for item in listed:
        if isinstance(item, dict):
            total += Usage(*(count(item, key) for key in _COUNTS))
    return total


def count(item: dict[str, Any], key: str) -> int:
    found = item.get(key)
    return found if isinstance(found, int) and found > 0 else 0


def name(event: dict[str, Any], key: str) -> str:
    """Return a text field; empty if it is missing or no text."""
    found = event.get(key)
    return found if isinstance(found, str) else ""


def without_messages(state: Any) -> Any:
    """Remove the conversation from a graph's state: it is sent as messages, and the state would repeat it
    with each of them."""
    if not isinstance(state, dict):
        return state
    listed = state.get("messages")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        return state
    if not all("role" in item or "type" in item for item in listed):
        return state
    return {
        key: value for key, value in state.items() if key not in ("messages", "tools", "copilotkit", "ag-ui")
    }


def plain(content: Any) -> str:
    """Convert a tool result (text, text parts or any JSON value) to text."""
    match content:
        case str():
            return content
        case None:
            return ""
        case [*parts] if parts and all(isinstance(part, dict) and "text" in part for part in parts):
            return "".join(str(part["text"]) for part in parts)
        case _:
            return msgspec.json.encode(content).decode()
