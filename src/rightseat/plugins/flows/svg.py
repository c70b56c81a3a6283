"""SVG of a flow diagram, with its layered layout: one file without scripts, external fonts or styles."""

from __future__ import annotations

from html import escape

from rightseat.plugins.flows.draw import picture, short
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.layout import BELOW, LINE, MARGIN, PAD, Layout, Line, Spot, layout, text_width

STYLE = """\
text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2328;text-anchor:middle}
.box{fill:#f6f8fa;stroke:#57606a}.choice{fill:#fff8c5;stroke:#9a6700}.end{fill:#dafbe1;stroke:#1a7f37}
.error{fill:#ffebe9;stroke:#cf222e}.arrow{fill:none;stroke:#57606a}
.dotted{stroke-dasharray:4 4;stroke:#cf222e}
.label{font-size:11px;fill:#57606a}.paper{fill:#fff;opacity:.85}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.box{fill:#161b22;stroke:#8b949e}
.choice{fill:#2d2a16;stroke:#d29922}.end{fill:#12261e;stroke:#3fb950}.error{fill:#2d1517;stroke:#f85149}
.arrow{stroke:#8b949e}.dotted{stroke:#f85149}.label{fill:#9da7b3}.paper{fill:#0d1117}}"""
HEAD = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#57606a"/></marker>'
)
GAP = 12.0
LABEL = 36
HEIGHTS = (0.5, 0.75, 0.3)
CLASSES = {"step": "box", "choice": "choice", "end": "end", "error": "error"}


def svg(flow: Flow) -> str:
    drawn = picture(flow)
    made = layout(drawn)
    width, height = round(made.width), round(made.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img">',
        f"<title>{text(drawn.title)}</title>",
        f"<style>{STYLE}</style><defs>{HEAD}</defs>",
        *(arrow(line, number, made) for number, line in enumerate(made.lines)),
        *(box(spot) for spot in made.spots),
        *(label(line, made) for line in made.lines if line.arrow.label),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def box(spot: Spot) -> str:
    assert spot.box is not None
    left, top, width, height = spot.x - spot.width / 2, spot.y, spot.width, spot.height
    kind = CLASSES[spot.box.shape]
    if spot.box.shape == "choice":
        middle = top + height / 2
        corners = [
            (left, middle),
            (left + PAD, top),
            (left + width - PAD, top),
            (left + width, middle),
            (left + width - PAD, top + height),
            (left + PAD, top + height),
        ]
        shape = f'<polygon class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"/>'
    else:
        radius = height / 2 if spot.box.shape == "end" else 6
        shape = (
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius:.1f}"/>'
        )
    first = top + PAD / 2 + LINE * 0.75
    lines = "".join(
        f'<text x="{spot.x:.1f}" y="{first + LINE * number:.1f}">{text(line)}</text>'
        for number, line in enumerate(spot.lines)
    )
    return f"<g>{shape}{lines}</g>"


def arrow(line: Line, number: int, made: Layout) -> str:
    kind = "arrow dotted" if line.arrow.dotted else "arrow"
    return f'<path class="{kind}" marker-end="url(#tip)" d="{way(line, number, made)}"/>'


def way(line: Line, number: int, made: Layout) -> str:
    if line.back:
        return around(line, number, made)
    source = line.spots[0]
    x, y = source.x + port(line, made), source.y + source.height
    path = f"M{x:.1f} {y:.1f}"
    for spot in line.spots[1:]:
        half = (y + spot.y) / 2
        path += f"C{x:.1f} {half:.1f} {spot.x:.1f} {half:.1f} {spot.x:.1f} {spot.y:.1f}"
        x, y = spot.x, spot.y + spot.height
    return path


def port(line: Line, made: Layout) -> float:
    """Return the x offset where an edge leaves its node: side by side, in the order of the targets."""
    source = line.spots[0]
    beside = leaving(source, made)
    step = min(source.width / (len(beside) + 1), 60.0)
    return (beside.index(line) - (len(beside) - 1) / 2) * step


def leaving(source: Spot, made: Layout) -> list[Line]:
    """Return a node's outgoing edges from left to right, back edges last."""
    found = [line for line in made.lines if line.spots[0] is source]
    return sorted(found, key=lambda line: made.width if line.back else line.spots[1].x)


def around(line: Line, number: int, made: Layout) -> str:
    """Return the path of a back edge: below the row, up the right side, and in from above."""
    source, target = line.spots
    below, above = source.y + source.height, target.y
    start, end = source.x + port(line, made), target.x + target.width / 4
    out = edge(number, made)
    return f"M{start:.1f} {below:.1f}V{below + GAP:.1f}H{out:.1f}V{above - GAP:.1f}H{end:.1f}V{above:.1f}"


def edge(number: int, made: Layout) -> float:
    ahead = sum(not line.back for line in made.lines)
    return made.width - MARGIN / 2 - 16 * (len(made.lines) - 1 - number if number >= ahead else 0)


def label(line: Line, made: Layout) -> str:
    source, target = line.spots[0], line.spots[1]
    said = short(line.arrow.label, LABEL)
    width = text_width(said) * 0.85
    begin, top = source.x + port(line, made), source.y + source.height
    if line.back:
        x, y = begin + width / 2 + PAD, top + GAP + 4
    else:
        # At different heights, because the edges of a choice start side by side.
        part = HEIGHTS[leaving(source, made).index(line) % len(HEIGHTS)]
        x, y = begin + (target.x - begin) * part, top + min((target.y - top) * part, BELOW - GAP) + 4
    x = min(max(x, width / 2 + 2), made.width - width / 2 - 2)
    left = x - width / 2 - 2
    return (
        f'<rect class="paper" x="{left:.1f}" y="{y - 11:.1f}" width="{width + 4:.1f}" height="14"/>'
        f'<text class="label" x="{x:.1f}" y="{y:.1f}">{text(said)}</text>'
    )


def text(given: str) -> str:
    """Escape text for XML and drop unprintable characters."""
    return escape("".join(char for char in given if char.isprintable()))
