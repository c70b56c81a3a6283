"""Plot: a chart filled with the table's numbers, the input of the ECharts and SVG writers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.plugins.charts.chart import COUNT, ROUND, Chart, Kind
from rightseat.plugins.charts.grid import Column, Grid

MOST_SLICES = 20
MOST_POINTS = 2000
OTHERS = "…"
Number = int | float


class Series(Struct, frozen=True):
    name: str
    values: tuple[Number | None, ...] = ()
    """One for each category."""
    points: tuple[tuple[Number, Number], ...] = ()
    """Only of a scatter."""


class Plot(Struct, frozen=True, kw_only=True):
    kind: Kind
    title: str = ""
    x: str = ""
    y: str = ""
    categories: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    log: bool = False


def plot(chart: Chart, grid: Grid) -> Plot:
    if chart.kind == "scatter":
        return scattered(chart, grid)
    labels = labelled(chart, grid)
    made = grouped(chart, grid, labels)
    if chart.kind in ROUND:
        labels, made = rounded(labels, made)
    values = [value for one in made for value in one.values if value is not None]
    return Plot(
        kind=chart.kind,
        title=chart.title,
        x=chart.x,
        y=chart.series if chart.kind == "heatmap" else of_y(chart),
        categories=tuple(labels),
        series=tuple(made),
        # A log scale needs positive values.
        log=chart.log and chart.kind not in ROUND and bool(values) and min(values) > 0,
    )


def of_y(chart: Chart) -> str:
    return chart.y[0] if len(chart.y) == 1 else "" if chart.y else COUNT


def labelled(chart: Chart, grid: Grid) -> list[str]:
    """Return the categories; dates are sorted."""
    if not chart.x:
        return [str(place + 1) for place in range(grid.size)]
    column = grid[chart.x]
    found = column.distinct
    ordered = sorted(found) if column.kind == "time" else found
    blank = any(cell is None for cell in column.cells)
    return [*dict.fromkeys(map(label, ordered)), *([""] if blank else [])]


def label(cell: Any) -> str:
    return "" if cell is None else str(cell)


def grouped(chart: Chart, grid: Grid, labels: list[str]) -> list[Series]:
    """Return the series, with rows of the same category summed up."""
    places = {name: place for place, name in enumerate(labels)}
    at = [places[label(cell)] for cell in grid[chart.x].cells] if chart.x else list(range(grid.size))
    if chart.series:
        column = grid[chart.series]
        names = list(dict.fromkeys(map(label, column.cells)))
        found = chart.y[0] if chart.y else None
        chosen = [(name, [label(cell) == name for cell in column.cells]) for name in names]
        return [Series(name, added(grid, found, at, mine, len(labels))) for name, mine in chosen]
    every = [True] * grid.size
    return [Series(name or COUNT, added(grid, name, at, every, len(labels))) for name in chart.y or (None,)]


def added(
    grid: Grid, name: str | None, at: list[int], mine: list[bool], size: int
) -> tuple[Number | None, ...]:
    sums: list[Number | None] = [None] * size
    cells = grid[name].cells if name else [1] * len(at)
    for place, cell, counts in zip(at, cells, mine, strict=True):
        if counts and cell is not None:
            sums[place] = (sums[place] or 0) + cell
    return tuple(tidy(one) for one in sums)


def tidy(value: Number | None) -> Number | None:
    """Round a float to 12 digits, which removes binary rounding errors of sums."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def rounded(labels: list[str], made: list[Series]) -> tuple[list[str], list[Series]]:
    """Return pie slices: positive values only, the smallest combined into one."""
    pairs = [(name, value) for name, value in zip(labels, made[0].values, strict=True) if (value or 0) > 0]
    if len(pairs) > MOST_SLICES:
        pairs.sort(key=lambda pair: -(pair[1] or 0))
        rest = sum(value or 0 for _, value in pairs[MOST_SLICES - 1 :])
        pairs = [*pairs[: MOST_SLICES - 1], (OTHERS, tidy(rest))]
    return [name for name, _ in pairs], [Series(made[0].name, tuple(value for _, value in pairs))]


def scattered(chart: Chart, grid: Grid) -> Plot:
    y = chart.y[0]
    group: Column | None = grid[chart.series] if chart.series else None
    points: dict[str, list[tuple[Number, Number]]] = {}
    cells = zip(grid[chart.x].cells, grid[y].cells, group.cells if group else [y] * grid.size, strict=True)
    for across, up, name in cells:
        if across is not None and up is not None:
            points.setdefault(label(name), []).append((across, up))
    series = tuple(Series(name, points=tuple(found[:MOST_POINTS])) for name, found in points.items())
    return Plot(kind="scatter", title=chart.title, x=chart.x, y=y, series=series)
