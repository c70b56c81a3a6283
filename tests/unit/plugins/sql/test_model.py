"""sql and render with the embedded model: a small one may fail, and then it fails in words."""

from dataclasses import replace
from pathlib import Path

import pytest

from rightseat.errors import UpstreamGarbled
from rightseat.plugins.flows.step_context import FlowServices, StepError, StepOutput
from rightseat.plugins.plugin import Step
from rightseat.types.events import Artifact
from tests.unit.plugins.charts.tables import LONG_TABLE
from tests.unit.plugins.flows.step_runs import make_context, run_step
from tests.unit.plugins.flows.test_steps_model import open_embedded_services
from tests.unit.plugins.sql.shops import open_shop

pytestmark = [pytest.mark.model, pytest.mark.long, pytest.mark.timeout(900), pytest.mark.usefixtures("close_shops")]
QUESTION = "How many customers are there?"


@pytest.mark.demand("flows.call_type_embedded_model")
async def test_both(tmp_path: Path) -> None:
    async with open_embedded_services() as used:
        asked = replace(used, databases={"shop": open_shop("sqlite", tmp_path)})
        await check_sql_step(asked)
        await check_render_step(used)


async def check_sql_step(used: FlowServices) -> None:
    """It writes SQL rarely right: what counts is that only rows or words come of it."""
    try:
        made = await run_step(make_context(Step(name="start", kind="sql"), used, question=QUESTION))
    except (StepError, UpstreamGarbled) as error:
        print(f"sql: {error}")
        return
    print(f"sql: {made[0]} {made[-1]}")
    assert isinstance(made[-1], StepOutput)
    assert isinstance(made[-1].data, list)


async def check_render_step(used: FlowServices) -> None:
    given = make_context(
        Step(name="draw", kind="render"), used, before=LONG_TABLE, question="How did sales go in each region?"
    )
    [shown, output] = await run_step(given)
    assert isinstance(shown, Artifact)
    assert isinstance(output, StepOutput)
    assert output.data["series"][0]["data"]
    print(f"render: {output.message} {[one['name'] for one in output.data['series']]}")
