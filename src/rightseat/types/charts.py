"""Charts as data: the rows of a chart and the columns that it draws.

A chart's content is a list of rows with the columns to draw (`chart_params` or `chart`), or an ECharts option.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

Rows = list[dict[str, Any]]
NAMED_VALUE_CHARTS = ("pie", "funnel", "gauge")
"""ECharts series whose items have a name and a value."""
MAX_NAMED_COLUMNS = 20


class RowChart(Struct, frozen=True):
    """A chart of rows: `x` is the column of categories or names, `y` are the columns of numbers."""

    kind: str
    rows: Rows
    x: str
    y: tuple[str, ...]


def parse_rows(content: Any) -> Rows:
    """Convert the known shapes of tables to a list of objects; [] for anything else."""
    match content:
        case list() if content and all(isinstance(row, dict) for row in content):
            return content
        case {"columns": list(columns), "rows": list(raw_rows)} | {"columns": list(columns), "data": list(raw_rows)}:
            names = [column if isinstance(column, str) else get_text(column, "name") for column in columns]
            return [row if isinstance(row, dict) else make_row(names, row) for row in raw_rows]
        case {"rows": list(raw_rows)} | {"data": list(raw_rows)}:
            return parse_rows(raw_rows)
        case _:
            return []


def make_row(names: Iterable[str], cells: Any) -> dict[str, Any]:
    return dict(zip(names, cells if isinstance(cells, list) else [], strict=False))


def get_dict(source: Any, key: str) -> dict[str, Any]:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, dict) else {}


def get_list(source: Any, key: str) -> list[Any]:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, list) else []


def get_text(source: Any, key: str) -> str:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, str) else ""


def parse_chart(content: Any) -> RowChart | None:
    """Convert a chart to its rows and columns; None where it has none that can be read."""
    params = get_dict(content, "chart_params") or get_dict(content, "chart")
    if params and (rows := parse_rows(content)):
        return make_row_chart(rows, params)
    option = get_dict(content, "option") or (content if isinstance(content, dict) else {})
    posted = option.get("series")
    series_list = [item for item in (posted if isinstance(posted, list) else [posted]) if isinstance(item, dict)]
    if not series_list:
        return None
    if rows := parse_dataset(get_dict(option, "dataset").get("source")):
        return make_dataset_chart(rows, series_list)
    if series_list[0].get("type") in NAMED_VALUE_CHARTS:
        return parse_named_values(series_list[0])
    return parse_axes(option, series_list)


def make_echarts_option(content: Any) -> dict[str, Any] | None:
    """Return a chart as an ECharts option; None where it has no data that can be read."""
    option = get_dict(content, "option") or (content if isinstance(content, dict) else {})
    if "series" in option:
        return option
    if (chart := parse_chart(content)) is None:
        return None
    if chart.kind in ("pie", "donut"):
        values = [{"name": str(row.get(chart.x)), "value": row.get(chart.y[0])} for row in chart.rows]
        radius = ["40%", "70%"] if chart.kind == "donut" else "70%"
        return {"tooltip": {}, "series": [{"type": "pie", "radius": radius, "data": values}]}
    kind = {"column": "bar", "area": "line"}.get(chart.kind, chart.kind)
    area: dict[str, Any] = {"areaStyle": {}} if chart.kind == "area" else {}
    if kind == "scatter":
        series = [
            {"type": kind, "name": name, "data": [[row.get(chart.x), row.get(name)] for row in chart.rows]}
            for name in chart.y
        ]
        return {"tooltip": {}, "legend": {}, "xAxis": {"type": "value"}, "yAxis": {"type": "value"}, "series": series}
    lines = [{"type": kind, "name": name, "data": [row.get(name) for row in chart.rows], **area} for name in chart.y]
    categories = {"type": "category", "data": [row.get(chart.x) for row in chart.rows]}
    return {"tooltip": {}, "legend": {}, "xAxis": categories, "yAxis": {"type": "value"}, "series": lines}


def list_chart_rows(content: Any) -> Rows:
    """Return the rows behind a chart of any kind, for clients that do not draw it; [] if there are none."""
    chart = parse_chart(content)
    return chart.rows if chart else parse_rows(content)


def make_row_chart(rows: Rows, params: dict[str, Any]) -> RowChart | None:
    kind = (get_text(params, "chartType") or get_text(params, "type")).lower()
    x = get_key(params, "calloutLabelKey", "xKey", "x")
    y = next((params[key] for key in ("angleKey", "yKey", "y") if params.get(key) not in (None, "", [])), None)
    names = tuple(filter(None, map(to_key, y if isinstance(y, list) else [y])))
    return RowChart(kind, rows, x, names) if kind and x and names else None


def get_key(params: dict[str, Any], *fields: str) -> str:
    """Return the column that the first of these fields names."""
    return next(filter(None, (to_key(params.get(field)) for field in fields)), "")


def to_key(column: Any) -> str:
    """Return a column's name as the rows have it: a number, such as a year, is text there."""
    return str(column) if is_number(column) else column if isinstance(column, str) else ""


def find_chart_fault(content: Any) -> str:
    """Return why a chart would show nothing, as a sentence; "" where it shows something or its kind is another."""
    chart = parse_chart(content)
    if chart is None:
        return "it needs a type, x and y." if parse_rows(content) else ""
    columns = list(dict.fromkeys(key for row in chart.rows for key in row))
    if missing := next((name for name in (chart.x, *chart.y) if name not in columns), None):
        named = ", ".join(map(repr, columns[:MAX_NAMED_COLUMNS]))
        return f"it has no column {missing!r}; its columns are {named}."
    empty = (name for name in chart.y if not any(is_number(row.get(name)) for row in chart.rows))
    return f"its column {name!r} has no numbers." if (name := next(empty, None)) else ""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def parse_dataset(source: Any) -> Rows:
    """Convert the source of an ECharts dataset: objects, or lists of which the first names the columns."""
    if isinstance(source, list) and len(source) > 1 and all(isinstance(row, list) for row in source):
        return [make_row(map(str, source[0]), row) for row in source[1:]]
    return parse_rows(source)


def make_dataset_chart(rows: Rows, series_list: list[dict[str, Any]]) -> RowChart:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    encode = get_dict(series_list[0], "encode")
    x = get_text(encode, "x") or get_text(encode, "itemName") or columns[0]
    others = [column for column in columns if column != x]
    encoded = [get_text(get_dict(series, "encode"), "y") for series in series_list]
    y = tuple(name for name in encoded if name) or tuple(others[: len(series_list)])
    return RowChart(name_kind(series_list[0]), rows, x, y)


def name_kind(series: dict[str, Any]) -> str:
    """Return the kind of a series; a pie with two radii is a donut."""
    kind = get_text(series, "type")
    return "donut" if kind == "pie" and isinstance(series.get("radius"), list) else kind


def parse_named_values(series: dict[str, Any]) -> RowChart | None:
    items = [item for item in get_list(series, "data") if isinstance(item, dict) and item]
    rows = [{"name": str(item.get("name", "")), "value": item.get("value")} for item in items]
    return RowChart(name_kind(series), rows, "name", ("value",)) if rows else None


def parse_axes(option: dict[str, Any], series_list: list[dict[str, Any]]) -> RowChart | None:
    """Convert series over a category axis, or series of points, to rows."""
    x_axis, y_axis = get_axis(option, "xAxis"), get_axis(option, "yAxis")
    categories, x = get_list(x_axis, "data"), get_text(x_axis, "name") or "x"
    merged: dict[bytes, dict[str, Any]] = {}
    names: list[str] = []
    for number, series in enumerate(series_list):
        if not get_list(series, "data"):
            # It draws nothing, and its column would be in no row.
            continue
        name = get_text(series, "name") or f"series {number + 1}"
        name = name if name != x and name not in names else f"{name} {number + 1}"
        names.append(name)
        for place, point in enumerate(get_list(series, "data")):
            value = point.get("value", point) if isinstance(point, dict) else point
            row = {x: categories[place] if place < len(categories) else place}
            if isinstance(value, list) and len(value) == 2:
                row, value = {x: value[0]}, value[1]
            elif isinstance(value, list) and len(value) > 2:
                # A cell of a heatmap: its places on both axes, and its value.
                y = get_text(y_axis, "name") or "y"
                across, up = get_category(x_axis, value[0]), get_category(y_axis, value[1])
                row, value = {x: across, (y if y != x else f"{y} 2"): up}, value[2]
            merged.setdefault(msgspec.json.encode(row), row)[name] = value
    kind = name_kind(series_list[0])
    return RowChart(kind, list(merged.values()), x, tuple(names)) if merged and kind else None


def get_axis(option: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an axis of an ECharts option, which may be the first of a list."""
    axis = next(iter(get_list(option, key)), None)
    return axis if isinstance(axis, dict) else get_dict(option, key)


def get_category(axis: dict[str, Any], place: Any) -> Any:
    categories = get_list(axis, "data")
    is_place = isinstance(place, int) and not isinstance(place, bool)
    return categories[place] if is_place and 0 <= place < len(categories) else place
