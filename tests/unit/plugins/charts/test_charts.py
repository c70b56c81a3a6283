"""Tables to charts without a model, as options and as rows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.charts.chart import (
    CHART_KINDS,
    ChartKind,
    ChartSpec,
    Plot,
    build_chart_schema,
    build_option,
    build_plot,
    fit_to_table,
    format_csv,
    list_rows,
    make_default_chart,
)
from rightseat.plugins.charts.table import NoTableFound, parse_table
from rightseat.types.schema import get_validator
from tests.kit.cases import each_case
from tests.unit.plugins.charts.tables import LONG_TABLE, SAMPLES, Sample


def build_chart(value: Any, chart: ChartSpec) -> Plot:
    found = parse_table(value)
    return build_plot(fit_to_table(chart, found), found)


@pytest.mark.demand("flows.render_table_echarts_option")
@each_case("sample", SAMPLES.values())
def test_default(sample: Sample) -> None:
    assert make_default_chart(parse_table(sample.value), sample.question) == sample.chart


@pytest.mark.demand("flows.render_table_echarts_option")
@pytest.mark.spread("sample", "kind")
@pytest.mark.parametrize("kind", CHART_KINDS)
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_every_table_can_be_drawn_as_anything(sample: Sample, kind: ChartKind) -> None:
    found = parse_table(sample.value)
    made = build_chart(
        sample.value, ChartSpec(kind=kind, x=sample.chart.x, y=sample.chart.y, series=sample.chart.series)
    )
    json.dumps(build_option(made), allow_nan=False)
    assert count_numbers(list_rows(made)) >= sum(value is not None for one in made.series for value in one.values)
    assert (
        get_validator(build_chart_schema(found)).find_problem(
            {**list_chart_fields(sample.chart), "kind": kind, "y": [get_first_column(found)]}
        )
        is None
    )


def list_chart_fields(chart: ChartSpec) -> dict[str, Any]:
    names = {"x": chart.x, "series": chart.series, "title": "", "log": False}
    return {name: value for name, value in names.items() if name != "x" or value} | (
        {} if chart.x else {"x": chart.y[0]}
    )


def count_numbers(rows: list[dict[str, Any]]) -> int:
    return sum(isinstance(cell, int | float) for row in rows for cell in row.values())


def get_first_column(found: Any) -> str:
    return str((found.list_columns("number") or list(found.columns))[0].name)


def test_option_of_bars_is_what_echarts_and_the_doors_read() -> None:
    assert build_option(
        build_chart(LONG_TABLE, ChartSpec(kind="stacked", x="month", y=("sales",), series="region", title="T"))
    ) == {
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "title": {"text": "T", "left": "center"},
        "grid": {"left": 48, "right": 32, "top": 56, "bottom": 56, "containLabel": True},
        "xAxis": {
            "type": "category",
            "name": "month",
            "data": ["2026-01", "2026-02", "2026-03", "2026-04"],
            "axisLabel": {"hideOverlap": True},
        },
        "yAxis": {"type": "value", "name": "sales"},
        "legend": {"type": "scroll", "bottom": 0},
        "series": [
            {"type": "bar", "name": "north", "data": [0, 10, 20, 30], "stack": "total"},
            {"type": "bar", "name": "south", "data": [1, 11, 21, 31], "stack": "total"},
            {"type": "bar", "name": "east", "data": [2, 12, 22, 32], "stack": "total"},
        ],
    }


def test_rows_of_the_same_name_are_added_up() -> None:
    made = build_chart(
        [{"a": "x", "n": 0.1}, {"a": "x", "n": 0.2}, {"a": "y", "n": None}], ChartSpec(kind="bar", x="a", y=("n",))
    )
    assert (made.categories, made.series[0].values) == (("x", "y"), (0.3, None))


def test_rows_are_counted_where_there_are_no_numbers() -> None:
    made = build_chart([{"a": "x"}, {"a": "x"}, {"a": "y"}], ChartSpec(kind="bar", x="a"))
    assert (made.series[0].name, made.series[0].values, made.y) == ("count", (2, 1), "count")


def test_times_are_in_order() -> None:
    made = build_chart(
        [{"day": "2026-02-01", "n": 2}, {"day": "2026-01-01", "n": 1}], ChartSpec(kind="line", x="day", y=("n",))
    )
    assert (made.categories, made.series[0].values) == (("2026-01-01", "2026-02-01"), (1, 2))


def test_slices_are_positive_and_the_smallest_are_one() -> None:
    many = [{"a": f"n{n}", "v": n} for n in range(-2, 40)]
    made = build_chart(many, ChartSpec(kind="pie", x="a", y=("v",)))
    assert len(made.categories) == 20
    assert made.categories[-1] == "…"
    assert sum(value or 0 for value in made.series[0].values) == sum(range(40))


def test_log_only_where_it_can_be() -> None:
    rows = [{"a": "x", "n": 1}, {"a": "y", "n": 1000}]
    assert build_option(build_chart(rows, ChartSpec(kind="bar", x="a", y=("n",), log=True)))["yAxis"]["type"] == "log"
    rows.append({"a": "z", "n": 0})
    assert build_option(build_chart(rows, ChartSpec(kind="bar", x="a", y=("n",), log=True)))["yAxis"]["type"] == "value"


@each_case(
    ("wanted", "made"),
    [
        (ChartSpec(kind="scatter", x="month", y=("sales",)), ("bar", "month", ("sales",), "")),
        (ChartSpec(kind="heatmap", x="month", y=("sales",)), ("bar", "month", ("sales",), "")),
        (ChartSpec(kind="bar", x="nowhere", y=("nothing",), series="none"), ("bar", "", (), "")),
        (ChartSpec(kind="bar", x="month", y=("region", "sales"), series="month"), ("bar", "month", ("sales",), "")),
        (ChartSpec(kind="pie", x="month", y=("sales",), series="region"), ("pie", "month", ("sales",), "")),
        (
            ChartSpec(kind="heatmap", x="month", y=("sales",), series="region"),
            ("heatmap", "month", ("sales",), "region"),
        ),
    ],
)
def test_what_the_table_cannot_give_is_left_out(wanted: ChartSpec, made: tuple[Any, ...]) -> None:
    found = fit_to_table(wanted, parse_table(LONG_TABLE))
    assert (found.kind, found.x, found.y, found.series) == made


@pytest.mark.demand("flows.render_validated_real_echarts")
def test_rows_have_every_number() -> None:
    stacked = build_chart(LONG_TABLE, ChartSpec(kind="stacked", x="month", y=("sales",), series="region"))
    rows = list_rows(stacked)
    assert [list(row) for row in rows] == [["month", "north", "south", "east"]] * 4
    assert [row["north"] for row in rows] == list(stacked.series[0].values)
    points = [{"a": n, "b": n * n} for n in range(3)]
    scatter = build_chart(points, ChartSpec(kind="scatter", x="a", y=("b",)))
    assert list_rows(scatter) == points
    grouped = build_chart(
        [{**point, "c": "x"} for point in points] + [{"a": 9, "b": 9, "c": "y"}],
        ChartSpec(kind="scatter", x="a", y=("b",), series="c"),
    )
    assert list_rows(grouped)[-1] == {"series": "y", "a": 9, "b": 9}
    same = build_chart([{"n": 2}, {"n": 2}], ChartSpec(kind="bar", x="n", y=("n",)))
    assert list_rows(same) == [{"n": "2", "n (y)": 4}]


def test_csv_has_no_formulas() -> None:
    rows: list[dict[str, Any]] = [{"=name": "=1+1", "n": -1}, {"=name": 'a,"b"', "n": None}]
    assert format_csv(rows) == '\'=name,n\r\n\'=1+1,-1\r\n"a,""b""",\r\n'
    assert format_csv([]) == ""


def test_names_out_of_the_data_are_only_text() -> None:
    made = build_chart(
        SAMPLES["hostile names"].value, ChartSpec(kind="bar", x="name", y=("n",), title="<script>x</script>")
    )
    given = build_option(made)
    assert given["tooltip"]["renderMode"] == "richText"
    assert not [key for key in list_keys(given) if key in ("formatter", "renderItem", "link", "sublink", "rich")]


def list_keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in list_keys(inner))]
    return [key for inner in value for key in list_keys(inner)] if isinstance(value, list) else []


@each_case("value", [None, "words", 7, [], {}, [[]], [None], {"a": "b"}, [{}], [{"a": None}], {"a": {"b": []}}])
def test_no_table_is_said(value: Any) -> None:
    with pytest.raises(NoTableFound):
        parse_table(value)


def test_long_tables_are_cut_and_that_is_known() -> None:
    found = parse_table([{"n": n} for n in range(5000)])
    assert (found.row_count, found.is_truncated) == (2000, True)


cell = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
value = st.recursive(
    cell, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


@pytest.mark.demand("flows.render_table_echarts_option")
@given(value, st.sampled_from(CHART_KINDS), st.data())
def test_anything_is_drawn_or_no_table(value: Any, kind: ChartKind, data: st.DataObject) -> None:
    try:
        found = parse_table(value)
    except NoTableFound:
        return
    names = st.sampled_from(["", *(column.name for column in found.columns)])
    chart = ChartSpec(
        kind=kind, x=data.draw(names), y=tuple(data.draw(st.lists(names, max_size=3))), series=data.draw(names)
    )
    made = build_plot(fit_to_table(chart, found), found)
    json.dumps(build_option(made), allow_nan=False)
    format_csv(list_rows(made))
