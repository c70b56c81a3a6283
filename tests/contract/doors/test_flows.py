"""Flows through every door: as the one who answers and as a model's tool; they ask and go on."""

from collections.abc import Callable

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.flows.responder import FlowResponder, make_flow_tool
from rightseat.stores.memory import MemoryStore
from tests.contract.doors.members import ASKING_MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.plugins.flows.conversations import RecordingTools, make_flow, make_services

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", ASKING_MEMBERS)]
FLOW_YAML = """
name: f
description: Orders what the person wants.
steps:
  - {name: start, call_type: find, next: which}
  - {name: which, call_type: ask, params: {question: "Which of the two?"}, next: order}
  - {name: order, call_type: order, params: {x: "{which}"}, confirm: true, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell: {data}"}, next: end}
  - {name: end, call_type: none}
"""


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return ASKING_MEMBERS[member]


def make_operations() -> RecordingTools:
    return RecordingTools({"find": lambda args: ["red", "blue"], "order": lambda args: f"{args['x']} is ordered"})


@pytest.mark.demand("flows.flow_responder_behind_door", "flows.missing_parameters_confirmations_ask")
async def test_a_flow_answers_asks_and_goes_on(make_client: Callable[[str], DoorClient]) -> None:
    done, store = make_operations(), MemoryStore()
    model = FakeModel(reply_text("It is ", "ordered."))
    tools = make_services(model, done)
    responder = FlowResponder("default", make_flow(FLOW_YAML), lambda flow, turn: tools, store)
    async with serve_runtime(Runtime(agents={"default": responder}, store=store)) as home:
        person = make_client(home.url)
        seen = await person.send_message("order one")
        assert len(seen.questions) == 1
        assert done.called_names == ["find"]
        seen = await person.answer_question("red")
        assert len(seen.questions) == 1
        assert done.called_names == ["find"], "nothing is ordered before somebody agrees"
        seen = await person.answer_question(True)
        assert "It is ordered." in seen.text
    assert done.calls == [("find", {}), ("order", {"x": "red"})]
    assert model.prompts[0].messages[-1].text == "Tell: red is ordered"


@pytest.mark.demand("flows.flow_responder_behind_door")
async def test_a_flow_that_fails_is_a_failed_run(make_client: Callable[[str], DoorClient]) -> None:
    store = MemoryStore()
    broken = make_flow("name: f\ndescription: d\nsteps: [{name: start, call_type: gone}]")
    tools = make_services(FakeModel(), RecordingTools({}))
    responder = FlowResponder("default", broken, lambda flow, turn: tools, store)
    async with serve_runtime(Runtime(agents={"default": responder}, store=store)) as home:
        seen = await make_client(home.url).send_message("go")
        assert seen.error is not None


@pytest.mark.demand("flows.flow_tool_model_picks")
async def test_a_model_calls_a_flow_that_asks(make_client: Callable[[str], DoorClient]) -> None:
    done, store = make_operations(), MemoryStore()
    model = FakeModel(
        reply_calls(("order_flow", '{"request": "one please"}')), reply_text("It is ordered."), reply_text("All right.")
    )
    tools = make_services(model, done)
    tool = make_flow_tool("order_flow", make_flow(FLOW_YAML), lambda flow, turn: tools, lambda: store)
    runtime = Runtime(assistants=[Assistant("default", model, tools=(tool,))], store=store)
    async with serve_runtime(runtime) as home:
        person = make_client(home.url)
        assert len((await person.send_message("order one")).questions) == 1
        assert len((await person.answer_question("blue")).questions) == 1
        seen = await person.answer_question(True)
        assert "All right." in seen.text
    assert done.calls == [("find", {}), ("order", {"x": "blue"})]
    told = [message.text for message in model.prompts[-1].messages if message.role == "tool"]
    assert told == ["It is ordered."], "what the flow says is the tool's result"
