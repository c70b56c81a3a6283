"""The `flow_step` event: sent before a step runs, and with its outcome."""

from __future__ import annotations

from typing import Any

from msgspec import json, to_builtins

from rightseat.plugins.flows.attempt import StepFailure
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.progress import FlowProgress
from rightseat.plugins.flows.stage import StepOutput
from rightseat.plugins.flows.steps import NONE
from rightseat.types.events import Custom, Usage

STEP_EVENT = "flow_step"
MAX_SHOWN_BYTES = 4000


def make_step_event(
    flow: Flow,
    progress: FlowProgress,
    step: Step,
    outcome: StepOutput | StepFailure | None = None,
    usage: Usage | None = None,
    **more: Any,
) -> Custom:
    total = sum(one.kind != NONE for one in flow.steps.values())
    number = progress.done + 1
    value = {
        "flow": flow.id,
        "step": step.name,
        "kind": step.kind,
        "progress": f"{number}/{max(total, number)}",
        **more,
    }
    if isinstance(outcome, StepOutput):
        value |= {"output": truncate_data(outcome.data), "message": outcome.message}
    elif isinstance(outcome, StepFailure):
        value["error"] = outcome.text
    if usage is not None:
        value["usage"] = to_builtins(usage)
    return Custom(STEP_EVENT, value)


def truncate_data(data: Any) -> Any:
    """Return the data, or the start of its JSON where it is long."""
    encoded = json.encode(data)
    return (
        data if len(encoded) <= MAX_SHOWN_BYTES else encoded[:MAX_SHOWN_BYTES].decode(errors="ignore") + "…"
    )
