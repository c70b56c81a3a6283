"""Diagram of a flow: nodes and edges, and their Mermaid text. svg.py renders the same diagram as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from rightseat.documents.json import encode_json
from rightseat.plugins.flows.steps import get_kind
from rightseat.plugins.plugin import END, START, Flow, Step

MAX_LABEL_LENGTH = 60
ERROR_LABEL = "on error"
DETAIL_PARAMS = ("endpoint", "tool", "flow", "database", "instruction", "message", "question")


class DiagramNode(Struct, frozen=True):
    name: str
    title: str
    detail: str = ""
    shape: str = "step"
    """step, choice, end, or error for an on_error step."""


class DiagramEdge(Struct, frozen=True):
    source: str
    target: str
    label: str = ""
    dotted: bool = False


class FlowDiagram(Struct, frozen=True):
    title: str
    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]


def build_diagram(flow: Flow) -> FlowDiagram:
    nodes = [make_node(step) for step in flow.steps.values()]
    edges = [arrow for step in flow.steps.values() for arrow in iter_edges(step)]
    if any(arrow.target == END for arrow in edges) and END not in flow.steps:
        nodes.append(DiagramNode(END, END, shape="end"))
    for source, label, handler in iter_error_handlers(flow):
        nodes.append(make_node(handler, "error"))
        edges += [DiagramEdge(source, handler.name, label, True), *iter_edges(handler)]
    names = {one.name for one in nodes}
    return FlowDiagram(flow.id, tuple(nodes), tuple(one for one in edges if {one.source, one.target} <= names))


def iter_error_handlers(flow: Flow) -> Iterator[tuple[str, str, Step]]:
    """Yield (source, label, handler) for each on_error. The flow's own has one edge, from start."""
    if flow.on_error is not None:
        yield START, f"{ERROR_LABEL} of any step", flow.on_error
    for step in flow.steps.values():
        if step.on_error is not None:
            yield step.name, ERROR_LABEL, step.on_error


def make_node(step: Step, shape: str = "") -> DiagramNode:
    detail = describe_nested_steps(step) or next(
        (str(step.params[key]) for key in DETAIL_PARAMS if step.params.get(key)), ""
    )
    if not shape:
        shape = "choice" if step.kind == "choice" else "end" if step.kind == "none" else "step"
    title = step.name if shape == "end" else f"{step.name} ({step.kind})"
    details = [detail, "asks first" if step.confirm else "", f"retry {step.retry}" if step.retry else ""]
    return DiagramNode(step.name, title, shorten(", ".join(filter(None, details))), shape)


def describe_nested_steps(step: Step) -> str:
    """Describe what a loop or parallel step does with its nested steps."""
    match step.params:
        case {"branches": dict(branches)} if step.kind == "parallel":
            return f"at once: {', '.join(map(str, branches))}"
        case {"over": over} if step.kind == "loop":
            return f"for each of {over if isinstance(over, str) else encode_json(over)}"
        case {"until": until} if step.kind == "loop":
            return f"until {format_condition(until)}"
        case _:
            return ""


def iter_edges(step: Step) -> Iterator[DiagramEdge]:
    labels = dict(iter_choice_labels(step))
    for target in dict.fromkeys(get_kind(step.kind).jumps(step)):
        yield DiagramEdge(step.name, target, labels.get(target, ""))
    if step.next and step.next not in labels:
        yield DiagramEdge(step.name, step.next)


def iter_choice_labels(step: Step) -> Iterator[tuple[str, str]]:
    """Yield (target, label) for each option of a choice."""
    choices = step.params.get("choices")
    for one in choices if isinstance(choices, list) else ():
        if isinstance(one, dict) and isinstance(one.get("step"), str):
            label = one.get("description") or (format_condition(one["when"]) if one.get("when") else "else")
            yield one["step"], shorten(str(label))


def format_condition(expression: Any) -> str:
    """Format a condition as text, such as `path above 3`."""
    match expression:
        case {"path": path, **rest} if len(rest) == 1:
            [[operator, value]] = rest.items()
            return f"{path} {operator} {value if isinstance(value, str) else encode_json(value)}"
        case {"not": inner}:
            return f"not ({format_condition(inner)})"
        case {"all": list(parts)}:
            return " and ".join(map(format_condition, parts))
        case {"any": list(parts)}:
            return " or ".join(map(format_condition, parts))
        case _:
            return encode_json(expression)


def shorten(text: str, most: int = MAX_LABEL_LENGTH) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


# Mermaid

_MERMAID_SHAPES = {"step": ('["', '"]'), "choice": ('{"', '"}'), "end": ('(["', '"])'), "error": ('[["', '"]]')}


def render_mermaid(flow: Flow) -> str:
    diagram = build_diagram(flow)
    ids = {one.name: f"s{number}" for number, one in enumerate(diagram.nodes)}
    lines = ["flowchart TD"]
    for one in diagram.nodes:
        before, after = _MERMAID_SHAPES[one.shape]
        text = escape_mermaid(one.title) + (f"<br/>{escape_mermaid(one.detail)}" if one.detail else "")
        lines.append(f"    {ids[one.name]}{before}{text}{after}")
    for arrow in diagram.edges:
        line = "-.->" if arrow.dotted else "-->"
        label = f'|"{escape_mermaid(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {ids[arrow.source]} {line}{label} {ids[arrow.target]}")
    return "\n".join(lines) + "\n"


def escape_mermaid(text: str) -> str:
    """Escape characters that Mermaid or the surrounding HTML interprets."""
    return re.sub(r'[#&<>"`\\{}\[\]|]', lambda found: f"#{ord(found[0])};", text)
