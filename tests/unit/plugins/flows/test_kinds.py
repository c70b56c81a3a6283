"""Step kinds of other packages, by their entry points; and those that are not whole."""

from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rightseat.plugins.flows import steps
from rightseat.plugins.flows.context import FlowReferences, StepContext, StepOutput
from rightseat.plugins.flows.load import check_flow
from rightseat.types.events import Event
from rightseat.types.tools import Pause
from tests.kit.house import Lines, says
from tests.unit.plugins.flows.acting import flow, kit, scene

FLOW = "name: f\ndescription: d\nsteps: [{name: start, call_type: KIND, params: {x: 1}}]"


class Entry:
    def __init__(self, found: Any) -> None:
        self.found = found

    def load(self) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


async def double(stage: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    yield StepOutput(stage.step.params["x"] * 2)


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entries = {
        "double": Entry(SimpleNamespace(run=double)),
        "gone": Entry(ImportError("No module named 'theirs'")),
        "llm": Entry(SimpleNamespace(run=double)),
    }
    monkeypatch.setattr(steps, "entry_point_kinds", lambda: entries)
    steps.get_kind.cache_clear()
    yield
    steps.get_kind.cache_clear()


@pytest.mark.usefixtures("foreign")
async def test_a_kind_of_another_package_runs() -> None:
    text = FLOW.replace("KIND", "double")
    assert list(check_flow(flow(text), FlowReferences())) == []
    play = scene(text, None, says("It is two."))
    await play.ask()
    model = play.kit.model
    assert isinstance(model, Lines)
    assert '{"start":2}' in model.asked[0].messages[-1].text.replace(" ", "")


@pytest.mark.usefixtures("foreign")
def test_nobody_knows_whether_it_may_run_twice_unless_it_says() -> None:
    step = flow(FLOW.replace("KIND", "double")).steps["start"]
    assert not steps.get_kind("double").repeatable(step, kit(Lines()))
    assert steps.get_kind("extract").repeatable(step, kit(Lines()))


@pytest.mark.usefixtures("foreign")
async def test_one_that_cannot_be_loaded_is_a_problem_of_the_flow() -> None:
    text = FLOW.replace("KIND", "gone")
    (fault,) = check_flow(flow(text), FlowReferences())
    assert "No module named 'theirs'" in fault.what
    play = scene(text)
    await play.ask()
    assert play.failed is not None
    assert "cannot be used here" in play.failed.message


@pytest.mark.usefixtures("foreign")
def test_nobody_takes_over_one_of_ours() -> None:
    assert steps.get_kind("llm").run is not double
