"""Real ECharts draws every option that we write: it says nothing against it, and each number has a mark."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.charts.chart import (
    CHART_KINDS,
    ChartKind,
    ChartSpec,
    Plot,
    build_option,
    build_plot,
    fit_to_table,
    make_default_chart,
)
from rightseat.plugins.charts.table import parse_table
from rightseat.server import playground
from tests.peers.install import HERE
from tests.peers.prerequisites import require
from tests.unit.plugins.charts.tables import LONG_TABLE, SAMPLES, Sample

pytestmark = pytest.mark.peers
Draw = Callable[[dict[str, Any]], dict[str, Any]]
TYPES = {"stacked": "bar", "area": "line", "ring": "pie"}


@pytest.fixture(scope="module")
def draw_option(record_driven: Callable[[str, str], None]) -> Iterator[Draw]:
    command = ["node", str(HERE / "echarts" / "drive.mjs"), str(require("echarts"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines, answers = process.stdin, process.stdout
        record_driven("echarts", json.loads(answers.readline())["version"])

        def drawn(given: dict[str, Any]) -> dict[str, Any]:
            lines.write(json.dumps(given) + "\n")
            lines.flush()
            found: dict[str, Any] = json.loads(answers.readline())
            return found

        yield drawn
        lines.close()


def count_values(plot: Plot) -> int:
    """How many numbers there are to be seen."""
    if plot.kind == "scatter":
        return sum(len(one.points) for one in plot.series)
    return sum(value is not None for one in plot.series for value in one.values)


def draw_plot(draw_option: Draw, plot: Plot) -> dict[str, Any]:
    drawing = draw_option(build_option(plot))
    assert drawing["said"] == []
    assert [one["type"] for one in drawing["series"]] == [TYPES.get(plot.kind, plot.kind)] * len(drawing["series"])
    if count_values(plot):
        assert all(
            one["marks"] for one, given in zip(drawing["series"], plot.series, strict=False) if has_values(given)
        )
    return drawing


def has_values(series: Any) -> bool:
    return bool(series.points) or any(value is not None for value in series.values)


@pytest.mark.demand("flows.render_validated_real_echarts")
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_default(draw_option: Draw, sample: Sample) -> None:
    found = parse_table(sample.value)
    draw_plot(draw_option, build_plot(make_default_chart(found, sample.question), found))


@pytest.mark.demand("flows.render_validated_real_echarts")
@pytest.mark.parametrize("kind", CHART_KINDS)
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_every_table_as_anything(draw_option: Draw, sample: Sample, kind: ChartKind) -> None:
    chart = ChartSpec(
        kind=kind, x=sample.chart.x, y=sample.chart.y, series=sample.chart.series, title="A title", log=True
    )
    found = parse_table(sample.value)
    draw_plot(draw_option, build_plot(fit_to_table(chart, found), found))


@pytest.mark.demand("flows.render_validated_real_echarts")
@pytest.mark.parametrize(("kind", "marks"), [("bar", 12), ("stacked", 12), ("heatmap", 12)])
def test_each_number_has_its_mark(draw_option: Draw, kind: ChartKind, marks: int) -> None:
    found = parse_table(LONG_TABLE)
    made = build_plot(fit_to_table(ChartSpec(kind=kind, x="month", y=("sales",), series="region"), found), found)
    assert sum(one["marks"] for one in draw_plot(draw_option, made)["series"]) == marks


def test_names_and_title_are_written(draw_option: Draw) -> None:
    found = parse_table(LONG_TABLE)
    made = build_plot(ChartSpec(kind="bar", x="month", y=("sales",), series="region", title="Sales 销售"), found)
    picture = draw_plot(draw_option, made)["svg"]
    for word in ("Sales 销售", "2026-01", "north", "south", "east"):
        assert word in picture


PAGE_MODULE = Path(playground.__file__).parent / "page" / "options.js"
PAGE_PROGRAM = """
import { readFileSync } from "node:fs";
const { makeOption } = await import(process.argv[1]);
process.stdout.write(JSON.stringify(makeOption(JSON.parse(readFileSync(0)))));
"""
ROWS: list[dict[str, Any]] = [
    {"month": "Jan", "price": 40.5, "volume": 12},
    {"month": "Feb", "price": None, "volume": 9},
]
ROW_CHARTS: dict[str, tuple[dict[str, Any], list[tuple[str, int]]]] = {
    "line": ({"type": "line", "x": "month", "y": ["price", "volume"]}, [("price", 2), ("volume", 2)]),
    "bar": ({"chartType": "bar", "xKey": "month", "yKey": ["volume"]}, [("volume", 2)]),
    "scatter": ({"type": "scatter", "x": "volume", "y": "price"}, [("price", 2)]),
    "pie": ({"chartType": "pie", "calloutLabelKey": "month", "angleKey": "volume"}, [("volume", 2)]),
    "donut": ({"type": "donut", "x": "month", "y": ["volume"]}, [("volume", 2)]),
}


def make_page_option(content: dict[str, Any]) -> dict[str, Any]:
    """The option that the playground draws of an artifact's content."""
    command = ["node", "--input-type=module", "-e", PAGE_PROGRAM, PAGE_MODULE.as_uri()]
    printed = subprocess.run(command, input=json.dumps(content), capture_output=True, text=True, check=True)
    option: dict[str, Any] = json.loads(printed.stdout)
    return option


@pytest.mark.demand("openbb.docs_artifacts_page")
@pytest.mark.parametrize("kind", ROW_CHARTS)
@pytest.mark.parametrize("has_columns", [False, True])
def test_the_playground_draws_charts_of_rows(draw_option: Draw, kind: str, has_columns: bool) -> None:
    chart, expected = ROW_CHARTS[kind]
    table = {"columns": [*ROWS[0]], "rows": [[*row.values()] for row in ROWS]} if has_columns else {"data": ROWS}
    drawing = draw_option(make_page_option({**table, "chart": chart}))
    assert drawing["said"] == []
    assert [(series["name"], series["data"]) for series in drawing["series"]] == expected
    assert all(series["marks"] for series in drawing["series"])


def test_the_playground_leaves_options_as_they_are() -> None:
    option = {"series": [{"type": "bar", "data": [1]}], "xAxis": {"data": ["a"]}}
    assert make_page_option(option) == option
    assert make_page_option({"option": option}) == option
    assert make_page_option({"data": ROWS, "chart": {"type": "line"}}) == {"data": ROWS, "chart": {"type": "line"}}


@pytest.mark.demand("flows.render_validated_real_echarts")
def test_broken_option_is_noticed(draw_option: Draw) -> None:
    """What the other tests rest on: ECharts does complain."""
    given = build_option(build_plot(ChartSpec(kind="bar", x="month", y=("sales",)), parse_table(LONG_TABLE)))
    given["series"][0]["type"] = "nothing"
    found = draw_option(given)
    assert found["said"] or not found["series"] or not found["series"][0]["marks"]
