"""Tolerant readers of the fields of a peer's events."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.types.events import Usage

_USAGE_KEYS = ("inputTokens", "outputTokens", "cachedInputTokens")


def parse_usage(items: Any) -> Usage | None:
    """Sum the token counts of all models of a run."""
    if not isinstance(items, list) or not items:
        return None
    total = Usage()
    for item in items:
        if isinstance(item, dict):
            total += Usage(*(read_count(item, key) for key in _USAGE_KEYS))
    return total


def read_count(item: dict[str, Any], key: str) -> int:
    value = item.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def read_text(event: dict[str, Any], key: str) -> str:
    """Return a text field; empty if it is missing or no text."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def strip_messages(state: Any) -> Any:
    """Remove the conversation from a graph's state: it is sent as messages, and the state would repeat it
    with each of them."""
    if not isinstance(state, dict):
        return state
    messages = state.get("messages")
    if not isinstance(messages, list) or not all(isinstance(item, dict) for item in messages):
        return state
    if not all("role" in item or "type" in item for item in messages):
        return state
    return {
        key: value for key, value in state.items() if key not in ("messages", "tools", "copilotkit", "ag-ui")
    }


def content_to_text(content: Any) -> str:
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
