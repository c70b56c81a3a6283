"""SVG of a plot, for clients that draw no charts: no scripts, links or external resources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from rightseat.plugins.charts import marks
from rightseat.plugins.charts.marks import BOTTOM, COLORS, HEIGHT, LEFT, RIGHT, TOP, WIDTH, PlotScales
from rightseat.plugins.charts.plot import Plot
from rightseat.plugins.charts.scale import format_tick, pick_label_positions

MAX_LABELS, MAX_LABEL_LENGTH = 10, 14
MAX_LEGEND_ENTRIES = 7
# Characters that XML cannot contain, even escaped.
_INVALID_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_chart_svg(plot: Plot) -> str:
    inner = "".join(render_plot(plot))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img" '
        f"aria-label={quoteattr(replace_invalid_xml(plot.title or plot.y or plot.kind))}>"
    )
    return f'{head}<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{inner}</svg>'


def render_plot(plot: Plot) -> Iterator[str]:
    if plot.title:
        yield render_text(WIDTH / 2, 24, plot.title, anchor="middle", size=16, longest=70)
    if plot.kind in ("pie", "ring"):
        yield from marks.render_slices(plot)
        yield from render_legend(plot.categories)
        return
    scales = marks.make_scales(plot)
    if plot.kind == "heatmap":
        yield from marks.render_heatmap_cells(plot)
        yield from render_row_labels(plot)
    else:
        yield from render_gridlines(scales)
        yield from {
            "scatter": marks.render_points,
            "bar": marks.render_bars,
            "stacked": marks.render_stacks,
        }.get(plot.kind, marks.render_lines)(plot, scales)
    yield from render_axis_labels(plot, scales)
    if plot.kind != "heatmap" and len(plot.series) > 1:
        yield from render_legend(tuple(one.name for one in plot.series))


def render_gridlines(scales: PlotScales) -> Iterator[str]:
    """Render the horizontal gridlines with their tick labels."""
    for tick in scales.y_scale.ticks():
        y = scales.y_scale(tick)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e0e0e0"/>'
        yield render_text(LEFT - 6, y + 4, format_tick(tick), anchor="end")


def render_axis_labels(plot: Plot, scales: PlotScales) -> Iterator[str]:
    """Render the x labels and the axis titles."""
    base = HEIGHT - BOTTOM
    yield f'<path d="M{LEFT} {base}H{WIDTH - RIGHT}" stroke="#808080"/>'
    if scales.x_scale is not None:
        for tick in scales.x_scale.ticks():
            yield render_text(scales.x_scale(tick), base + 18, format_tick(tick), anchor="middle")
    else:
        for place in pick_label_positions(plot.categories, MAX_LABELS):
            middle = marks.get_category_center(plot, place)
            yield render_text(
                middle, base + 18, plot.categories[place], anchor="middle", longest=MAX_LABEL_LENGTH
            )
    if plot.x:
        yield render_text(WIDTH / 2, base + 36, plot.x, anchor="middle", longest=60)
    if plot.y and plot.kind != "heatmap":
        yield render_text(8, TOP - 10, plot.y, longest=60)


def render_row_labels(plot: Plot) -> Iterator[str]:
    for number in pick_label_positions([one.name for one in plot.series], 2 * MAX_LABELS):
        y = marks.get_row_center(plot, number)
        yield render_text(LEFT - 6, y + 4, plot.series[number].name, anchor="end", longest=9)


def render_legend(names: tuple[str, ...]) -> Iterator[str]:
    room = (WIDTH - 40) / min(len(names), MAX_LEGEND_ENTRIES) if names else 0
    for place, name in enumerate(names[:MAX_LEGEND_ENTRIES]):
        x = 20 + place * room
        yield f'<rect x="{x:.1f}" y="{HEIGHT - 22}" width="10" height="10" fill="{get_legend_color(place)}"/>'
        yield render_text(x + 14, HEIGHT - 13, name, longest=max(int(room / 8), 4))


def get_legend_color(place: int) -> str:
    return COLORS[place % len(COLORS)]


def render_text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, longest: int = MAX_LABEL_LENGTH
) -> str:
    cleaned = replace_invalid_xml(" ".join(text.split()))
    cut = cleaned if len(cleaned) <= longest else f"{cleaned[: longest - 1]}…"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#333333">'
        f"{escape(cut)}</text>"
    )


def replace_invalid_xml(text: str) -> str:
    return _INVALID_XML.sub("\ufffd", text)
