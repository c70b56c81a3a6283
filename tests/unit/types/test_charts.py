"""The rows behind a chart, whatever form its author gave it."""

from typing import Any

from rightseat.types.charts import RowChart, list_chart_rows, parse_chart
from tests.kit.cases import each_case

ROWS = [{"month": "May", "sales": 12, "cost": 3}, {"month": "June", "sales": 31, "cost": 4}]


@each_case(
    ("content", "chart"),
    [
        (
            {"data": ROWS, "chart_params": {"chartType": "bar", "xKey": "month", "yKey": ["sales", "cost"]}},
            RowChart("bar", ROWS, "month", ("sales", "cost")),
        ),
        (
            {"rows": ROWS, "chart": {"type": "pie", "angleKey": "sales", "calloutLabelKey": "month"}},
            RowChart("pie", ROWS, "month", ("sales",)),
        ),
        (
            {"option": {"dataset": {"source": ROWS}, "series": [{"type": "bar"}, {"type": "bar"}]}},
            RowChart("bar", ROWS, "month", ("sales", "cost")),
        ),
        (
            {
                "dataset": {"source": [["month", "sales"], ["May", 12]]},
                "series": {"type": "line", "encode": {"x": "month", "y": "sales"}},
            },
            RowChart("line", [{"month": "May", "sales": 12}], "month", ("sales",)),
        ),
        (
            {"series": [{"type": "funnel", "data": [{"name": "seen", "value": 9}, {}]}]},
            RowChart("funnel", [{"name": "seen", "value": 9}], "name", ("value",)),
        ),
        (
            {"xAxis": [{"data": ["a"]}], "series": [{"type": "heatmap", "data": [[0, 7, 5]]}]},
            RowChart("heatmap", [{"x": "a", "y": 7, "series 1": 5}], "x", ("series 1",)),
        ),
        (
            {"xAxis": {"data": ["a"]}, "series": [{"type": "bar", "data": []}, {"type": "bar", "data": [3]}]},
            RowChart("bar", [{"x": "a", "series 2": 3}], "x", ("series 2",)),
        ),
        ({"data": ROWS, "chart": {"type": "bar"}}, None),
        ({"data": ROWS, "chart": {"type": "bar", "x": "month", "y": [None]}}, None),
        ({"series": []}, None),
        ({"series": [None, "x"]}, None),
        ({"series": [{"type": "pie", "data": "x"}]}, None),
        ({"series": [{"data": [1]}]}, None),
        ({"series": [{"type": "bar"}]}, None),
        ("text", None),
        (None, None),
    ],
)
def test_a_chart_as_rows(content: Any, chart: RowChart | None) -> None:
    assert parse_chart(content) == chart


def test_the_rows_of_a_chart_without_columns_to_draw() -> None:
    assert list_chart_rows({"data": ROWS, "chart": {"type": "bar"}}) == ROWS
    assert list_chart_rows({"columns": ["a", {"name": "b"}], "rows": [[1, 2], {"a": 3}, 4]}) == [
        {"a": 1, "b": 2},
        {"a": 3},
        {},
    ]
    assert list_chart_rows({"series": 1}) == []
