"""Charts of a table: kind and axes (from params, the model, or the columns), data and ECharts option."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightseat.plugins.charts.grid import DataTable, TableColumn

ChartKind = Literal["bar", "stacked", "line", "area", "pie", "ring", "scatter", "heatmap"]
CHART_KINDS: tuple[ChartKind, ...] = get_args(ChartKind)
PIE_KINDS = ("pie", "ring")
MAX_GROUPS = 12
MAX_TITLE_LENGTH = 120
COUNT_LABEL = "count"
_ID_NAME = re.compile(r"(?i)(^|[_. ])(id|no|key|code|编号)$")
_SHARE_WORDS = re.compile(
    r"(?i)\b(share|percent|proportion|portion|ratio|anteil|breakdown)|占比|比例|份额|百分"
)
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
            "y": {
                "type": "array",
                "items": {"type": "string", "enum": numbers},
                "minItems": 1,
                "maxItems": 8,
            },
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
        group = next(
            (one.name for one in texts if has_repeats(times[0]) and len(one.distinct) <= MAX_GROUPS), ""
        )
        return ChartSpec(kind="line", x=times[0].name, y=y[:1] if group else y[:MAX_GROUPS], series=group)
    if len(texts) > 1 and has_repeats(texts[0]) and len(texts[1].distinct) <= MAX_GROUPS:
        return ChartSpec(kind="stacked", x=texts[0].name, y=y[:1], series=texts[1].name)
    if texts:
        share = _SHARE_WORDS.search(question) and len(numbers) == 1 and len(texts[0].distinct) <= MAX_GROUPS
        return ChartSpec(
            kind="pie" if share else "bar", x=texts[0].name, y=y[:1] if share else y[:MAX_GROUPS]
        )
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
    return ChartSpec(
        kind=kind, x=x, y=y, series="" if kind in PIE_KINDS else series, title=title, log=chart.log
    )
