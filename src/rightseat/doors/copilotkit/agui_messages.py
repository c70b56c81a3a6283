"""Fold a thread's entries into its visible messages and its state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rightseat.doors.copilotkit.patch import patched
from rightseat.http.agui.write import spoken
from rightseat.types.events import (
    CallArgs,
    CallResult,
    CallStart,
    StateDelta,
    StateSnapshot,
    TextDelta,
    TextStart,
)
from rightseat.types.threads import Entry, Posted


def messages_of(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Build the messages in the shape of the threads route: tool calls are flat, with `args`."""
    found: dict[str, dict[str, Any]] = {}
    calls: dict[str, dict[str, Any]] = {}
    for entry in entries:
        match entry:
            case Posted(messages):
                for number, message in enumerate(messages):
                    said = flat(spoken(message, f"posted-{len(found)}-{number}"))
                    found.setdefault(said["id"], said)
            case TextStart(id):
                found.setdefault(id, {"id": id, "role": "assistant"})["content"] = ""
            case TextDelta(id, text):
                found[id]["content"] += text
            case CallStart(id, name, message):
                parent = found.setdefault(message, {"id": message, "role": "assistant"})
                calls[id] = {"id": id, "name": name, "args": ""}
                parent.setdefault("toolCalls", []).append(calls[id])
            case CallArgs(id, json):
                calls[id]["args"] += json
            case CallResult(id, content):
                said = {"id": f"result-{id}", "role": "tool", "content": content, "toolCallId": id}
                found[said["id"]] = said
            case _:
                pass
    return list(found.values())


def flat(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("toolCalls")
    if calls is None:
        return message
    functions = [(call["id"], call["function"]) for call in calls]
    told = [{"id": id, "name": call["name"], "args": call["arguments"]} for id, call in functions]
    return {**message, "toolCalls": told}


def state_of(entries: Iterable[Entry]) -> Any:
    state: Any = None
    for entry in entries:
        match entry:
            case StateSnapshot(snapshot):
                state = snapshot
            case StateDelta(patch):
                state = patched(state, patch)
            case Posted(state=given) if given is not None:
                state = given
            case _:
                pass
    return state
