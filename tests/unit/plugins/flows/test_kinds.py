"""Step kinds of other packages, by their entry points; and those that are not whole."""

from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rightseat.plugins.flows import steps
from rightseat.plugins.flows.load import check_flow
from rightseat.plugins.flows.step_context import FlowReferences, StepContext, StepOutput
from rightseat.types.events import Event
from rightseat.types.tools import Pause
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.flows.conversations import make_flow, make_services, open_conversation

FLOW = "name: f\ndescription: d\nsteps: [{name: start, call_type: KIND, params: {x: 1}}]"


class FakeEntryPoint:
    def __init__(self, found: Any) -> None:
        self.target = found

    def load(self) -> Any:
        if isinstance(self.target, Exception):
            raise self.target
        return self.target


async def run_double(context: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    yield StepOutput(context.step.params["x"] * 2)


@pytest.fixture
def entry_point_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entries = {
        "double": FakeEntryPoint(SimpleNamespace(run=run_double)),
        "gone": FakeEntryPoint(ImportError("No module named 'theirs'")),
        "llm": FakeEntryPoint(SimpleNamespace(run=run_double)),
    }
    monkeypatch.setattr(steps, "entry_point_kinds", lambda: entries)
    steps.get_kind.cache_clear()
    yield
    steps.get_kind.cache_clear()


@pytest.mark.usefixtures("entry_point_kinds")
async def test_a_kind_of_another_package_runs() -> None:
    text = FLOW.replace("KIND", "double")
    assert list(check_flow(make_flow(text), FlowReferences())) == []
    play = open_conversation(text, None, reply_text("It is two."))
    await play.send()
    model = play.services.model
    assert isinstance(model, FakeModel)
    assert '{"start":2}' in model.prompts[0].messages[-1].text.replace(" ", "")


@pytest.mark.usefixtures("entry_point_kinds")
def test_nobody_knows_whether_it_may_run_twice_unless_it_says() -> None:
    step = make_flow(FLOW.replace("KIND", "double")).steps["start"]
    assert not steps.get_kind("double").repeatable(step, make_services(FakeModel()))
    assert steps.get_kind("extract").repeatable(step, make_services(FakeModel()))


@pytest.mark.usefixtures("entry_point_kinds")
async def test_one_that_cannot_be_loaded_is_a_problem_of_the_flow() -> None:
    text = FLOW.replace("KIND", "gone")
    (fault,) = check_flow(make_flow(text), FlowReferences())
    assert "No module named 'theirs'" in fault.what
    play = open_conversation(text)
    await play.send()
    assert play.failure is not None
    assert "cannot be used here" in play.failure.message


@pytest.mark.usefixtures("entry_point_kinds")
def test_nobody_takes_over_one_of_ours() -> None:
    assert steps.get_kind("llm").run is not run_double
