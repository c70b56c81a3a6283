"""The bench's picture: `python -m bench.picture` draws docs/img/bench.svg from the table of docs/performance.md.

It shows what a streamed token costs at each door, beside the peer that has the same clients. The same table gives the
same bytes. Colours follow the reader's light or dark setting, and the text stays readable on a phone.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bench.page import BEGIN, END, PAGE

PICTURE = PAGE.parent / "img" / "bench.svg"
MEASURE = "CPU per paced token"
OWN, FLOOR = "rightseat", "splice"
WIDTH = 720
MARGIN = 24
LINE_HEIGHT = 34
BAR_HEIGHT = 28
BAR_GAP = 4
GROUP_GAP = 24
GROUP_HEIGHT = LINE_HEIGHT + 2 * BAR_HEIGHT + BAR_GAP + GROUP_GAP
TOP = MARGIN + 2 * LINE_HEIGHT + 22
NUMBER_WIDTH = 130
"""Room for the number behind the longest bar."""
STYLE = """
svg { font: 24px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
.page { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .title { font-size: 28px; font-weight: 600 }
.own { fill: #1a7f5a } .peer { fill: #afb8c1 } .floor { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 4 4 }
.number { font-variant-numeric: tabular-nums } .strong { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 }
  .own { fill: #3fb98a } .peer { fill: #59636e } .floor { stroke: #e6edf3 }
}
"""


@dataclass(frozen=True, slots=True)
class ComparedDoor:
    """A door of ours and the peer that serves the same clients."""

    title: str
    door: str
    peer: str
    peer_title: str


DOORS = (
    ComparedDoor("OpenAI clients", "openai", "litellm", "LiteLLM's proxy"),
    ComparedDoor("OpenBB", "openbb", "openbb", "its example agent with openbb-ai"),
    ComparedDoor("CopilotKit, AG-UI", "copilotkit", "copilotkit", "its runtime"),
    ComparedDoor("CopilotKit, GraphQL", "graphql", "copilotkit-gql", "its runtime"),
)


@dataclass(frozen=True, slots=True)
class BenchFigures:
    """What the picture shows: the medians in µs by peer, and the line that says where they come from."""

    medians: Mapping[str, float]
    facts: str

    def find_fact(self, name: str) -> str:
        """Return what the facts say of a name, such as a version; empty where they say nothing."""
        match = re.search(rf"(?:^|; ){re.escape(name)} ([^;]+?)(?=;|\.?$)", self.facts)
        return match[1].split(" with ")[0].split(" on ")[0] if match else ""


def read_figures(page: str) -> BenchFigures:
    """Read the part of docs/performance.md that the bench writes; raises ValueError where a figure is missing."""
    section = page.partition(BEGIN)[2].partition(END)[0]
    facts = next((line for line in section.splitlines() if line.startswith("Measured: ")), "")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    medians = {row[1]: float(row[4]) for row in rows if row[0] == MEASURE and row[2] == "µs"}
    needed = {FLOOR, *(f"{OWN} {entry.door}" for entry in DOORS), *(entry.peer for entry in DOORS)}
    if missing := needed - medians.keys():
        raise ValueError(f"docs/performance.md has no {MEASURE!r} of: {', '.join(sorted(missing))}")
    return BenchFigures(medians, facts.removeprefix("Measured: ").removesuffix("."))


def draw_picture(figures: BenchFigures) -> str:
    """Return the SVG of the figures."""
    bottom = TOP + len(DOORS) * GROUP_HEIGHT
    height = bottom + 2 * LINE_HEIGHT + MARGIN
    summary = "; ".join(describe_door(entry, figures) for entry in DOORS)
    notes = (
        f"Dotted: {figures.medians[FLOOR]:,.0f} µs to copy the bytes without reading them.",
        f"Measured {figures.facts.partition(';')[0]}, {figures.find_fact('machine')}.",
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-labelledby="title summary">',
        '<title id="title">CPU time of a streamed token</title>',
        f'<desc id="summary">{escape(summary, quote=False)}.</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="12"/>',
        draw_text(MARGIN, MARGIN + 26, ("text title", "What a streamed token costs")),
        draw_text(MARGIN, MARGIN + 26 + LINE_HEIGHT, ("faint", "CPU of the server in microseconds; less is better")),
        *(
            line
            for number, entry in enumerate(DOORS)
            for line in draw_door(entry, figures, TOP + number * GROUP_HEIGHT)
        ),
        *(draw_text(MARGIN, bottom + 26 + number * LINE_HEIGHT, ("faint", note)) for number, note in enumerate(notes)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def draw_door(entry: ComparedDoor, figures: BenchFigures, top: int) -> Iterator[str]:
    """Yield the bars of a door and of its peer under both names, and the floor as a line over them."""
    peer_name = f"{entry.peer_title} {figures.find_fact(entry.peer)}".strip()
    yield draw_text(MARGIN, top + 24, ("text strong", entry.title), ("faint", f" · {peer_name}"))
    y = first = top + LINE_HEIGHT
    for peer, style, label in ((f"{OWN} {entry.door}", "own", OWN), (entry.peer, "peer", "")):
        value = figures.medians[peer]
        width = format_number(scale_figure(value, figures))
        yield f'<rect class="{style}" x="{MARGIN}" y="{y}" width="{width}" height="{BAR_HEIGHT}" rx="4"/>'
        words = [("text number", f"{value:,.0f} µs"), *([("faint", f" {label}")] if label else [])]
        yield draw_text(MARGIN + float(width) + 10, y + 22, *words)
        y += BAR_HEIGHT + BAR_GAP
    x = format_number(MARGIN + scale_figure(figures.medians[FLOOR], figures))
    yield f'<path class="floor" d="M{x} {first - 2}V{y - BAR_GAP + 2}"/>'


def describe_door(entry: ComparedDoor, figures: BenchFigures) -> str:
    own, peer = figures.medians[f"{OWN} {entry.door}"], figures.medians[entry.peer]
    return f"{entry.title}: rightseat {own:.0f} µs, {entry.peer_title} {peer:.0f} µs"


def scale_figure(value: float, figures: BenchFigures) -> float:
    """Return the length of a figure's bar: the longest takes what its number leaves."""
    return max(2.0, value / max(figures.medians.values()) * (WIDTH - 2 * MARGIN - NUMBER_WIDTH))


def draw_text(x: float, y: float, *words: tuple[str, str]) -> str:
    """Return a line of text at a place; each part of it has its style."""
    parts = "".join(f'<tspan class="{style}">{escape(text, quote=False)}</tspan>' for style, text in words)
    return f'<text x="{format_number(x)}" y="{format_number(y)}">{parts}</text>'


def format_number(value: float) -> str:
    return f"{math.floor(value * 10 + 0.5) / 10:g}"


def write_picture(page: Path = PAGE, picture: Path = PICTURE) -> None:
    picture.write_text(draw_picture(read_figures(page.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    write_picture()
