"""Charts of a table: kind and axes (from params, the model, or the columns), data, ECharts option and CSV, and the
description of an option for a prompt."""

from __future__ import annotations

import csv
import io
import operator
import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightseat.plugins.charts.table import DataTable, TableColumn

ChartKind = Literal["bar", "stacked", "line", "area", "pie", "ring", "scatter", "heatmap"]
CHART_KINDS: tuple[ChartKind, ...] = get_args(ChartKind)
PIE_KINDS = ("pie", "ring")
MAX_GROUPS = 12
MAX_TITLE_LENGTH = 120
MAX_SLICES = 20
MAX_POINTS = 2000
MAX_SYMBOLS = 30
COUNT_LABEL = "count"
OTHERS_LABEL = "…"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
Number = int | float
Option = dict[str, Any]
# fmt: off
ECHARTS_TYPES = frozenset((
    "bar", "line", "pie", "scatter", "effectScatter", "heatmap", "radar", "gauge", "funnel", "boxplot", "candlestick",
    "graph", "tree", "treemap", "sunburst", "sankey", "map", "lines", "parallel", "themeRiver", "pictorialBar",
    "custom",
))
# fmt: on
OPTION_KEYS = ("xAxis", "yAxis", "dataset", "tooltip", "legend", "visualMap", "radar", "polar", "grid", "title")
MAX_DEPTH = 40
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
    kind = next((kind for kind, word in _KIND_WORDS.items() if word.search(question)), chart.kind)
    return fit_to_table(replace(chart, kind=kind), table)


def guess_chart(table: DataTable, question: str) -> ChartSpec:
    numbers = table.list_columns("number")
    # An id is no measure, unless there are only ids.
    numbers = [column for column in numbers if not _ID_NAME.search(column.name)] or numbers
    times, texts = table.list_columns("time"), table.list_columns("text")
    y = tuple(column.name for column in numbers)
    if not numbers:
        return ChartSpec(kind="bar", x=(texts or times or table.columns)[0].name)
    if times:
        group = next((text.name for text in texts if has_repeats(times[0]) and len(text.distinct) <= MAX_GROUPS), "")
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


def has_repeats(column: TableColumn) -> bool:
    return len(column.distinct) < len([cell for cell in column.cells if cell is not None])


def fit_to_table(chart: ChartSpec, table: DataTable) -> ChartSpec:
    """Return the chart reduced to what the table has, so that it can always be drawn."""
    x = chart.x if chart.x in table else ""
    numbers = [column.name for column in table.list_columns("number")]
    y = tuple(dict.fromkeys(name for name in chart.y if name in numbers))
    if len(y) > 1 or x not in numbers:
        y = tuple(name for name in y if name != x)
    series = chart.series if chart.series in table and chart.series not in (x, *y) else ""
    if series and len(table[series].distinct) > 4 * MAX_GROUPS:
        series = ""
    kind = chart.kind
    if kind == "scatter" and (x not in numbers or not y):
        others = [name for name in numbers if name not in y]
        if others and y:
            x, y = others[0], y[:1]
        else:
            kind = "bar"
    if kind == "heatmap" and not (x and series):
        kind = "bar"
    if kind in PIE_KINDS or kind == "heatmap" or series:
        y = y[:1]
    title = " ".join(chart.title.split())[:MAX_TITLE_LENGTH]
    return ChartSpec(kind=kind, x=x, y=y, series="" if kind in PIE_KINDS else series, title=title, log=chart.log)


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
    values = [value for each in series for value in each.values if value is not None]
    y = chart.y[0] if len(chart.y) == 1 else "" if chart.y else COUNT_LABEL
    return Plot(
        kind=chart.kind,
        title=chart.title,
        x=chart.x,
        y=chart.series if chart.kind == "heatmap" else y,
        categories=tuple(labels),
        series=tuple(series),
        # A log scale needs positive values.
        log=chart.log and chart.kind not in PIE_KINDS and bool(values) and min(values) > 0,
    )


def list_categories(chart: ChartSpec, table: DataTable) -> list[str]:
    """Return the categories; dates are sorted."""
    if not chart.x:
        return [str(place + 1) for place in range(table.row_count)]
    column = table[chart.x]
    ordered = sorted(column.distinct) if column.kind == "time" else column.distinct
    return [*dict.fromkeys(map(format_label, ordered)), *([""] if None in column.cells else [])]


def format_label(cell: Any) -> str:
    return "" if cell is None else str(cell)


def aggregate_series(chart: ChartSpec, table: DataTable, labels: list[str]) -> list[PlotSeries]:
    """Return the series, with rows of the same category summed up."""
    places = {name: place for place, name in enumerate(labels)}
    row_places = [places[format_label(cell)] for cell in table[chart.x].cells] if chart.x else list(places.values())
    if not chart.series:
        return [
            PlotSeries(name or COUNT_LABEL, sum_by_place(table, name, row_places, len(labels)))
            for name in chart.y or (None,)
        ]
    y = chart.y[0] if chart.y else None
    row_names = [format_label(cell) for cell in table[chart.series].cells]
    series = []
    for name in dict.fromkeys(row_names):
        own_places = [place if own == name else None for place, own in zip(row_places, row_names, strict=True)]
        series.append(PlotSeries(name, sum_by_place(table, y, own_places, len(labels))))
    return series


def sum_by_place(
    table: DataTable, name: str | None, row_places: Sequence[int | None], size: int
) -> tuple[Number | None, ...]:
    """Return a column's sum, or without a column the count, of the rows at each place; None leaves a row out."""
    sums: list[Number | None] = [None] * size
    cells = table[name].cells if name else [1] * len(row_places)
    for place, cell in zip(row_places, cells, strict=True):
        if place is not None and cell is not None:
            sums[place] = (sums[place] or 0) + cell
    return tuple(map(round_sum, sums))


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
    names = table[chart.series].cells if chart.series else [y] * table.row_count
    points: dict[str, list[tuple[Number, Number]]] = {}
    for across, up, name in zip(table[chart.x].cells, table[y].cells, names, strict=True):
        if across is not None and up is not None:
            points.setdefault(format_label(name), []).append((across, up))
    series = tuple(PlotSeries(name, points=tuple(pairs[:MAX_POINTS])) for name, pairs in points.items())
    return Plot(kind="scatter", title=chart.title, x=chart.x, y=y, series=series)


def list_rows(plot: Plot) -> list[dict[str, Any]]:
    """Return the plotted numbers as rows of a table: one for each category, or for each point of a scatter."""
    if plot.kind == "scatter":
        names = (plot.x, plot.y if plot.y != plot.x else f"{plot.y} (y)")
        named = len(plot.series) > 1
        return [
            {**({"series": series.name} if named else {}), **dict(zip(names, point, strict=True))}
            for series in plot.series
            for point in series.points
        ]
    columns = {each.name if each.name != plot.x else f"{each.name} (y)": each.values for each in plot.series}
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


def build_option(plot: Plot) -> Option:
    has_axis = plot.kind in ("bar", "stacked", "line", "area")
    result: Option = {
        # richText, because in HTML a name from the data could be markup.
        "tooltip": {"trigger": "axis" if has_axis else "item", "renderMode": "richText", "confine": True}
    }
    if plot.title:
        result["title"] = {"text": plot.title, "left": "center"}
    if plot.kind in PIE_KINDS or (len(plot.series) > 1 and plot.kind != "heatmap"):
        result["legend"] = {"type": "scroll", "bottom": 0}
    if plot.kind in PIE_KINDS:
        return result | {"series": [build_pie_series(plot)]}
    result["grid"] = {"left": 48, "right": 32, "top": 56, "bottom": 56, "containLabel": True}
    result["xAxis"], result["yAxis"] = build_axes(plot)
    if plot.kind == "heatmap":
        return result | build_heatmap(plot)
    return result | {"series": [build_series(plot, series) for series in plot.series]}


def build_axes(plot: Plot) -> tuple[Option, Option]:
    value: Option = {"type": "log" if plot.log else "value", "name": plot.y}
    if plot.kind == "scatter":
        return {"type": "value", "name": plot.x, "scale": True}, {**value, "scale": True}
    category: Option = {"type": "category", "name": plot.x, "data": list(plot.categories)}
    category["axisLabel"] = {"hideOverlap": True}
    if plot.kind == "heatmap":
        return category, {"type": "category", "name": plot.y, "data": [series.name for series in plot.series]}
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


def build_heatmap(plot: Plot) -> Option:
    """Return the series of a heatmap and the map of its values to colours."""
    data = [
        [across, up, value]
        for up, series in enumerate(plot.series)
        for across, value in enumerate(series.values)
        if value is not None
    ]
    values = [value for _, _, value in data]
    low, high = min(values, default=0), max(values, default=1)
    visual_map = {"min": low, "max": high if high > low else low + 1, "calculable": True}
    return {
        "visualMap": {**visual_map, "orient": "horizontal", "left": "center", "bottom": 0},
        "series": [{"type": "heatmap", "name": plot.y, "data": data}],
    }


def is_chart_option(value: Any) -> bool:
    """Whether the value is an option for ECharts: series of its types, and another of its keys."""
    if not isinstance(value, dict) or not any(key in value for key in OPTION_KEYS):
        return False
    series = value.get("series")
    return (
        isinstance(series, list)
        and bool(series)
        and all(isinstance(one, dict) and one.get("type") in ECHARTS_TYPES for one in series)
    )


def describe_chart(option: Option) -> dict[str, str]:
    """Return the kind and the title of a chart, for a prompt."""
    kinds = dict.fromkeys(name_series_kind(series) for series in option["series"])
    title = option.get("title")
    text = title.get("text") if isinstance(title, dict) else None
    return {"chart": ", ".join(kinds), **({"title": text} if isinstance(text, str) and text else {})}


def name_series_kind(series: Option) -> str:
    match series:
        case {"type": "bar", "stack": _}:
            return "stacked"
        case {"type": "line", "areaStyle": _}:
            return "area"
        case {"type": "pie", "radius": [_, _]}:
            return "ring"
        case _:
            return str(series["type"])


def describe_charts(value: Any, depth: int = 0) -> Any:
    """Return the value with each option in it as kind and title; the value itself where there is none."""
    if depth > MAX_DEPTH or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        items = [describe_charts(item, depth + 1) for item in value]
        return value if all(map(operator.is_, items, value)) else items
    if is_chart_option(value):
        return describe_chart(value)
    fields = {name: describe_charts(item, depth + 1) for name, item in value.items()}
    return value if all(map(operator.is_, fields.values(), value.values())) else fields
