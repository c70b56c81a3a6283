"""Plot: a chart filled with the table's numbers, the input of the ECharts and SVG writers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.plugins.charts.chart import COUNT_LABEL, PIE_KINDS, ChartKind, ChartSpec
from rightseat.plugins.charts.grid import DataTable, TableColumn

MAX_SLICES = 20
MAX_POINTS = 2000
OTHERS_LABEL = "…"
Number = int | float


class PlotSeries(Struct, frozen=True):
    name: str
    values: tuple[Number | None, ...] = ()
    """One for each category."""
    points: tuple[tuple[Number, Number], ...] = ()
    """Only of a scatter."""


class Plot(Struct, frozen=True, kw_only=True):
    kind: ChartKind
    title: str = ""
    x: str = ""
    y: str = ""
    categories: tuple[str, ...] = ()
    series: tuple[PlotSeries, ...] = ()
    log: bool = False


def build_plot(chart: ChartSpec, table: DataTable) -> Plot:
    if chart.kind == "scatter":
        return build_scatter(chart, table)
    labels = list_categories(chart, table)
    series = aggregate_series(chart, table, labels)
    if chart.kind in PIE_KINDS:
        labels, series = make_slices(labels, series)
    values = [value for one in series for value in one.values if value is not None]
    return Plot(
        kind=chart.kind,
        title=chart.title,
        x=chart.x,
        y=chart.series if chart.kind == "heatmap" else get_y_title(chart),
        categories=tuple(labels),
        series=tuple(series),
        # A log scale needs positive values.
        log=chart.log and chart.kind not in PIE_KINDS and bool(values) and min(values) > 0,
    )


def get_y_title(chart: ChartSpec) -> str:
    return chart.y[0] if len(chart.y) == 1 else "" if chart.y else COUNT_LABEL


def list_categories(chart: ChartSpec, table: DataTable) -> list[str]:
    """Return the categories; dates are sorted."""
    if not chart.x:
        return [str(place + 1) for place in range(table.row_count)]
    column = table[chart.x]
    values = column.distinct
    ordered = sorted(values) if column.kind == "time" else values
    blank = any(cell is None for cell in column.cells)
    return [*dict.fromkeys(map(format_label, ordered)), *([""] if blank else [])]


def format_label(cell: Any) -> str:
    return "" if cell is None else str(cell)


def aggregate_series(chart: ChartSpec, table: DataTable, labels: list[str]) -> list[PlotSeries]:
    """Return the series, with rows of the same category summed up."""
    places = {name: place for place, name in enumerate(labels)}
    row_categories = (
        [places[format_label(cell)] for cell in table[chart.x].cells]
        if chart.x
        else list(range(table.row_count))
    )
    if chart.series:
        column = table[chart.series]
        names = list(dict.fromkeys(map(format_label, column.cells)))
        y_column = chart.y[0] if chart.y else None
        chosen = [(name, [format_label(cell) == name for cell in column.cells]) for name in names]
        return [
            PlotSeries(name, sum_by_category(table, y_column, row_categories, mine, len(labels)))
            for name, mine in chosen
        ]
    every = [True] * table.row_count
    return [
        PlotSeries(name or COUNT_LABEL, sum_by_category(table, name, row_categories, every, len(labels)))
        for name in chart.y or (None,)
    ]


def sum_by_category(
    table: DataTable, name: str | None, row_categories: list[int], included: list[bool], size: int
) -> tuple[Number | None, ...]:
    sums: list[Number | None] = [None] * size
    cells = table[name].cells if name else [1] * len(row_categories)
    for place, cell, counts in zip(row_categories, cells, included, strict=True):
        if counts and cell is not None:
            sums[place] = (sums[place] or 0) + cell
    return tuple(round_sum(one) for one in sums)


def round_sum(value: Number | None) -> Number | None:
    """Round a float to 12 digits, which removes binary rounding errors of sums."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def make_slices(labels: list[str], series: list[PlotSeries]) -> tuple[list[str], list[PlotSeries]]:
    """Return pie slices: positive values only, the smallest combined into one."""
    pairs = [(name, value) for name, value in zip(labels, series[0].values, strict=True) if (value or 0) > 0]
    if len(pairs) > MAX_SLICES:
        pairs.sort(key=lambda pair: -(pair[1] or 0))
        remainder = sum(value or 0 for _, value in pairs[MAX_SLICES - 1 :])
        pairs = [*pairs[: MAX_SLICES - 1], (OTHERS_LABEL, round_sum(remainder))]
    return [name for name, _ in pairs], [PlotSeries(series[0].name, tuple(value for _, value in pairs))]


def build_scatter(chart: ChartSpec, table: DataTable) -> Plot:
    y = chart.y[0]
    group: TableColumn | None = table[chart.series] if chart.series else None
    points: dict[str, list[tuple[Number, Number]]] = {}
    cells = zip(
        table[chart.x].cells, table[y].cells, group.cells if group else [y] * table.row_count, strict=True
    )
    for across, up, name in cells:
        if across is not None and up is not None:
            points.setdefault(format_label(name), []).append((across, up))
    series = tuple(PlotSeries(name, points=tuple(found[:MAX_POINTS])) for name, found in points.items())
    return Plot(kind="scatter", title=chart.title, x=chart.x, y=y, series=series)
