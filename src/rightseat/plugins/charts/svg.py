"""SVG of a plot, for clients that draw no charts: no scripts, links or external resources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from rightseat.plugins.charts import marks
from rightseat.plugins.charts.marks import BOTTOM, COLOURS, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Box
from rightseat.plugins.charts.plot import Plot
from rightseat.plugins.charts.scale import short, thinned

MOST_LABELS, LONGEST_LABEL = 10, 14
MOST_NAMES = 7
# Characters that XML cannot contain, even escaped.
_ODD = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(plot: Plot) -> str:
    inner = "".join(drawn(plot))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img" '
        f"aria-label={quoteattr(clean(plot.title or plot.y or plot.kind))}>"
    )
    return f'{head}<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{inner}</svg>'


def drawn(plot: Plot) -> Iterator[str]:
    if plot.title:
        yield words(WIDTH / 2, 24, plot.title, anchor="middle", size=16, longest=70)
    if plot.kind in ("pie", "ring"):
        yield from marks.slices(plot)
        yield from legend(plot.categories)
        return
    box = marks.box(plot)
    if plot.kind == "heatmap":
        yield from marks.cells(plot)
        yield from rows_named(plot)
    else:
        yield from lines(box)
        yield from {"scatter": marks.dots, "bar": marks.bars, "stacked": marks.piles}.get(
            plot.kind, marks.curves
        )(plot, box)
    yield from named(plot, box)
    if plot.kind != "heatmap" and len(plot.series) > 1:
        yield from legend(tuple(one.name for one in plot.series))


def lines(box: Box) -> Iterator[str]:
    """Render the horizontal gridlines with their tick labels."""
    for tick in box.up.ticks():
        y = box.up(tick)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e0e0e0"/>'
        yield words(LEFT - 6, y + 4, short(tick), anchor="end")


def named(plot: Plot, box: Box) -> Iterator[str]:
    """Render the x labels and the axis titles."""
    base = HEIGHT - BOTTOM
    yield f'<path d="M{LEFT} {base}H{WIDTH - RIGHT}" stroke="#808080"/>'
    if box.across is not None:
        for tick in box.across.ticks():
            yield words(box.across(tick), base + 18, short(tick), anchor="middle")
    else:
        for place in thinned(plot.categories, MOST_LABELS):
            middle = marks.centre(plot, place)
            yield words(middle, base + 18, plot.categories[place], anchor="middle", longest=LONGEST_LABEL)
    if plot.x:
        yield words(WIDTH / 2, base + 36, plot.x, anchor="middle", longest=60)
    if plot.y and plot.kind != "heatmap":
        yield words(8, TOP - 10, plot.y, longest=60)


def rows_named(plot: Plot) -> Iterator[str]:
    for number in thinned([one.name for one in plot.series], 2 * MOST_LABELS):
        y = marks.row_centre(plot, number)
        yield words(LEFT - 6, y + 4, plot.series[number].name, anchor="end", longest=9)


def legend(names: tuple[str, ...]) -> Iterator[str]:
    room = (WIDTH - 40) / min(len(names), MOST_NAMES) if names else 0
    for place, name in enumerate(names[:MOST_NAMES]):
        x = 20 + place * room
        yield f'<rect x="{x:.1f}" y="{HEIGHT - 22}" width="10" height="10" fill="{colour(place)}"/>'
        yield words(x + 14, HEIGHT - 13, name, longest=max(int(room / 8), 4))


def colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def words(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, longest: int = LONGEST_LABEL
) -> str:
    shown = clean(" ".join(text.split()))
    cut = shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#333333">'
        f"{escape(cut)}</text>"
    )


def clean(text: str) -> str:
    return _ODD.sub("\ufffd", text)
