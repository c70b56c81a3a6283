"""SVG of a flow diagram, with its layered layout: one file without scripts, external fonts or styles."""

from __future__ import annotations

from html import escape

from rightseat.plugins.flows.draw import build_diagram, shorten
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.layout import (
    LINE_HEIGHT,
    MARGIN,
    PADDING,
    ROW_GAP,
    DiagramLayout,
    PlacedNode,
    RoutedEdge,
    compute_layout,
    measure_text,
)

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
CSS_CLASSES = {"step": "box", "choice": "choice", "end": "end", "error": "error"}


def render_flow_svg(flow: Flow) -> str:
    diagram = build_diagram(flow)
    made = compute_layout(diagram)
    width, height = round(made.width), round(made.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img">',
        f"<title>{escape_text(diagram.title)}</title>",
        f"<style>{STYLE}</style><defs>{ARROWHEAD}</defs>",
        *(render_edge(edge, number, made) for number, edge in enumerate(made.edges)),
        *(render_node(node) for node in made.nodes),
        *(render_label(edge, made) for edge in made.edges if edge.edge.label),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def render_node(node: PlacedNode) -> str:
    assert node.node is not None
    left, top, width, height = node.x - node.width / 2, node.y, node.width, node.height
    kind = CSS_CLASSES[node.node.shape]
    if node.node.shape == "choice":
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
        radius = height / 2 if node.node.shape == "end" else 6
        shape = (
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
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
    return f'<path class="{kind}" marker-end="url(#tip)" d="{make_edge_path(edge, number, layout)}"/>'


def make_edge_path(edge: RoutedEdge, number: int, layout: DiagramLayout) -> str:
    if edge.is_back_edge:
        return make_back_edge_path(edge, number, layout)
    source = edge.nodes[0]
    x, y = source.x + get_port_offset(edge, layout), source.y + source.height
    path = f"M{x:.1f} {y:.1f}"
    for node in edge.nodes[1:]:
        half = (y + node.y) / 2
        path += f"C{x:.1f} {half:.1f} {node.x:.1f} {half:.1f} {node.x:.1f} {node.y:.1f}"
        x, y = node.x, node.y + node.height
    return path


def get_port_offset(edge: RoutedEdge, layout: DiagramLayout) -> float:
    """Return the x offset where an edge leaves its node: side by side, in the order of the targets."""
    source = edge.nodes[0]
    beside = list_outgoing_edges(source, layout)
    step = min(source.width / (len(beside) + 1), 60.0)
    return (beside.index(edge) - (len(beside) - 1) / 2) * step


def list_outgoing_edges(source: PlacedNode, layout: DiagramLayout) -> list[RoutedEdge]:
    """Return a node's outgoing edges from left to right, back edges last."""
    edges = [line for line in layout.edges if line.nodes[0] is source]
    return sorted(edges, key=lambda line: layout.width if line.is_back_edge else line.nodes[1].x)


def make_back_edge_path(line: RoutedEdge, number: int, layout: DiagramLayout) -> str:
    """Return the path of a back edge: below the row, up the right side, and in from above."""
    source, target = line.nodes
    below, above = source.y + source.height, target.y
    start, end = source.x + get_port_offset(line, layout), target.x + target.width / 4
    out = get_back_edge_x(number, layout)
    return f"M{start:.1f} {below:.1f}V{below + GAP:.1f}H{out:.1f}V{above - GAP:.1f}H{end:.1f}V{above:.1f}"


def get_back_edge_x(number: int, layout: DiagramLayout) -> float:
    ahead = sum(not edge.is_back_edge for edge in layout.edges)
    return layout.width - MARGIN / 2 - 16 * (len(layout.edges) - 1 - number if number >= ahead else 0)


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
