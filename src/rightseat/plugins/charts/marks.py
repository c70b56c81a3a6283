"""SVG marks of each chart kind: bars, lines, slices, points and cells."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from rightseat.plugins.charts.plot import Plot
from rightseat.plugins.charts.scale import Scale, scaled

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 72, 24, 56, 76
COLOURS = (
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


class Box(Struct, frozen=True):
    up: Scale
    across: Scale | None = None
    """Only of a scatter; other kinds have categories."""


def box(plot: Plot) -> Box:
    if plot.kind == "scatter":
        points = [point for one in plot.series for point in one.points]
        across = scaled((x for x, _ in points), LEFT, WIDTH - RIGHT, zero=False)
        return Box(scaled((y for _, y in points), HEIGHT - BOTTOM, TOP, zero=False), across)
    if plot.kind == "stacked":
        values = [total for pile in heights(plot) for total in pile]
        return Box(scaled(values, HEIGHT - BOTTOM, TOP, zero=True))
    given = [value for one in plot.series for value in one.values if value is not None]
    return Box(scaled(given, HEIGHT - BOTTOM, TOP, zero=True, log=plot.log))


def heights(plot: Plot) -> Iterator[tuple[float, float]]:
    """Yield the (negative, positive) sum of each stack."""
    for column in zip(*(one.values for one in plot.series), strict=True):
        known = [value for value in column if value is not None]
        yield sum(value for value in known if value < 0), sum(value for value in known if value > 0)


def width(plot: Plot) -> float:
    return (WIDTH - LEFT - RIGHT) / max(len(plot.categories), 1)


def centre(plot: Plot, place: int) -> float:
    return LEFT + (place + 0.5) * width(plot)


def colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def rect(x: float, y: float, across: float, up: float, fill: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{across:.1f}" height="{up:.1f}" fill="{fill}"/>'


def bars(plot: Plot, box: Box) -> Iterator[str]:
    thick = width(plot) * 0.8 / max(len(plot.series), 1)
    base = box.up(max(box.up.low, min(0.0, box.up.high)))
    for number, series in enumerate(plot.series):
        for place, value in enumerate(series.values):
            if value is not None:
                x = LEFT + (place + 0.1) * width(plot) + number * thick
                top = box.up(value)
                yield rect(x, min(top, base), thick, abs(base - top), colour(number))


def piles(plot: Plot, box: Box) -> Iterator[str]:
    for place in range(len(plot.categories)):
        above = below = 0.0
        x = LEFT + (place + 0.15) * width(plot)
        for number, series in enumerate(plot.series):
            value = series.values[place]
            if not value:
                continue
            start = above if value > 0 else below
            first, second = box.up(start), box.up(start + value)
            yield rect(x, min(first, second), width(plot) * 0.7, abs(second - first), colour(number))
            above, below = (above + value, below) if value > 0 else (above, below + value)


def curves(plot: Plot, box: Box) -> Iterator[str]:
    base = box.up(max(box.up.low, min(0.0, box.up.high)))
    for number, series in enumerate(plot.series):
        for run in runs(series.values):
            points = [(centre(plot, place), box.up(value)) for place, value in run]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            if plot.kind == "area":
                closed = f"M{points[0][0]:.1f} {base:.1f}L{path}L{points[-1][0]:.1f} {base:.1f}Z"
                yield f'<path d="{closed}" fill="{colour(number)}" fill-opacity="0.4"/>'
            if len(points) == 1:
                yield dot(*points[0], number)
            yield f'<path d="M{path}" fill="none" stroke="{colour(number)}" stroke-width="2"/>'


def runs(values: tuple[float | None, ...]) -> Iterator[list[tuple[int, float]]]:
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


def dots(plot: Plot, box: Box) -> Iterator[str]:
    assert box.across is not None
    for number, series in enumerate(plot.series):
        for x, y in series.points:
            yield dot(box.across(x), box.up(y), number)


def dot(x: float, y: float, number: int) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour(number)}" fill-opacity="0.8"/>'


def slices(plot: Plot) -> Iterator[str]:
    """Render pie slices clockwise from the top."""
    values = [value or 0 for value in plot.series[0].values]
    whole = sum(values) or 1
    x, y, radius = WIDTH / 2, HEIGHT / 2 + 4, 140.0
    turn = 0.0
    for number, value in enumerate(values):
        share = value / whole
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
            f'{int(share > 0.5)} 1 {end[0]:.2f} {end[1]:.2f}Z" fill="{colour(number)}" stroke="#ffffff"/>'
        )
        turn += share
    if plot.kind == "ring":
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius * 0.57:.1f}" fill="#ffffff"/>'


def row_height(plot: Plot) -> float:
    return (HEIGHT - TOP - BOTTOM) / max(len(plot.series), 1)


def row_centre(plot: Plot, number: int) -> float:
    return HEIGHT - BOTTOM - (number + 0.5) * row_height(plot)


def cells(plot: Plot) -> Iterator[str]:
    values = [value for one in plot.series for value in one.values if value is not None]
    low, high = min(values, default=0), max(values, default=1)
    for number, series in enumerate(plot.series):
        y = row_centre(plot, number) - row_height(plot) / 2
        for place, value in enumerate(series.values):
            if value is not None:
                share = (value - low) / ((high - low) or 1)
                mixed = (round(a + share * (b - a)) for a, b in zip(PALE, DARK, strict=True))
                fill = f"#{''.join(f'{part:02x}' for part in mixed)}"
                yield rect(LEFT + place * width(plot), y, width(plot) - 1, row_height(plot) - 1, fill)
