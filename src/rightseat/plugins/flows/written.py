"""Parse steps of a flow file, of on_error, and of steps nested in params."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rightseat.plugins.flows.flow import END, Flow, Step
from rightseat.plugins.problem import Gravity
from rightseat.types.nearest import nearest

LONGEST_NAME = 200
MOST_TRIES = 10
LONGEST = 86400.0
KEYS = (
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
Remark = tuple[tuple[str, ...], str, str, Gravity]


def step(value: Any, name: str) -> tuple[Step, list[Remark]]:
    """Return the step and remarks about it; ValueError says why it is not a step."""
    if not isinstance(value, Mapping):
        raise ValueError("It is no step: a step has `call_type:` and mostly `params:`.")
    remarks: list[Remark] = []
    for key in value:
        if key not in KEYS:
            near = nearest(str(key), KEYS)
            fix = f"Did you mean {near!r}?" if near else "Delete it."
            remarks.append(((str(key),), "Nothing reads this.", fix, "warning"))
    kind = text(value.get("call_type"))
    if not kind:
        raise ValueError("It has no call_type.")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"Its name is longer than {LONGEST_NAME} characters.")
    params = value.get("params")
    if params is not None and not isinstance(params, dict):
        raise ValueError("Its params are no mapping of names and values.")
    made = Step(
        name=name,
        kind=kind,
        params=params or {},
        next=text(value.get("next")) or None,
        on_error=handler(value.get("on_error"), f"{name}.on_error", remarks),
        retry=int(limit(value, "retry", MOST_TRIES) or 0),
        timeout=limit(value, "timeout", LONGEST) or None,
        confirm=value.get("confirm") is True or value.get("dangerous") is True,
        repeatable=value["repeatable"] if isinstance(value.get("repeatable"), bool) else None,
    )
    return made, remarks


def handler(value: Any, name: str, remarks: list[Remark]) -> Step | None:
    if not value:
        return None
    made, inner = step(value, name)
    if made.on_error is not None:
        raise ValueError("Its on_error has an on_error of its own: one that fails ends the flow.")
    remarks += [(("on_error", *key), what, fix, gravity) for key, what, fix, gravity in inner]
    return made


def sequence(value: Any, name: str, around: Flow, alone: str = "") -> Flow:
    """Parse a nested step, or a list run in order, as a flow. `default_name` is for a single step without
    a name."""
    given = value if isinstance(value, list) else [value]
    if not given:
        raise ValueError("It has no steps.")
    # A step named `end` does not run.
    unnamed = "" if isinstance(value, list) or alone == END else alone
    names: list[str] = []
    for number, one in enumerate(given):
        called = text(isinstance(one, Mapping) and one.get("name")) or unnamed or str(number + 1)
        if called in names:
            raise ValueError(f"There are two steps called {called!r}.")
        names.append(called)
    steps: dict[str, Step] = {}
    for number, one in enumerate(given):
        made, _ = step(one, names[number])
        following = names[number + 1] if number + 1 < len(names) else None
        steps[names[number]] = made if made.next else replace(made, next=following)
    return Flow(
        plugin=around.plugin,
        name=f"{around.name}/{name}",
        description=around.description,
        steps=steps,
        max_steps=around.max_steps,
        timeout=around.timeout,
        file=around.file,
        digest=around.digest,
    )


def text(value: Any) -> str:
    """Return a name or sentence as text; YAML may have read it as a number. Booleans become empty."""
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def limit(value: Mapping[str, Any], key: str, most: float) -> float | None:
    try:
        return amount(value.get(key), most)
    except ValueError as error:
        raise ValueError(f"Its {key}: {error}") from None


def amount(value: Any, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:40]!r} is no number.")
    if not 0 <= value <= most:
        raise ValueError(f"{value} is not between 0 and {most:g}.")
    return float(value)
