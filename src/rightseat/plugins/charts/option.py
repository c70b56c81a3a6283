"""ECharts option of a plot: plain JSON without functions or HTML."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.charts.plot import Plot, PlotSeries

MAX_SYMBOLS = 30
Option = dict[str, Any]


def build_option(plot: Plot) -> Option:
    result: Option = {
        # richText, because in HTML a name from the data could be markup.
        "tooltip": {"trigger": get_tooltip_trigger(plot), "renderMode": "richText", "confine": True},
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
    data = [
        {"name": name, "value": value} for name, value in zip(plot.categories, series.values, strict=True)
    ]
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
