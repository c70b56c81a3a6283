"""Charts of a table: kind and axes (from params, the model, or the columns), data, ECharts option and CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightseat.plugins.charts.table import DataTable, TableColumn

ChartKind = Literal["bar", "stacked", "line", "area", "pie", "ring", "scatter", "heatmap"]
CHART_KINDS: tuple[ChartKind, ...] = get_args(ChartKind)
PIE_KINDS = ("pie", "ring")
MAX_GROUPS = 12
MAX_TITLE_LENGTH = 120
COUNT_LABEL = "count"
_ID_NAME = re.compile(r"(?i)(^|[_. ])(id|no|key|code|编号)$")

_SHARE_WORDS = re.compile(r"(?i)\b(share|percent|proportion|portion|ratio|anteil|breakdown)|占比|比例|份额|百分")

_KIND_WORDS: dict[ChartKind, re.Pattern[str]] = {
    "pie": re.compile(r"(?i)\bpie\b|饼图"),
    "ring": re.compile(r"(?i)\b(ring|donut|doughnut)\b|环形图|环图"),
    "stacked": re.compile(r"(?i)\bstack(ed)?\b|堆叠|堆积"),
    "area": re.compile(r"(?i)\barea\b|面积图"),
    "line": re.compile(r"(?i)\bline\b|\btrend|折线|趋势"),
    "scatter": re.compile(r"(?i)\bscatter|散点"),
    "heatmap": re.compile(r"(?i)\bheat ?map\b|热力图"),
    "bar": re.compile(r"(?i)\b(bar|column) ?(chart|graph)?s?\b|柱状|条形"),
}


class ChartSpec(Struct, frozen=True, kw_only=True):
    kind: ChartKind
    x: str = ""
    """Column of the x axis, or of a pie's names; empty numbers the rows."""
    y: tuple[str, ...] = ()
    """Number columns; none counts the rows of each x."""
    series: str = ""
    """Column that splits the numbers into series; for a heatmap, the y axis."""
    title: str = ""
    log: bool = False


def build_chart_schema(table: DataTable) -> dict[str, Any]:
    """Return the schema for a model's choice, limited to the table's columns."""
    names = [column.name for column in table.columns]
    numbers = [column.name for column in table.list_columns("number")] or names
    return {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": list(CHART_KINDS)},
            "x": {"type": "string", "enum": names},
            "y": {"type": "array", "items": {"type": "string", "enum": numbers}, "minItems": 1, "maxItems": 8},
            "series": {"type": "string", "enum": ["", *names]},
            "title": {"type": "string", "maxLength": MAX_TITLE_LENGTH},
            "log": {"type": "boolean"},
        },
        "required": ["kind", "x", "y", "series", "title", "log"],
        "additionalProperties": False,
    }


def make_default_chart(table: DataTable, question: str = "") -> ChartSpec:
    """Return a chart without a model: by the columns, and by a chart word in the question."""
    chart = guess_chart(table, question)
    for kind, word in _KIND_WORDS.items():
        if word.search(question):
            return fit_to_table(replace(chart, kind=kind), table)
    return fit_to_table(chart, table)


def guess_chart(table: DataTable, question: str) -> ChartSpec:
    numbers = find_measures(table)
    times, texts = table.list_columns("time"), table.list_columns("text")
    y = tuple(one.name for one in numbers)
    if not numbers:
        first = (texts or times or list(table.columns))[0]
        return ChartSpec(kind="bar", x=first.name)
    if times:
        group = next((one.name for one in texts if has_repeats(times[0]) and len(one.distinct) <= MAX_GROUPS), "")
        return ChartSpec(kind="line", x=times[0].name, y=y[:1] if group else y[:MAX_GROUPS], series=group)
    if len(texts) > 1 and has_repeats(texts[0]) and len(texts[1].distinct) <= MAX_GROUPS:
        return ChartSpec(kind="stacked", x=texts[0].name, y=y[:1], series=texts[1].name)
    if texts:
        share = _SHARE_WORDS.search(question) and len(numbers) == 1 and len(texts[0].distinct) <= MAX_GROUPS
        return ChartSpec(kind="pie" if share else "bar", x=texts[0].name, y=y[:1] if share else y[:MAX_GROUPS])
    others = [column for column in table.columns if column not in numbers]
    if others:
        return ChartSpec(kind="bar", x=others[0].name, y=y)
    if len(numbers) > 1 and table.row_count > 1:
        return ChartSpec(kind="scatter", x=y[0], y=y[1:2])
    return ChartSpec(kind="bar", x="", y=y)


def find_measures(table: DataTable) -> list[TableColumn]:
    """Return the number columns without ids; all of them if only ids are left."""
    numbers = table.list_columns("number")
    return [one for one in numbers if not _ID_NAME.search(one.name)] or numbers


def has_repeats(column: TableColumn) -> bool:
    return len(column.distinct) < len([cell for cell in column.cells if cell is not None])


def fit_to_table(chart: ChartSpec, table: DataTable) -> ChartSpec:
    """Return the chart reduced to what the table has, so that it can always be drawn."""
    x = chart.x if chart.x in table else ""
    numbers = [one.name for one in table.list_columns("number")]
    y = tuple(dict.fromkeys(name for name in chart.y if name in numbers))
    if len(y) > 1 or x not in numbers:
        y = tuple(name for name in y if name != x)
    series = chart.series if chart.series in table and chart.series != x else ""
    if series in y:
        series = ""
    if series and len(table[series].distinct) > 4 * MAX_GROUPS:
        series = ""
    kind = chart.kind
    if kind == "scatter" and (x not in numbers or not y):
        others = [name for name in numbers if name not in y]
        if not others or not y:
            kind = "bar"
        else:
            x, y = others[0], y[:1]
    if kind == "heatmap" and not (x and series):
        kind = "bar"
    if kind in PIE_KINDS or kind == "heatmap" or series:
        y = y[:1]
    title = " ".join(chart.title.split())[:MAX_TITLE_LENGTH]
    return ChartSpec(kind=kind, x=x, y=y, series="" if kind in PIE_KINDS else series, title=title, log=chart.log)


MAX_SLICES = 20
MAX_POINTS = 2000
OTHERS_LABEL = "…"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
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
        [places[format_label(cell)] for cell in table[chart.x].cells] if chart.x else list(range(table.row_count))
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
    cells = zip(table[chart.x].cells, table[y].cells, group.cells if group else [y] * table.row_count, strict=True)
    for across, up, name in cells:
        if across is not None and up is not None:
            points.setdefault(format_label(name), []).append((across, up))
    series = tuple(PlotSeries(name, points=tuple(found[:MAX_POINTS])) for name, found in points.items())
    return Plot(kind="scatter", title=chart.title, x=chart.x, y=y, series=series)


def list_rows(plot: Plot) -> list[dict[str, Any]]:
    """Return the plotted numbers as rows of a table: one for each category, or for each point of a scatter."""
    if plot.kind == "scatter":
        names = (plot.x, plot.y if plot.y != plot.x else f"{plot.y} (y)")
        named = len(plot.series) > 1
        return [
            {**({"series": one.name} if named else {}), **dict(zip(names, point, strict=True))}
            for one in plot.series
            for point in one.points
        ]
    columns = {one.name if one.name != plot.x else f"{one.name} (y)": one.values for one in plot.series}
    return [
        {plot.x: category, **{name: values[place] for name, values in columns.items()}}
        for place, category in enumerate(plot.categories)
    ]


def format_csv(rows: list[dict[str, Any]]) -> str:
    """Format rows as CSV. A text that a spreadsheet would read as a formula gets an apostrophe before it."""
    output = io.StringIO()
    writer = csv.writer(output)
    for row in (list(rows[0]), *(row.values() for row in rows)) if rows else ():
        writer.writerow(f"'{cell}" if isinstance(cell, str) and cell[:1] in FORMULA_STARTS else cell for cell in row)
    return output.getvalue()


MAX_SYMBOLS = 30
Option = dict[str, Any]


def build_option(plot: Plot) -> Option:
    result: Option = {
        # richText, because in HTML a name from the data could be markup.
        "tooltip": {"trigger": get_tooltip_trigger(plot), "renderMode": "richText", "confine": True}
    }
    if plot.title:
        result["title"] = {"text": plot.title, "left": "center"}
    if plot.kind in ("pie", "ring"):
        result["legend"] = {"type": "scroll", "bottom": 0}
        result["series"] = [build_pie_series(plot)]
        return result
    result["grid"] = {"left": 48, "right": 32, "top": 56, "bottom": 56, "containLabel": True}
    result["xAxis"], result["yAxis"] = build_axes(plot)
    if plot.kind == "heatmap":
        result["visualMap"] = build_visual_map(plot)
        result["series"] = [build_heatmap_series(plot)]
        return result
    if len(plot.series) > 1:
        result["legend"] = {"type": "scroll", "bottom": 0}
    result["series"] = [build_series(plot, one) for one in plot.series]
    return result


def get_tooltip_trigger(plot: Plot) -> str:
    return "axis" if plot.kind in ("bar", "stacked", "line", "area") else "item"


def build_axes(plot: Plot) -> tuple[Option, Option]:
    value: Option = {"type": "log" if plot.log else "value", "name": plot.y}
    if plot.kind == "scatter":
        return {"type": "value", "name": plot.x, "scale": True}, {**value, "scale": True}
    category: Option = {
        "type": "category",
        "name": plot.x,
        "data": list(plot.categories),
        "axisLabel": {"hideOverlap": True},
    }
    if plot.kind == "heatmap":
        return category, {"type": "category", "name": plot.y, "data": [one.name for one in plot.series]}
    if plot.kind in ("line", "area"):
        category["boundaryGap"] = False
    return category, value


def build_series(plot: Plot, series: PlotSeries) -> Option:
    if plot.kind == "scatter":
        return {"type": "scatter", "name": series.name, "data": [list(point) for point in series.points]}
    kind = "bar" if plot.kind in ("bar", "stacked") else "line"
    result: Option = {"type": kind, "name": series.name, "data": list(series.values)}
    if plot.kind == "stacked":
        result["stack"] = "total"
    if plot.kind == "area":
        result["areaStyle"] = {"opacity": 0.4}
    if kind == "line":
        result["showSymbol"] = len(series.values) <= MAX_SYMBOLS
    return result


def build_pie_series(plot: Plot) -> Option:
    [series] = plot.series
    data = [{"name": name, "value": value} for name, value in zip(plot.categories, series.values, strict=True)]
    radius: Any = ["40%", "70%"] if plot.kind == "ring" else "70%"
    return {"type": "pie", "name": series.name, "radius": radius, "data": data}


def build_heatmap_series(plot: Plot) -> Option:
    data = [
        [across, up, value]
        for up, series in enumerate(plot.series)
        for across, value in enumerate(series.values)
        if value is not None
    ]
    return {"type": "heatmap", "name": plot.y, "data": data}


def build_visual_map(plot: Plot) -> Option:
    values = [value for one in plot.series for value in one.values if value is not None]
    low, high = min(values, default=0), max(values, default=1)
    return {
        "min": low,
        "max": high if high > low else low + 1,
        "calculable": True,
        "orient": "horizontal",
        "left": "center",
        "bottom": 0,
    }
