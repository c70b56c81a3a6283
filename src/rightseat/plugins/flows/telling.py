"""The `flow_step` event: sent before a step runs, and with its outcome."""

from __future__ import annotations

from typing import Any

from msgspec import json, to_builtins

from rightseat.plugins.flows.attempt import Failure
from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.progress import Progress
from rightseat.plugins.flows.stage import Output
from rightseat.plugins.flows.steps import NONE
from rightseat.types.events import Custom, Usage

STEP = "flow_step"
SHOWN = 4000


def told(
    flow: Flow,
    progress: Progress,
    step: Step,
    last: Output | Failure | None = None,
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
    if isinstance(last, Output):
        value |= {"output": shown(last.data), "message": last.message}
    elif isinstance(last, Failure):
        value["error"] = last.text
    if usage is not None:
        value["usage"] = to_builtins(usage)
    return Custom(STEP, value)


def shown(data: Any) -> Any:
    """Return the data, or the start of its JSON where it is long."""
    encoded = json.encode(data)
    return data if len(encoded) <= SHOWN else encoded[:SHOWN].decode(errors="ignore") + "…"
