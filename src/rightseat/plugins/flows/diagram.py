"""Diagram of a flow: nodes and edges, as Mermaid text and as SVG with a layered layout.

The SVG is one file without scripts, external fonts or styles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import count, pairwise
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


def render_mermaid(flow: Flow, caption: str = "") -> str:
    """Return Mermaid's text; the caption is its title."""
    diagram = build_diagram(flow)
    ids = {one.name: f"s{number}" for number, one in enumerate(diagram.nodes)}
    title = encode_json(f"{flow.id}: {caption}")
    lines = [*(["---", f"title: {title}", "---"] if caption else []), "flowchart TD"]
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
    return re.sub(r'[#&<>"`\\{}\[\]|]', lambda match: f"#{ord(match[0])};", text)


# Layout

CHAR_WIDTH, WIDE_CHAR_WIDTH, LINE_HEIGHT = 7.2, 13.0, 18.0
PADDING, MIN_NODE_WIDTH = 12.0, 96.0
WRAP_CHARS = 30
NODE_GAP, ROW_GAP, MARGIN = 36.0, 64.0, 24.0
SWEEPS = 4


@dataclass(slots=True)
class PlacedNode:
    """A node with coordinates, or a waypoint of a long edge. `x` is the center, `y` the top."""

    name: str
    lines: list[str] = field(default_factory=list)
    node: DiagramNode | None = None
    rank: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class RoutedEdge:
    """An edge and the nodes it passes, from source to target."""

    edge: DiagramEdge
    nodes: tuple[PlacedNode, ...]
    is_back_edge: bool = False


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    nodes: tuple[PlacedNode, ...]
    edges: tuple[RoutedEdge, ...]
    width: float
    height: float


def compute_layout(diagram: FlowDiagram) -> DiagramLayout:
    nodes = {box.name: measure_node(box) for box in diagram.nodes}
    back_edges = find_back_edges(diagram)
    forward_edges = [edge for edge in diagram.edges if edge not in back_edges]
    assign_ranks(nodes, forward_edges)
    routed = [route_edge(edge, nodes) for edge in forward_edges]
    rows = group_into_rows(nodes, routed)
    reduce_crossings(rows, routed)
    width, height = assign_coordinates(rows)
    routed_back = [RoutedEdge(edge, (nodes[edge.source], nodes[edge.target]), True) for edge in back_edges]
    return DiagramLayout(tuple(nodes.values()), (*routed, *routed_back), width + 16 * len(routed_back), height)


def measure_node(node: DiagramNode) -> PlacedNode:
    lines = [*wrap_text(node.title), *wrap_text(node.detail)]
    width = max([MIN_NODE_WIDTH, *(measure_text(line) + 2 * PADDING for line in lines)])
    height = LINE_HEIGHT * len(lines) + PADDING
    if node.shape == "choice":
        # A hexagon is narrower at its corners.
        width += 2 * PADDING
    return PlacedNode(node.name, lines, node, width=width, height=height)


def measure_text(text: str) -> float:
    return sum(WIDE_CHAR_WIDTH if char > "\u2e7f" else CHAR_WIDTH for char in text)


def wrap_text(text: str) -> list[str]:
    """Wrap text into lines, between any two characters where there are no spaces (Chinese)."""
    lines: list[str] = []
    current = ""
    for word in text.split():
        joined = f"{current} {word}".strip()
        if measure_text(joined) <= WRAP_CHARS * CHAR_WIDTH:
            current = joined
            continue
        if current:
            lines.append(current)
        current = word
        while measure_text(current) > WRAP_CHARS * CHAR_WIDTH:
            size = next(
                size for size in range(len(current), 0, -1) if measure_text(current[:size]) <= WRAP_CHARS * CHAR_WIDTH
            )
            lines.append(current[:size])
            current = current[size:]
    return [*lines, current] if current else lines


def find_back_edges(diagram: FlowDiagram) -> list[DiagramEdge]:
    """Return the edges that close a cycle."""
    leaving: dict[str, list[DiagramEdge]] = {box.name: [] for box in diagram.nodes}
    for edge in diagram.edges:
        leaving[edge.source].append(edge)
    back_edges: list[DiagramEdge] = []
    done: set[str] = set()
    for box in diagram.nodes:
        if box.name in done:
            continue
        # Depth first without recursion: a flow may have hundreds of steps.
        path, open_ = [box.name], [iter(leaving[box.name])]
        while open_:
            next_edge = next(open_[-1], None)
            if next_edge is None:
                done.add(path.pop())
                open_.pop()
            elif next_edge.target in path:
                back_edges.append(next_edge)
            elif next_edge.target not in done:
                path.append(next_edge.target)
                open_.append(iter(leaving[next_edge.target]))
    return back_edges


def assign_ranks(nodes: dict[str, PlacedNode], ahead: Sequence[DiagramEdge]) -> None:
    """Set each node's rank below all its predecessors."""
    for _ in nodes:
        moved = False
        for edge in ahead:
            source, target = nodes[edge.source], nodes[edge.target]
            if target.rank <= source.rank:
                target.rank = source.rank + 1
                moved = True
        if not moved:
            return


def route_edge(edge: DiagramEdge, nodes: dict[str, PlacedNode]) -> RoutedEdge:
    """Return the edge with a waypoint in each row it crosses, so that it avoids the nodes there."""
    source, target = nodes[edge.source], nodes[edge.target]
    passed = [PlacedNode(f"{edge.source}→{edge.target}", rank=row) for row in range(source.rank + 1, target.rank)]
    return RoutedEdge(edge, (source, *passed, target))


def group_into_rows(nodes: dict[str, PlacedNode], edges: Sequence[RoutedEdge]) -> list[list[PlacedNode]]:
    waypoints = [node for edge in edges for node in edge.nodes[1:-1]]
    rows: list[list[PlacedNode]] = [[] for _ in range(max((node.rank for node in nodes.values()), default=-1) + 1)]
    for node in (*nodes.values(), *waypoints):
        rows[node.rank].append(node)
    return rows


def reduce_crossings(rows: list[list[PlacedNode]], edges: Sequence[RoutedEdge]) -> None:
    """Sort each row by the mean position of its neighbors, so that few edges cross."""
    above: dict[int, list[PlacedNode]] = {}
    below: dict[int, list[PlacedNode]] = {}
    for edge in edges:
        for first, second in pairwise(edge.nodes):
            above.setdefault(id(second), []).append(first)
            below.setdefault(id(first), []).append(second)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for row in rows if down else reversed(rows):
            place = {id(node): number / max(len(other) - 1, 1) for other in rows for number, node in enumerate(other)}
            middle: dict[int, float] = {}
            for node in row:
                around = near.get(id(node), [node])
                middle[id(node)] = sum(place[id(other)] for other in around) / len(around)
            row.sort(key=lambda node: middle[id(node)])


def assign_coordinates(rows: list[list[PlacedNode]]) -> tuple[float, float]:
    """Set coordinates: rows one below the other, centered. Return width and height."""
    widths = [sum(node.width for node in row) + NODE_GAP * (len(row) - 1) for row in rows]
    widest = max(widths, default=0.0)
    y = MARGIN
    for row, width in zip(rows, widths, strict=True):
        x = MARGIN + (widest - width) / 2
        tallest = max(node.height for node in row)
        for node in row:
            node.x = x + node.width / 2
            node.y = y + (tallest - node.height) / 2
            x += node.width + NODE_GAP
        y += tallest + ROW_GAP
    return widest + 2 * MARGIN, y - ROW_GAP + MARGIN


# SVG

STYLE = """\
text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2328;text-anchor:middle}
.box{fill:#f6f8fa;stroke:#57606a}.choice{fill:#fff8c5;stroke:#9a6700}.end{fill:#dafbe1;stroke:#1a7f37}
.error{fill:#ffebe9;stroke:#cf222e}.arrow{fill:none;stroke:#57606a}
.dotted{stroke-dasharray:4 4;stroke:#cf222e}
.label{font-size:11px;fill:#57606a}.paper{fill:#fff;opacity:.85}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.box{fill:#161b22;stroke:#8b949e}
.choice{fill:#2d2a16;stroke:#d29922}.end{fill:#12261e;stroke:#3fb950}.error{fill:#2d1517;stroke:#f85149}
.arrow{stroke:#8b949e}.dotted{stroke:#f85149}.label{fill:#9da7b3}.paper{fill:#0d1117}}"""

ARROWHEAD = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#57606a"/></marker>'
)

GAP = 12.0
MAX_EDGE_LABEL = 36
LABEL_POSITIONS = (0.5, 0.75, 0.3)


def render_flow_svg(flow: Flow, caption: str = "") -> str:
    """Return the picture, with the caption below it."""
    diagram = build_diagram(flow)
    layout = compute_layout(diagram)
    lines = [line for part in caption.split("; ") for line in wrap_text(part)]
    width = round(max([layout.width, *(measure_text(line) + 2 * MARGIN for line in lines)]))
    height = round(layout.height + LINE_HEIGHT * len(lines))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img">',
        f"<title>{escape_text(diagram.title)}</title>",
        f"<style>{STYLE}</style><defs>{ARROWHEAD}</defs>",
        *(render_edge(edge, number, layout) for number, edge in enumerate(layout.edges)),
        *(render_node(node) for node in layout.nodes),
        *(render_label(edge, layout) for edge in layout.edges if edge.edge.label),
        *(
            f'<text class="label" x="{width / 2:g}" y="{top:g}">{escape_text(line)}</text>'
            for top, line in zip(count(layout.height, LINE_HEIGHT), lines, strict=False)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def render_node(node: PlacedNode) -> str:
    left, top, width, height = node.x - node.width / 2, node.y, node.width, node.height
    kind = node.node.shape if node.node else ""
    if kind == "choice":
        middle = top + height / 2
        corners = [
            (left, middle),
            (left + PADDING, top),
            (left + width - PADDING, top),
            (left + width, middle),
            (left + width - PADDING, top + height),
            (left + PADDING, top + height),
        ]
        shape = f'<polygon class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"/>'
    else:
        radius = height / 2 if kind == "end" else 6
        css_class = "box" if kind == "step" else kind
        shape = (
            f'<rect class="{css_class}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius:.1f}"/>'
        )
    first = top + PADDING / 2 + LINE_HEIGHT * 0.75
    lines = "".join(
        f'<text x="{node.x:.1f}" y="{first + LINE_HEIGHT * number:.1f}">{escape_text(line)}</text>'
        for number, line in enumerate(node.lines)
    )
    return f"<g>{shape}{lines}</g>"


def render_edge(edge: RoutedEdge, number: int, layout: DiagramLayout) -> str:
    kind = "arrow dotted" if edge.edge.dotted else "arrow"
    source = edge.nodes[0]
    x, y = source.x + get_port_offset(edge, layout), source.y + source.height
    path = f"M{x:.1f} {y:.1f}"
    if edge.is_back_edge:
        # Below the row, up the right side, and in from above.
        target = edge.nodes[1]
        right = layout.width - MARGIN / 2 - 16 * (len(layout.edges) - 1 - number)
        end = target.x + target.width / 4
        path += f"V{y + GAP:.1f}H{right:.1f}V{target.y - GAP:.1f}H{end:.1f}V{target.y:.1f}"
    else:
        for node in edge.nodes[1:]:
            half = (y + node.y) / 2
            path += f"C{x:.1f} {half:.1f} {node.x:.1f} {half:.1f} {node.x:.1f} {node.y:.1f}"
            x, y = node.x, node.y + node.height
    return f'<path class="{kind}" marker-end="url(#tip)" d="{path}"/>'


def get_port_offset(edge: RoutedEdge, layout: DiagramLayout) -> float:
    """Return the x offset where an edge leaves its node: side by side, in the order of the targets."""
    source = edge.nodes[0]
    beside = list_outgoing_edges(source, layout)
    step = min(source.width / (len(beside) + 1), 60.0)
    return (beside.index(edge) - (len(beside) - 1) / 2) * step


def list_outgoing_edges(source: PlacedNode, layout: DiagramLayout) -> list[RoutedEdge]:
    """Return a node's outgoing edges from left to right, back edges last."""
    edges = [edge for edge in layout.edges if edge.nodes[0] is source]
    return sorted(edges, key=lambda edge: layout.width if edge.is_back_edge else edge.nodes[1].x)


def render_label(edge: RoutedEdge, layout: DiagramLayout) -> str:
    source, target = edge.nodes[0], edge.nodes[1]
    label_text = shorten(edge.edge.label, MAX_EDGE_LABEL)
    width = measure_text(label_text) * 0.85
    begin, top = source.x + get_port_offset(edge, layout), source.y + source.height
    if edge.is_back_edge:
        x, y = begin + width / 2 + PADDING, top + GAP + 4
    else:
        # At different heights, because the edges of a choice start side by side.
        part = LABEL_POSITIONS[list_outgoing_edges(source, layout).index(edge) % len(LABEL_POSITIONS)]
        x, y = begin + (target.x - begin) * part, top + min((target.y - top) * part, ROW_GAP - GAP) + 4
    x = min(max(x, width / 2 + 2), layout.width - width / 2 - 2)
    left = x - width / 2 - 2
    return (
        f'<rect class="paper" x="{left:.1f}" y="{y - 11:.1f}" width="{width + 4:.1f}" height="14"/>'
        f'<text class="label" x="{x:.1f}" y="{y:.1f}">{escape_text(label_text)}</text>'
    )


def escape_text(value: str) -> str:
    """Escape text for XML and drop unprintable characters."""
    return escape("".join(char for char in value if char.isprintable()))
