"""Flows through every door: as the one who answers and as a model's tool; they ask and go on."""

from collections.abc import Callable

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.flows.responder import FlowResponder, make_flow_tool
from rightseat.stores.memory import MemoryStore
from tests.contract.doors.members import MEMBERS, Visit
from tests.kit.house import Lines, calls, house, says
from tests.unit.plugins.flows.acting import Acts, flow, kit

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
FLOW = """
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
def visit(member: str) -> Callable[[str], Visit]:
    return MEMBERS[member]


def acts() -> Acts:
    return Acts({"find": lambda args: ["red", "blue"], "order": lambda args: f"{args['x']} is ordered"})


@pytest.mark.demand("flows.flow_responder_behind_door", "flows.missing_parameters_confirmations_ask")
async def test_a_flow_answers_asks_and_goes_on(visit: Callable[[str], Visit]) -> None:
    done, store = acts(), MemoryStore()
    model = Lines(says("It is ", "ordered."))
    tools = kit(model, done)
    responder = FlowResponder("default", flow(FLOW), lambda flow, turn: tools, store)
    async with house(Runtime(agents={"default": responder}, store=store)) as home:
        person = visit(home.url)
        seen = await person.say("order one")
        assert len(seen.asks) == 1
        assert done.names == ["find"]
        seen = await person.answer("red")
        assert len(seen.asks) == 1
        assert done.names == ["find"], "nothing is ordered before somebody agrees"
        seen = await person.answer(True)
        assert "It is ordered." in seen.text
    assert done.calls == [("find", {}), ("order", {"x": "red"})]
    assert model.asked[0].messages[-1].text == "Tell: red is ordered"


@pytest.mark.demand("flows.flow_responder_behind_door")
async def test_a_flow_that_fails_is_a_failed_run(visit: Callable[[str], Visit]) -> None:
    store = MemoryStore()
    broken = flow("name: f\ndescription: d\nsteps: [{name: start, call_type: gone}]")
    tools = kit(Lines(), Acts({}))
    responder = FlowResponder("default", broken, lambda flow, turn: tools, store)
    async with house(Runtime(agents={"default": responder}, store=store)) as home:
        seen = await visit(home.url).say("go")
        assert seen.error is not None


@pytest.mark.demand("flows.flow_tool_model_picks")
async def test_a_model_calls_a_flow_that_asks(visit: Callable[[str], Visit]) -> None:
    done, store = acts(), MemoryStore()
    model = Lines(calls(("order_flow", '{"request": "one please"}')), says("It is ordered."), says("All right."))
    tools = kit(model, done)
    tool = make_flow_tool("order_flow", flow(FLOW), lambda flow, turn: tools, lambda: store)
    runtime = Runtime(assistants=[Assistant("default", model, tools=(tool,))], store=store)
    async with house(runtime) as home:
        person = visit(home.url)
        assert len((await person.say("order one")).asks) == 1
        assert len((await person.answer("blue")).asks) == 1
        seen = await person.answer(True)
        assert "All right." in seen.text
    assert done.calls == [("find", {}), ("order", {"x": "blue"})]
    told = [message.text for message in model.asked[-1].messages if message.role == "tool"]
    assert told == ["It is ordered."], "what the flow says is the tool's result"
