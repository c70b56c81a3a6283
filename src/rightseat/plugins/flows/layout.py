"""Layered layout of a flow diagram: nodes in rows, each below its predecessors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rightseat.plugins.flows.draw import DiagramEdge, DiagramNode, FlowDiagram

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
    return DiagramLayout(
        tuple(nodes.values()), (*routed, *routed_back), width + 16 * len(routed_back), height
    )


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
                size
                for size in range(len(current), 0, -1)
                if measure_text(current[:size]) <= WRAP_CHARS * CHAR_WIDTH
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
    passed = [
        PlacedNode(f"{edge.source}→{edge.target}", rank=row) for row in range(source.rank + 1, target.rank)
    ]
    return RoutedEdge(edge, (source, *passed, target))


def group_into_rows(nodes: dict[str, PlacedNode], lines: Sequence[RoutedEdge]) -> list[list[PlacedNode]]:
    through = [spot for line in lines for spot in line.nodes[1:-1]]
    rows: list[list[PlacedNode]] = [
        [] for _ in range(max((spot.rank for spot in nodes.values()), default=-1) + 1)
    ]
    for spot in (*nodes.values(), *through):
        rows[spot.rank].append(spot)
    return rows


def reduce_crossings(rows: list[list[PlacedNode]], lines: Sequence[RoutedEdge]) -> None:
    """Sort each row by the mean position of its neighbors, so that few edges cross."""
    above: dict[int, list[PlacedNode]] = {}
    below: dict[int, list[PlacedNode]] = {}
    for line in lines:
        for first, second in zip(line.nodes, line.nodes[1:], strict=False):
            above.setdefault(id(second), []).append(first)
            below.setdefault(id(first), []).append(second)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            place = {
                id(spot): number / max(len(one) - 1, 1) for one in rows for number, spot in enumerate(one)
            }
            near = above if down else below

            def middle(
                spot: PlacedNode, near: dict[int, list[PlacedNode]] = near, place: dict[int, float] = place
            ) -> float:
                around = near.get(id(spot))
                return sum(place[id(one)] for one in around) / len(around) if around else place[id(spot)]

            row.sort(key=middle)


def assign_coordinates(rows: list[list[PlacedNode]]) -> tuple[float, float]:
    """Set coordinates: rows one below the other, centered. Return width and height."""
    widths = [sum(spot.width for spot in row) + NODE_GAP * (len(row) - 1) for row in rows]
    widest = max(widths, default=0.0)
    y = MARGIN
    for row, width in zip(rows, widths, strict=True):
        x = MARGIN + (widest - width) / 2
        tallest = max(spot.height for spot in row)
        for spot in row:
            spot.x = x + spot.width / 2
            spot.y = y + (tallest - spot.height) / 2
            x += spot.width + NODE_GAP
        y += tallest + ROW_GAP
    return widest + 2 * MARGIN, y - ROW_GAP + MARGIN
