"""Diagram of a flow: nodes and edges, and their Mermaid text. svg.py renders the same diagram as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from rightseat.documents.shape import written
from rightseat.plugins.flows.flow import END, START, Flow, Step
from rightseat.plugins.flows.steps import kind, known

LONGEST = 60
FAILURE = "on error"
DETAILS = ("endpoint", "tool", "flow", "database", "instruction", "message", "question")


class Box(Struct, frozen=True):
    name: str
    title: str
    detail: str = ""
    shape: str = "step"
    """step, choice, end, or error for an on_error step."""


class Arrow(Struct, frozen=True):
    source: str
    target: str
    label: str = ""
    dotted: bool = False


class Picture(Struct, frozen=True):
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture(flow: Flow) -> Picture:
    boxes = [box(step) for step in flow.steps.values()]
    arrows = [arrow for step in flow.steps.values() for arrow in leaving(step)]
    if any(arrow.target == END for arrow in arrows) and END not in flow.steps:
        boxes.append(Box(END, END, shape="end"))
    for source, label, handler in handlers(flow):
        boxes.append(box(handler, "error"))
        arrows += [Arrow(source, handler.name, label, True), *leaving(handler)]
    there = {one.name for one in boxes}
    return Picture(flow.id, tuple(boxes), tuple(one for one in arrows if {one.source, one.target} <= there))


def handlers(flow: Flow) -> Iterator[tuple[str, str, Step]]:
    """Yield (source, label, handler) for each on_error. The flow's own has one edge, from start."""
    if flow.on_error is not None:
        yield START, f"{FAILURE} of any step", flow.on_error
    for step in flow.steps.values():
        if step.on_error is not None:
            yield step.name, FAILURE, step.on_error


def box(step: Step, shape: str = "") -> Box:
    detail = inside(step) or next((str(step.params[key]) for key in DETAILS if step.params.get(key)), "")
    if not shape:
        shape = "choice" if step.kind == "choice" else "end" if step.kind == "none" else "step"
    title = step.name if shape == "end" else f"{step.name} ({step.kind})"
    told = [detail, "asks first" if step.confirm else "", f"retry {step.retry}" if step.retry else ""]
    return Box(step.name, title, short(", ".join(filter(None, told))), shape)


def inside(step: Step) -> str:
    """Describe what a loop or parallel step does with its nested steps."""
    match step.params:
        case {"branches": dict(branches)} if step.kind == "parallel":
            return f"at once: {', '.join(map(str, branches))}"
        case {"over": over} if step.kind == "loop":
            return f"for each of {over if isinstance(over, str) else written(over)}"
        case {"until": until} if step.kind == "loop":
            return f"until {condition(until)}"
        case _:
            return ""


def leaving(step: Step) -> Iterator[Arrow]:
    labels = dict(ways(step))
    jumps = kind(step.kind).jumps(step) if known(step.kind) else ()
    for target in dict.fromkeys(jumps):
        yield Arrow(step.name, target, labels.get(target, ""))
    if step.next and step.next not in labels:
        yield Arrow(step.name, step.next)


def ways(step: Step) -> Iterator[tuple[str, str]]:
    """Yield (target, label) for each option of a choice."""
    choices = step.params.get("choices")
    for one in choices if isinstance(choices, list) else ():
        if isinstance(one, dict) and isinstance(one.get("step"), str):
            said = one.get("description") or (condition(one["when"]) if one.get("when") else "else")
            yield one["step"], short(str(said))


def condition(given: Any) -> str:
    """Format a condition as text, such as `path above 3`."""
    match given:
        case {"path": path, **rest} if len(rest) == 1:
            [[operator, value]] = rest.items()
            return f"{path} {operator} {value if isinstance(value, str) else written(value)}"
        case {"not": inner}:
            return f"not ({condition(inner)})"
        case {"all": list(parts)}:
            return " and ".join(map(condition, parts))
        case {"any": list(parts)}:
            return " or ".join(map(condition, parts))
        case _:
            return written(given)


def short(text: str, most: int = LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


# Mermaid

_FRAMES = {"step": ('["', '"]'), "choice": ('{"', '"}'), "end": ('(["', '"])'), "error": ('[["', '"]]')}


def mermaid(flow: Flow) -> str:
    drawn = picture(flow)
    ids = {one.name: f"s{number}" for number, one in enumerate(drawn.boxes)}
    lines = ["flowchart TD"]
    for one in drawn.boxes:
        before, after = _FRAMES[one.shape]
        text = quoted(one.title) + (f"<br/>{quoted(one.detail)}" if one.detail else "")
        lines.append(f"    {ids[one.name]}{before}{text}{after}")
    for arrow in drawn.arrows:
        line = "-.->" if arrow.dotted else "-->"
        label = f'|"{quoted(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {ids[arrow.source]} {line}{label} {ids[arrow.target]}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Escape characters that Mermaid or the surrounding HTML interprets."""
    return re.sub(r'[#&<>"`\\{}\[\]|]', lambda found: f"#{ord(found[0])};", text)
