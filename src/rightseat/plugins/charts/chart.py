"""Charts of a table: kind and axes (from params, the model, or the columns), data and ECharts option."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightseat.plugins.charts.grid import Column, Grid

Kind = Literal["bar", "stacked", "line", "area", "pie", "ring", "scatter", "heatmap"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ROUND = ("pie", "ring")
FEW = 12
LONGEST_TITLE = 120
COUNT = "count"
_ID = re.compile(r"(?i)(^|[_. ])(id|no|key|code|编号)$")
_SHARE = re.compile(r"(?i)\b(share|percent|proportion|portion|ratio|anteil|breakdown)|占比|比例|份额|百分")
_PARTS: dict[Kind, re.Pattern[str]] = {
    "pie": re.compile(r"(?i)\bpie\b|饼图"),
    "ring": re.compile(r"(?i)\b(ring|donut|doughnut)\b|环形图|环图"),
    "stacked": re.compile(r"(?i)\bstack(ed)?\b|堆叠|堆积"),
    "area": re.compile(r"(?i)\barea\b|面积图"),
    "line": re.compile(r"(?i)\bline\b|\btrend|折线|趋势"),
    "scatter": re.compile(r"(?i)\bscatter|散点"),
    "heatmap": re.compile(r"(?i)\bheat ?map\b|热力图"),
    "bar": re.compile(r"(?i)\b(bar|column) ?(chart|graph)?s?\b|柱状|条形"),
}


class Chart(Struct, frozen=True, kw_only=True):
    kind: Kind
    x: str = ""
    """Column of the x axis, or of a pie's names; empty numbers the rows."""
    y: tuple[str, ...] = ()
    """Number columns; none counts the rows of each x."""
    series: str = ""
    """Column that splits the numbers into series; for a heatmap, the y axis."""
    title: str = ""
    log: bool = False


def schema(grid: Grid) -> dict[str, Any]:
    """Return the schema for a model's choice, limited to the table's columns."""
    names = [column.name for column in grid.columns]
    numbers = [column.name for column in grid.of("number")] or names
    return {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": list(KINDS)},
            "x": {"type": "string", "enum": names},
            "y": {
                "type": "array",
                "items": {"type": "string", "enum": numbers},
                "minItems": 1,
                "maxItems": 8,
            },
            "series": {"type": "string", "enum": ["", *names]},
            "title": {"type": "string", "maxLength": LONGEST_TITLE},
            "log": {"type": "boolean"},
        },
        "required": ["kind", "x", "y", "series", "title", "log"],
        "additionalProperties": False,
    }


def default(grid: Grid, question: str = "") -> Chart:
    """Return a chart without a model: by the columns, and by a chart word in the question."""
    made = guessed(grid, question)
    for kind, word in _PARTS.items():
        if word.search(question):
            return fitting(replace(made, kind=kind), grid)
    return fitting(made, grid)


def guessed(grid: Grid, question: str) -> Chart:
    numbers = measures(grid)
    times, texts = grid.of("time"), grid.of("text")
    y = tuple(one.name for one in numbers)
    if not numbers:
        first = (texts or times or list(grid.columns))[0]
        return Chart(kind="bar", x=first.name)
    if times:
        group = next((one.name for one in texts if repeated(times[0]) and len(one.distinct) <= FEW), "")
        return Chart(kind="line", x=times[0].name, y=y[:1] if group else y[:FEW], series=group)
    if len(texts) > 1 and repeated(texts[0]) and len(texts[1].distinct) <= FEW:
        return Chart(kind="stacked", x=texts[0].name, y=y[:1], series=texts[1].name)
    if texts:
        share = _SHARE.search(question) and len(numbers) == 1 and len(texts[0].distinct) <= FEW
        return Chart(kind="pie" if share else "bar", x=texts[0].name, y=y[:1] if share else y[:FEW])
    others = [column for column in grid.columns if column not in numbers]
    if others:
        return Chart(kind="bar", x=others[0].name, y=y)
    if len(numbers) > 1 and grid.size > 1:
        return Chart(kind="scatter", x=y[0], y=y[1:2])
    return Chart(kind="bar", x="", y=y)


def measures(grid: Grid) -> list[Column]:
    """Return the number columns without ids; all of them if only ids are left."""
    numbers = grid.of("number")
    return [one for one in numbers if not _ID.search(one.name)] or numbers


def repeated(column: Column) -> bool:
    return len(column.distinct) < len([cell for cell in column.cells if cell is not None])


def fitting(wanted: Chart, grid: Grid) -> Chart:
    """Return the chart reduced to what the table has, so that it can always be drawn."""
    x = wanted.x if wanted.x in grid else ""
    numbers = [one.name for one in grid.of("number")]
    y = tuple(dict.fromkeys(name for name in wanted.y if name in numbers))
    if len(y) > 1 or x not in numbers:
        y = tuple(name for name in y if name != x)
    series = wanted.series if wanted.series in grid and wanted.series != x else ""
    if series in y:
        series = ""
    if series and len(grid[series].distinct) > 4 * FEW:
        series = ""
    kind = wanted.kind
    if kind == "scatter" and (x not in numbers or not y):
        others = [name for name in numbers if name not in y]
        if not others or not y:
            kind = "bar"
        else:
            x, y = others[0], y[:1]
    if kind == "heatmap" and not (x and series):
        kind = "bar"
    if kind in ROUND or kind == "heatmap" or series:
        y = y[:1]
    title = " ".join(wanted.title.split())[:LONGEST_TITLE]
    return Chart(kind=kind, x=x, y=y, series="" if kind in ROUND else series, title=title, log=wanted.log)
