"""Tables and charts, from the shapes that tools give them in."""

from typing import Any

import pytest

from rightseat.doors.openbb.artifacts import format_artifact
from rightseat.types.events import Artifact
from tests.kit.cases import each_case

ROWS = [{"day": "Mo", "close": 1, "open": 2}, {"day": "Tu", "close": 3, "open": 4}]
LINE = {"chartType": "line", "xKey": "day", "yKey": ["close"]}


def make_artifact(kind: Any, content: Any, name: str = "Prices") -> dict[str, Any]:
    return format_artifact(Artifact("a1", kind, name, content), set())


@pytest.mark.demand("openbb.text_status_updates_server")
@pytest.mark.parametrize(
    "content",
    [
        ROWS,
        {"rows": ROWS},
        {"data": ROWS},
        {"columns": ["day", "close", "open"], "rows": [["Mo", 1, 2], ["Tu", 3, 4]]},
        {"columns": [{"name": "day"}, {"name": "close"}, {"name": "open"}], "data": [["Mo", 1, 2], ["Tu", 3, 4]]},
    ],
)
def test_tables(content: Any) -> None:
    found = make_artifact("table", content)
    assert (found["type"], found["content"]) == ("table", ROWS)


@each_case("content", ["text", 7, [], [1], {"rows": [1]}, None])
def test_what_is_no_table_is_text(content: Any) -> None:
    assert make_artifact("table", content)["type"] == "text"


@pytest.mark.demand("openbb.text_status_updates_server")
@pytest.mark.parametrize(
    ("content", "params"),
    [
        ({"data": ROWS, "chart_params": LINE}, LINE),
        (
            {"rows": ROWS, "chart": {"type": "bar", "x": "day", "y": ["close", "open"]}},
            {"chartType": "bar", "xKey": "day", "yKey": ["close", "open"]},
        ),
        (
            {"rows": ROWS, "chart": {"type": "pie", "x": "day", "y": "close"}},
            {"chartType": "pie", "angleKey": "close", "calloutLabelKey": "day"},
        ),
    ],
)
def test_charts_by_their_fields(content: Any, params: dict[str, Any]) -> None:
    found = make_artifact("chart", content)
    assert (found["type"], found["content"], found["chart_params"]) == ("chart", ROWS, params)


@pytest.mark.demand("openbb.text_status_updates_server")
def test_charts_as_echarts_options() -> None:
    series = [
        {"type": "line", "name": "close", "data": [1, 3]},
        {"type": "line", "name": "open", "data": [2, {"value": 4}]},
    ]
    found = make_artifact(
        "chart", {"xAxis": {"type": "category", "name": "day", "data": ["Mo", "Tu"]}, "series": series}
    )
    assert found["content"] == ROWS
    assert found["chart_params"] == {"chartType": "line", "xKey": "day", "yKey": ["close", "open"]}
    points = make_artifact("chart", {"series": {"type": "scatter", "data": [[1, 2], [3, 4]]}})
    assert points["content"] == [{"x": 1, "series 1": 2}, {"x": 3, "series 1": 4}]
    slices = [{"name": "a", "value": 1}, {"name": "b", "value": 2}]
    donut = make_artifact("chart", {"series": [{"type": "pie", "radius": ["40%", "70%"], "data": slices}]})
    assert donut["chart_params"] == {"chartType": "donut", "angleKey": "value", "calloutLabelKey": "name"}
    assert donut["content"] == slices


@pytest.mark.parametrize(
    "content",
    [{"series": [{"type": "radar", "data": [1]}]}, {"series": []}, {}, "x", {"rows": ROWS, "chart": {"type": "line"}}],
)
def test_a_chart_that_the_client_cannot_draw_is_shown_all_the_same(content: Any) -> None:
    found = make_artifact("chart", content)
    assert found["type"] in ("table", "text")
    assert "chart_params" not in found


@pytest.mark.demand("openbb.text_status_updates_server")
def test_names_are_safe_in_the_clients_page_and_never_the_same_twice() -> None:
    taken = {"Prices"}
    names = [
        format_artifact(Artifact(str(n), "text", name, "x"), taken)["name"]
        for n, name in enumerate(["Prices", 'a"><b', "Prices", ""])
    ]
    assert names == ["Prices 2", "a b", "Prices 3", "text"]
