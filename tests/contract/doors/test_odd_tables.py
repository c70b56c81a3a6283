"""Tables without rows, tables in other shapes, and charts of columns that are not there, as Workspace shows them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Result, Runtime, tool
from rightseat.types.events import Artifact, Event
from rightseat.types.tools import Pause
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io
LINE = {"type": "Line", "x": "day", "y": "price"}
TEXTS = [{"day": "Mon", "price": "1,234.5"}]
ROWS: list[dict[Any, Any]] = [{"day": "Mon", "price": 1.5, 2025: 3}, {"day": "Tue", "price": None, 2025: 4}]
CONTENTS: dict[str, tuple[str, Any]] = {
    "no_rows": ("table", []),
    "no_rows_of_columns": ("table", {"columns": ["day"], "rows": []}),
    "no_points": ("chart", {"data": [], "chart": {"type": "line", "x": "day", "y": ["price"]}}),
    "no_rows_in_columns": ("table", {"day": [], "price": []}),
    "parts": ("table", {"columns": ["day", "price"], "rows": [["Mon", 1], ["Tue", 2]]}),
    "columns": ("table", {"day": ["Mon", "Tue"], "price": (1.5, 2)}),
    "lists": ("table", [["Mon", 1], ("Tue", 2)]),
    "values": ("table", [1, 2]),
    "columns_of_chart": ("chart", {"data": {"day": ["Mon"], "price": [1]}, "chart": LINE}),
    "number_as_key": ("chart", {"data": ROWS, "chart": {"type": "bar", "x": "day", "y": [2025]}}),
    "missing_column": ("chart", {"data": ROWS, "chart": {"type": "line", "x": "day", "y": ["price", "close"]}}),
    "missing_axis": ("chart", {"data": ROWS, "chart": {"type": "line", "x": "date", "y": ["price"]}}),
    "no_axis": ("chart", {"data": ROWS, "chart": {"type": "line", "y": ["price"]}}),
    "no_numbers": ("chart", {"data": TEXTS, "chart": LINE}),
}


@tool
async def show(kind: str) -> AsyncIterator[Event | Result | Pause]:
    """Show a table or a chart."""
    artifact_kind, content = CONTENTS[kind]
    yield Artifact(kind, artifact_kind, "Prices", content)  # type: ignore[arg-type]
    yield Result("shown")


async def show_in_workspace(kind: str) -> tuple[list[dict[str, Any]], str, str]:
    """Return the artifacts and the text that Workspace gets, and what the model reads."""
    model = FakeModel(reply_calls(("show", f'{{"kind": "{kind}"}}')), reply_text("Here."))
    body = {"messages": [{"role": "human", "content": "show it"}], "timezone": "UTC"}
    async with serve_runtime(Runtime(model=model, tools=[show])) as home, RawHttpClient(home.url) as client:
        await client.post_json("/v1/query", body)
        await client.read_head()
        frames = [(frame.event, frame.json) async for frame in client.iterate_frames()]
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    text = "".join(data["delta"] for event, data in frames if event == "copilotMessageChunk")
    return [data for event, data in frames if event == "copilotMessageArtifact"], text, result


@pytest.mark.demand("openbb.tables_in_other_shapes")
@pytest.mark.parametrize("kind", ["no_rows", "no_rows_of_columns", "no_rows_in_columns", "no_points"])
async def test_of_a_table_without_rows_the_person_and_the_model_are_told(kind: str) -> None:
    shown, text, result = await show_in_workspace(kind)
    assert shown == []
    assert text == "(Prices has no rows.)\n\nHere."
    assert result == "shown\n\nPrices has no rows, so nothing was shown."


@pytest.mark.demand("openbb.tables_in_other_shapes")
@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("columns", [{"day": "Mon", "price": 1.5}, {"day": "Tue", "price": 2}]),
        ("parts", [{"day": "Mon", "price": 1}, {"day": "Tue", "price": 2}]),
        ("lists", [{"0": "Mon", "1": 1}, {"0": "Tue", "1": 2}]),
        ("values", [{"0": 1}, {"0": 2}]),
    ],
)
async def test_columns_lists_and_single_values_are_tables_too(kind: str, rows: list[dict[str, Any]]) -> None:
    [table], _, result = await show_in_workspace(kind)
    assert (table["type"], table["content"]) == ("table", rows)
    assert result == "shown"


@pytest.mark.demand("openbb.charts_of_missing_columns")
@pytest.mark.parametrize(
    ("kind", "drawn"), [("columns_of_chart", ("line", "price")), ("number_as_key", ("bar", "2025"))]
)
async def test_a_chart_is_drawn_whatever_the_case_of_its_kind_and_the_type_of_its_keys(
    kind: str, drawn: tuple[str, str]
) -> None:
    [chart], _, result = await show_in_workspace(kind)
    assert chart["type"] == "chart"
    assert chart["chart_params"] == {"chartType": drawn[0], "xKey": "day", "yKey": [drawn[1]]}
    assert result == "shown"


@pytest.mark.demand("openbb.charts_of_missing_columns")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("missing_column", "it has no column 'close'; its columns are 'day', 'price', '2025'."),
        ("missing_axis", "it has no column 'date'; its columns are 'day', 'price', '2025'."),
        ("no_axis", "it needs a type, x and y."),
        ("no_numbers", "its column 'price' has no numbers."),
    ],
)
async def test_a_chart_that_would_be_empty_is_a_table_and_the_model_reads_why(kind: str, reason: str) -> None:
    [table], _, result = await show_in_workspace(kind)
    assert table["type"] == "table"
    assert result == f"shown\n\nPrices was not drawn: {reason} The person sees its numbers as a table."
