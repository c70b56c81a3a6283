"""Fold a thread's entries into its visible messages and its state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rightseat.doors.copilotkit.patch import apply_patch
from rightseat.http.agui.write import format_message
from rightseat.types.events import (
    CallArgs,
    CallResult,
    CallStart,
    StateDelta,
    StateSnapshot,
    TextDelta,
    TextStart,
)
from rightseat.types.threads import ThreadEntry, UserInput


def build_messages(entries: Iterable[ThreadEntry]) -> list[dict[str, Any]]:
    """Build the messages in the shape of the threads route: tool calls are flat, with `args`."""
    messages_by_id: dict[str, dict[str, Any]] = {}
    calls: dict[str, dict[str, Any]] = {}
    for entry in entries:
        match entry:
            case UserInput(messages):
                for number, message in enumerate(messages):
                    entry_message = flatten_tool_calls(
                        format_message(message, f"posted-{len(messages_by_id)}-{number}")
                    )
                    messages_by_id.setdefault(entry_message["id"], entry_message)
            case TextStart(id):
                messages_by_id.setdefault(id, {"id": id, "role": "assistant"})["content"] = ""
            case TextDelta(id, text):
                messages_by_id[id]["content"] += text
            case CallStart(id, name, message):
                parent = messages_by_id.setdefault(message, {"id": message, "role": "assistant"})
                calls[id] = {"id": id, "name": name, "args": ""}
                parent.setdefault("toolCalls", []).append(calls[id])
            case CallArgs(id, json):
                calls[id]["args"] += json
            case CallResult(id, content):
                entry_message = {"id": f"result-{id}", "role": "tool", "content": content, "toolCallId": id}
                messages_by_id[entry_message["id"]] = entry_message
            case _:
                pass
    return list(messages_by_id.values())


def flatten_tool_calls(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("toolCalls")
    if calls is None:
        return message
    functions = [(call["id"], call["function"]) for call in calls]
    flat_calls = [{"id": id, "name": call["name"], "args": call["arguments"]} for id, call in functions]
    return {**message, "toolCalls": flat_calls}


def compute_state(entries: Iterable[ThreadEntry]) -> Any:
    state: Any = None
    for entry in entries:
        match entry:
            case StateSnapshot(snapshot):
                state = snapshot
            case StateDelta(patch):
                state = apply_patch(state, patch)
            case UserInput(state=posted) if posted is not None:
                state = posted
            case _:
                pass
    return state
