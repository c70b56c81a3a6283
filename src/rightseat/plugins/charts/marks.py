"""SVG marks of each chart kind: bars, lines, slices, points and cells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from rightseat.plugins.charts.plot import Plot
from rightseat.plugins.charts.scale import Scale, make_scale

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 72, 24, 56, 76
COLORS = (
    "#5470c6",
    "#91cc75",
    "#fac858",
    "#ee6666",
    "#73c0de",
    "#3ba272",
    "#fc8452",
    "#9a60b4",
    "#ea7ccc",
)
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
                x,
                min(first, second),
                get_category_width(plot) * 0.7,
                abs(second - first),
                get_series_color(number),
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
            (
                x + radius * math.sin(last),
                y - radius * math.cos(last),
            ),
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
