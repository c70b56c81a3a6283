"""Questions about a step: its confirmation, and whether to run it again after a crash."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.types.tools import APPROVAL_SCHEMA, Ask

ACTION, RETRY, SKIP, STOP = "then", "retry", "skip", "stop"
RERUN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        ACTION: {
            "type": "string",
            "enum": [RETRY, SKIP, STOP],
            "description": "retry runs the step again, skip goes on without it, stop ends the flow",
        }
    },
    "required": [ACTION],
}


def make_confirmation(flow: Flow, step: Step) -> Ask:
    return Ask(
        escape_unprintable(f"Allow the step {describe_step(step)} of {flow.id}?"), "confirm", APPROVAL_SCHEMA
    )


def make_rerun_question(flow: Flow, step: Step) -> Ask:
    text = (
        f"The server stopped in the middle of the step {describe_step(step)} of {flow.id}: it may have run. "
        "Shall it be run again (retry), left out (skip), or shall the flow end here (stop)?"
    )
    return Ask(escape_unprintable(text), "form", RERUN_SCHEMA)


def describe_step(step: Step) -> str:
    """Return the step's name, kind and target."""
    target = step.params.get("endpoint") or step.params.get("tool") or step.params.get("flow")
    called = f"{step.kind} {target}" if isinstance(target, str) else step.kind
    return f"{step.name!r} ({called})"


def escape_unprintable(text: str) -> str:
    """Escape unprintable characters and those that change the display order."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
