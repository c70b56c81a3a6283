"""The `render` step: the model chooses under a schema, or the file, and else something sane is drawn."""

import base64
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from rightseat.doors.openbb.artifacts import format_artifact
from rightseat.plugins.flows.step_context import StepError, StepOutput
from rightseat.plugins.plugin import Step
from rightseat.types.events import Artifact
from rightseat.types.messages import text_message
from rightseat.types.turn import Turn, TurnClient
from tests.kit.app_server import reply_text
from tests.kit.cases import each_case
from tests.unit.plugins.charts.tables import LONG_TABLE
from tests.unit.plugins.flows.step_runs import (
    check_step,
    get_prompt_text,
    list_prompts,
    make_context,
    make_services,
    run_step,
    run_step_to_output,
)

CHOICE = {"kind": "area", "x": "month", "y": ["sales"], "series": "region", "title": "Sales", "log": False}
TEXT_TURN = Turn(messages=(text_message("user", "x"),))


def make_step(**params: Any) -> Step:
    return Step(name="draw", kind="render", params=params)


def make_model_answer(**given: Any) -> Any:
    return reply_text(json.encode({**CHOICE, **given}).decode())


@pytest.mark.demand("flows.outputs_extract_sql_render", "flows.render_table_echarts_option")
async def test_model_chooses_among_what_is_there() -> None:
    used = make_services(make_model_answer())
    [shown, output] = await run_step(make_context(make_step(), used, before=LONG_TABLE, question="How did sales go?"))
    assert isinstance(output, StepOutput)
    option = output.data
    assert [one["name"] for one in option["series"]] == ["north", "south", "east"]
    assert all(one["type"] == "line" and one["areaStyle"] for one in option["series"])
    assert option["title"]["text"] == "Sales"
    assert output.message == "Drew a chart: area."
    assert isinstance(shown, Artifact)
    assert (shown.kind, shown.name, shown.content) == ("chart", "Sales", option)
    [prompt] = list_prompts(used)
    assert prompt.output_schema is not None
    assert prompt.output_schema["properties"]["x"]["enum"] == ["month", "region", "sales"]
    assert prompt.output_schema["properties"]["y"]["items"]["enum"] == ["sales"]
    assert "region (text, 3 different values)" in get_prompt_text(used)
    assert "How did sales go?" in get_prompt_text(used)


@pytest.mark.demand("flows.render_table_echarts_option")
async def test_without_a_sane_answer_something_is_drawn() -> None:
    used = make_services(reply_text("a bar chart!"), reply_text("[]"))
    output = await run_step_to_output(make_context(make_step(), used, before=LONG_TABLE))
    assert output.message == "Drew a chart: line."
    assert len(list_prompts(used)) == 2


async def test_what_the_model_wants_and_the_table_cannot_is_mended() -> None:
    output = await run_step_to_output(
        make_context(make_step(), make_services(make_model_answer(kind="scatter", series="month")), before=LONG_TABLE)
    )
    assert output.message == "Drew a chart: bar."


@pytest.mark.demand("flows.render_table_echarts_option")
@pytest.mark.parametrize(
    "params", [{"choose": False}, {"kind": "line"}, {"kind": "pie", "x": "region", "y": "sales"}, {"x": "region"}]
)
async def test_what_the_file_says_needs_no_model(params: dict[str, Any]) -> None:
    used = make_services()
    output = await run_step_to_output(make_context(make_step(**params), used, before=LONG_TABLE))
    assert list_prompts(used) == []
    kinds = {one["type"] for one in output.data["series"]}
    assert kinds == {{"pie": "pie"}.get(str(params.get("kind")), "line")}
    if params.get("x"):
        assert "2026-01" not in json.encode(output.data.get("xAxis", {})).decode()


@pytest.mark.demand("flows.render_table_echarts_option")
async def test_any_step_can_be_drawn() -> None:
    given = make_step(choose=False, **{"from": "start"}, title="{question} in {start.unit}")
    outputs = {"start": {"unit": "MB", "hosts": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}, "other": "words"}
    output = await run_step_to_output(make_context(given, make_services(), outputs=outputs, question="Memory"))
    assert output.data["xAxis"]["data"] == ["a", "b"]
    assert output.data["title"]["text"] == "Memory in MB"
    text = await run_step_to_output(
        make_context(make_step(choose=False), make_services(), before='[{"name": "a", "n": 1}]')
    )
    assert text.data["series"][0]["data"] == [1]


async def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(StepError, match="no table in it"):
        await run_step(make_context(make_step(), make_services(), before="only words"))
    with pytest.raises(StepError, match="no table in it"):
        await run_step(make_context(make_step(), make_services(), before=[]))
    with pytest.raises(StepError, match="'later' has given nothing"):
        await run_step(make_context(make_step(**{"from": "later"}), make_services(), before=LONG_TABLE))


@pytest.mark.demand("flows.render_validated_real_echarts")
async def test_where_nothing_draws_charts_there_are_a_table_and_a_file() -> None:
    given = make_context(
        make_step(kind="pie", x="region"),
        make_services(),
        before=LONG_TABLE,
        turn=replace(TEXT_TURN, client=TurnClient(shows_artifacts=False)),
    )
    [table, file, output] = await run_step(given)
    assert isinstance(table, Artifact)
    assert isinstance(file, Artifact)
    assert (table.kind, table.name) == ("table", "draw")
    assert [row["region"] for row in table.content] == ["north", "south", "east"]
    assert (file.kind, file.name, file.content["media_type"]) == ("file", "draw.csv", "text/csv")
    lines = base64.b64decode(file.content["data"]).decode().splitlines()
    assert lines == ["region,sales", *(f"{row['region']},{row['sales']}" for row in table.content)]
    assert isinstance(output, StepOutput)
    assert output.data["series"][0]["type"] == "pie"


@pytest.mark.demand("openbb.text_status_updates_server")
@pytest.mark.parametrize(
    ("kind", "drawn"),
    [("bar", "bar"), ("stacked", "bar"), ("line", "line"), ("area", "line"), ("pie", "pie"), ("ring", "donut")],
)
async def test_openbb_draws_it_as_its_own(kind: str, drawn: str) -> None:
    [shown, _] = await run_step(
        make_context(make_step(kind=kind, x="month", y="sales"), make_services(), before=LONG_TABLE)
    )
    assert isinstance(shown, Artifact)
    made = format_artifact(shown, set())
    assert made["type"] == "chart"
    assert made["chart_params"]["chartType"] == drawn
    assert len(made["content"]) == 4


@each_case(
    ("params", "key"),
    [
        ({"color": "red"}, "params.color"),
        ({"kind": "bars"}, "params.kind"),
        ({"from": "nowhere"}, "params.from"),
        ({"y": 7}, "params.y"),
        ({"x": ["a"]}, "params.x"),
        ({"series": 1}, "params.series"),
    ],
)
def test_check_finds(params: dict[str, Any], key: str) -> None:
    [problem] = check_step(make_step(**params))
    assert problem.key == f"steps.draw.{key}"


def test_check_finds_nothing() -> None:
    assert check_step(make_step()) == []
    assert check_step(make_step(kind="ring", x="a", y=["b"], series="c", title="{question}", log=True)) == []
