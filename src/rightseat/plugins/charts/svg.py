"""SVG of a plot, for clients that draw no charts: no scripts, links or external resources."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from rightseat.plugins.charts.chart import Plot

TICKS = 6
NICE_STEPS = (1, 2, 2.5, 5, 10)


class Scale(Struct, frozen=True):
    low: float
    high: float
    start: float
    """Where `low` is drawn; `end` is where `high` is."""
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        share = (value - low) / ((high - low) or 1)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            found = [10.0**power for power in range(first, last + 1)]
            return [tick for tick in found if self.low <= tick <= self.high] or [self.low, self.high]
        step = choose_tick_step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def choose_tick_step(span: float) -> float:
    """Return a round distance between ticks."""
    rough = span / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in NICE_STEPS if nice * power >= rough * (1 - 1e-9))


def make_scale(values: Iterable[float], start: float, end: float, *, zero: bool, log: bool = False) -> Scale:
    """Return a scale over all values, extended to round numbers."""
    numbers = list(values) or [0.0]
    low, high = min(numbers), max(numbers)
    if log and low > 0:
        return Scale(10.0 ** math.floor(math.log10(low)), 10.0 ** (math.floor(math.log10(high)) + 1), start, end, True)
    if zero:
        low, high = min(low, 0), max(high, 0)
    if low == high:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0, 1)
    step = choose_tick_step(high - low)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, start, end)


def format_tick(value: float) -> str:
    """Format a number for an axis (10k, 2M)."""
    for size, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if sign == 'k' else size):g}{sign}"
    return f"{value:g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"


def pick_label_positions(names: Sequence[str], most: int) -> list[int]:
    """Return the positions of at most `most` evenly spaced labels."""
    every = max(1, math.ceil(len(names) / most))
    return list(range(0, len(names), every))


WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 72, 24, 56, 76

COLORS = ("#5470c6", "#91cc75", "#fac858", "#ee6666", "#73c0de", "#3ba272", "#fc8452", "#9a60b4", "#ea7ccc")

PALE, DARK = (240, 245, 255), (30, 70, 160)


class PlotScales(Struct, frozen=True):
    y_scale: Scale
    x_scale: Scale | None = None
    """Only of a scatter; other kinds have categories."""


def make_scales(plot: Plot) -> PlotScales:
    if plot.kind == "scatter":
        points = [point for one in plot.series for point in one.points]
        across = make_scale((x for x, _ in points), LEFT, WIDTH - RIGHT, zero=False)
        return PlotScales(make_scale((y for _, y in points), HEIGHT - BOTTOM, TOP, zero=False), across)
    if plot.kind == "stacked":
        values = [total for pile in iter_stack_extents(plot) for total in pile]
        return PlotScales(make_scale(values, HEIGHT - BOTTOM, TOP, zero=True))
    values_present = [value for one in plot.series for value in one.values if value is not None]
    return PlotScales(make_scale(values_present, HEIGHT - BOTTOM, TOP, zero=True, log=plot.log))


def iter_stack_extents(plot: Plot) -> Iterator[tuple[float, float]]:
    """Yield the (negative, positive) sum of each stack."""
    for column in zip(*(one.values for one in plot.series), strict=True):
        known = [value for value in column if value is not None]
        yield sum(value for value in known if value < 0), sum(value for value in known if value > 0)


def get_category_width(plot: Plot) -> float:
    return (WIDTH - LEFT - RIGHT) / max(len(plot.categories), 1)


def get_category_center(plot: Plot, place: int) -> float:
    return LEFT + (place + 0.5) * get_category_width(plot)


def get_series_color(place: int) -> str:
    return COLORS[place % len(COLORS)]


def render_rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def render_bars(plot: Plot, scales: PlotScales) -> Iterator[str]:
    thick = get_category_width(plot) * 0.8 / max(len(plot.series), 1)
    base = scales.y_scale(max(scales.y_scale.low, min(0.0, scales.y_scale.high)))
    for number, series in enumerate(plot.series):
        for place, value in enumerate(series.values):
            if value is not None:
                x = LEFT + (place + 0.1) * get_category_width(plot) + number * thick
                top = scales.y_scale(value)
                yield render_rect(x, min(top, base), thick, abs(base - top), get_series_color(number))


def render_stacks(plot: Plot, scales: PlotScales) -> Iterator[str]:
    for place in range(len(plot.categories)):
        above = below = 0.0
        x = LEFT + (place + 0.15) * get_category_width(plot)
        for number, series in enumerate(plot.series):
            value = series.values[place]
            if not value:
                continue
            start = above if value > 0 else below
            first, second = scales.y_scale(start), scales.y_scale(start + value)
            yield render_rect(
                x, min(first, second), get_category_width(plot) * 0.7, abs(second - first), get_series_color(number)
            )
            above, below = (above + value, below) if value > 0 else (above, below + value)


def render_lines(plot: Plot, scales: PlotScales) -> Iterator[str]:
    base = scales.y_scale(max(scales.y_scale.low, min(0.0, scales.y_scale.high)))
    for number, series in enumerate(plot.series):
        for run in split_at_gaps(series.values):
            points = [(get_category_center(plot, place), scales.y_scale(value)) for place, value in run]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            if plot.kind == "area":
                closed = f"M{points[0][0]:.1f} {base:.1f}L{path}L{points[-1][0]:.1f} {base:.1f}Z"
                yield f'<path d="{closed}" fill="{get_series_color(number)}" fill-opacity="0.4"/>'
            if len(points) == 1:
                yield render_point(*points[0], number)
            yield f'<path d="M{path}" fill="none" stroke="{get_series_color(number)}" stroke-width="2"/>'


def split_at_gaps(values: tuple[float | None, ...]) -> Iterator[list[tuple[int, float]]]:
    """Yield runs of (position, value) without gaps."""
    run: list[tuple[int, float]] = []
    for place, value in enumerate(values):
        if value is not None:
            run.append((place, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def render_points(plot: Plot, scales: PlotScales) -> Iterator[str]:
    assert scales.x_scale is not None
    for number, series in enumerate(plot.series):
        for x, y in series.points:
            yield render_point(scales.x_scale(x), scales.y_scale(y), number)


def render_point(x: float, y: float, number: int) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{get_series_color(number)}" fill-opacity="0.8"/>'


def render_slices(plot: Plot) -> Iterator[str]:
    """Render pie slices clockwise from the top."""
    values = [value or 0 for value in plot.series[0].values]
    total = sum(values) or 1
    x, y, radius = WIDTH / 2, HEIGHT / 2 + 4, 140.0
    turn = 0.0
    for number, value in enumerate(values):
        share = value / total
        # A full circle has no arc from its start to its end.
        first, last = turn * math.tau, min(turn + share, turn + 0.9999) * math.tau
        start, end = (
            (x + radius * math.sin(first), y - radius * math.cos(first)),
            (x + radius * math.sin(last), y - radius * math.cos(last)),
        )
        yield (
            f'<path d="M{x:.1f} {y:.1f}L{start[0]:.2f} {start[1]:.2f}A{radius:g} {radius:g} 0 '
            f'{int(share > 0.5)} 1 {end[0]:.2f} {end[1]:.2f}Z" fill="{get_series_color(number)}" stroke="#ffffff"/>'
        )
        turn += share
    if plot.kind == "ring":
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius * 0.57:.1f}" fill="#ffffff"/>'


def get_row_height(plot: Plot) -> float:
    return (HEIGHT - TOP - BOTTOM) / max(len(plot.series), 1)


def get_row_center(plot: Plot, number: int) -> float:
    return HEIGHT - BOTTOM - (number + 0.5) * get_row_height(plot)


def render_heatmap_cells(plot: Plot) -> Iterator[str]:
    values = [value for one in plot.series for value in one.values if value is not None]
    low, high = min(values, default=0), max(values, default=1)
    for number, series in enumerate(plot.series):
        y = get_row_center(plot, number) - get_row_height(plot) / 2
        for place, value in enumerate(series.values):
            if value is not None:
                share = (value - low) / ((high - low) or 1)
                mixed = (round(a + share * (b - a)) for a, b in zip(PALE, DARK, strict=True))
                fill = f"#{''.join(f'{part:02x}' for part in mixed)}"
                yield render_rect(
                    LEFT + place * get_category_width(plot),
                    y,
                    get_category_width(plot) - 1,
                    get_row_height(plot) - 1,
                    fill,
                )


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
        yield from render_slices(plot)
        yield from render_legend(plot.categories)
        return
    scales = make_scales(plot)
    if plot.kind == "heatmap":
        yield from render_heatmap_cells(plot)
        yield from render_row_labels(plot)
    else:
        yield from render_gridlines(scales)
        yield from {"scatter": render_points, "bar": render_bars, "stacked": render_stacks}.get(
            plot.kind, render_lines
        )(plot, scales)
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
            middle = get_category_center(plot, place)
            yield render_text(middle, base + 18, plot.categories[place], anchor="middle", longest=MAX_LABEL_LENGTH)
    if plot.x:
        yield render_text(WIDTH / 2, base + 36, plot.x, anchor="middle", longest=60)
    if plot.y and plot.kind != "heatmap":
        yield render_text(8, TOP - 10, plot.y, longest=60)


def render_row_labels(plot: Plot) -> Iterator[str]:
    for number in pick_label_positions([one.name for one in plot.series], 2 * MAX_LABELS):
        y = get_row_center(plot, number)
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
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#333333">{escape(cut)}</text>'
    )


def replace_invalid_xml(text: str) -> str:
    return _INVALID_XML.sub("\ufffd", text)
