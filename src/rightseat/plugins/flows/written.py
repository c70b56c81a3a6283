"""Parse steps of a flow file, of on_error, and of steps nested in params."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rightseat.plugins.flows.flow import END, Flow, Step
from rightseat.plugins.problem import Gravity
from rightseat.types.nearest import closest_match

MAX_NAME_LENGTH = 200
MAX_RETRIES = 10
MAX_TIMEOUT = 86400.0
STEP_KEYS = (
    "name",
    "call_type",
    "params",
    "next",
    "on_error",
    "retry",
    "timeout",
    "confirm",
    "dangerous",
    "repeatable",
    "description",
)
StepRemark = tuple[tuple[str, ...], str, str, Gravity]


def parse_step(value: Any, name: str) -> tuple[Step, list[StepRemark]]:
    """Return the step and remarks about it; ValueError says why it is not a step."""
    if not isinstance(value, Mapping):
        raise ValueError("It is no step: a step has `call_type:` and mostly `params:`.")
    remarks: list[StepRemark] = []
    for key in value:
        if key not in STEP_KEYS:
            near = closest_match(str(key), STEP_KEYS)
            fix = f"Did you mean {near!r}?" if near else "Delete it."
            remarks.append(((str(key),), "Nothing reads this.", fix, "warning"))
    kind = read_text(value.get("call_type"))
    if not kind:
        raise ValueError("It has no call_type.")
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(f"Its name is longer than {MAX_NAME_LENGTH} characters.")
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        raise ValueError("Its params are no mapping of names and values.")
    parsed = Step(
        name=name,
        kind=kind,
        params=params or {},
        next=read_text(value.get("next")) or None,
        on_error=parse_error_handler(value.get("on_error"), f"{name}.on_error", remarks),
        retry=int(parse_limit(value, "retry", MAX_RETRIES) or 0),
        timeout=parse_limit(value, "timeout", MAX_TIMEOUT) or None,
        confirm=value.get("confirm") is True or value.get("dangerous") is True,
        repeatable=value["repeatable"] if isinstance(value.get("repeatable"), bool) else None,
    )
    return parsed, remarks


def parse_error_handler(value: Any, name: str, remarks: list[StepRemark]) -> Step | None:
    if not value:
        return None
    parsed, inner = parse_step(value, name)
    if parsed.on_error is not None:
        raise ValueError("Its on_error has an on_error of its own: one that fails ends the flow.")
    remarks += [(("on_error", *key), what, fix, gravity) for key, what, fix, gravity in inner]
    return parsed


def parse_nested_steps(value: Any, name: str, parent: Flow, default_name: str = "") -> Flow:
    """Parse a nested step, or a list run in order, as a flow. `default_name` is for a single step without
    a name."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError("It has no steps.")
    # A step named `end` does not run.
    unnamed = "" if isinstance(value, list) or default_name == END else default_name
    names: list[str] = []
    for number, one in enumerate(values):
        step_name = read_text(isinstance(one, Mapping) and one.get("name")) or unnamed or str(number + 1)
        if step_name in names:
            raise ValueError(f"There are two steps called {step_name!r}.")
        names.append(step_name)
    steps: dict[str, Step] = {}
    for number, one in enumerate(values):
        parsed, _ = parse_step(one, names[number])
        following = names[number + 1] if number + 1 < len(names) else None
        steps[names[number]] = parsed if parsed.next else replace(parsed, next=following)
    return Flow(
        plugin=parent.plugin,
        name=f"{parent.name}/{name}",
        description=parent.description,
        steps=steps,
        max_steps=parent.max_steps,
        timeout=parent.timeout,
        file=parent.file,
        digest=parent.digest,
    )


def read_text(value: Any) -> str:
    """Return a name or sentence as text; YAML may have read it as a number. Booleans become empty."""
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def parse_limit(value: Mapping[str, Any], key: str, most: float) -> float | None:
    try:
        return parse_number(value.get(key), most)
    except ValueError as error:
        raise ValueError(f"Its {key}: {error}") from None


def parse_number(value: Any, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:40]!r} is no number.")
    if not 0 <= value <= most:
        raise ValueError(f"{value} is not between 0 and {most:g}.")
    return float(value)
