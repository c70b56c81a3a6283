"""Sentences of the server through every door: in Chinese where the person writes Chinese."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from rightseat import Runtime, tool
from rightseat.engine.loop import Assistant
from rightseat.plugins.flows.responder import FlowResponder, make_flow_tool
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.stores.memory import MemoryStore
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.plugins.flows.conversations import RecordingTools, make_flow, make_services
from tests.unit.plugins.http.plugin_values import LOCAL_POLICY, make_object_body, make_operation, make_plugin

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
TEXT_MEMBERS = ("openai-streamed", "openai-whole", "openbb-today", "openbb-2024")


class Phrases(NamedTuple):
    """A person's message, and what the server says in its language."""

    said: str
    approval: str
    values: str
    step: str
    which: str
    hint: str
    denied: str


CASES = [
    Phrases(
        "取消订单 A7",
        '是否允许执行 cancel，参数为 {"order":"A7"}？',
        "ticket 还需要：host。请问应填写什么？",
        "是否允许执行 p/f 的步骤 'order' (order)？",
        "要哪一个？",
        "请回复“是”或“否”。",
        "步骤 'order' 没有得到允许，流程 p/f 到此结束。",
    ),
    Phrases(
        "cancel order A7",
        'Allow cancel with {"order":"A7"}?',
        "ticket needs host. Which value shall it have?",
        "Allow the step 'order' (order) of p/f?",
        "Which one?",
        "Reply yes or no.",
        "The step 'order' was not allowed, so the flow p/f ends here.",
    ),
]
FLOW_YAML = """
name: f
description: Orders what the person wants.
steps:
  - {name: start, call_type: ask, params: {question: {en: "Which one?", zh: "要哪一个？"}}, next: order}
  - {name: order, call_type: order, params: {x: "{start}"}, confirm: true}
"""


@tool(confirm=True)
def cancel(order: str) -> str:
    """Cancel an order."""
    return f"{order} cancelled"


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


@pytest.mark.demand("language.sentences_in_persons_language")
@pytest.mark.parametrize("phrases", CASES, ids=["zh", "en"])
async def test_an_approval_and_a_missing_value_are_asked_in_the_person_s_language(
    make_client: Callable[[str], DoorClient], member: str, phrases: Phrases
) -> None:
    body = make_object_body("application/json", ["host"], host={"type": "string"})
    operations = make_operation_tools(
        make_plugin(make_operation("POST", "/x", body=body, url="http://127.0.0.1:9", name="ticket")), LOCAL_POLICY
    )
    calls = [("cancel", '{"order": "A7"}'), (operations[0].name, "{}")]
    for call, expected in zip(calls, (phrases.approval, phrases.values), strict=True):
        model = FakeModel(reply_calls(call))
        async with serve_runtime(Runtime(model=model, tools=[cancel, *operations])) as home:
            [question] = (await make_client(home.url).send_message(phrases.said)).questions
        assert expected in question["message"]
        is_hinted = member in TEXT_MEMBERS and expected is phrases.approval
        assert (phrases.hint in question["message"]) is is_hinted


@pytest.mark.demand("language.sentences_in_persons_language")
@pytest.mark.parametrize("phrases", CASES, ids=["zh", "en"])
async def test_a_flow_asks_and_ends_in_the_person_s_language(
    make_client: Callable[[str], DoorClient], phrases: Phrases
) -> None:
    store = MemoryStore()
    services = make_services(FakeModel(), RecordingTools({"order": lambda args: "ordered"}))
    responder = FlowResponder("default", make_flow(FLOW_YAML), lambda flow, turn: services, store)
    async with serve_runtime(Runtime(agents={"default": responder}, store=store)) as home:
        person = make_client(home.url)
        [question] = (await person.send_message(phrases.said)).questions
        assert phrases.which in question["message"]
        [question] = (await person.answer_question("红色" if phrases.said[0] == "取" else "red")).questions
        assert phrases.step in question["message"]
        seen = await person.answer_question(False)
    assert phrases.denied in seen.text


@pytest.mark.demand("language.sentences_in_persons_language")
async def test_a_flow_as_a_tool_asks_in_the_language_of_the_person_not_of_the_model(
    make_client: Callable[[str], DoorClient],
) -> None:
    store = MemoryStore()
    model = FakeModel(reply_calls(("order_flow", '{"request": "one please"}')), reply_text("好。"))
    services = make_services(model, RecordingTools({"order": lambda args: "ordered"}))
    flow_tool = make_flow_tool("order_flow", make_flow(FLOW_YAML), lambda flow, turn: services, lambda: store)
    runtime = Runtime(assistants=[Assistant("default", model, tools=(flow_tool,))], store=store)
    async with serve_runtime(runtime) as home:
        [question] = (await make_client(home.url).send_message("我要订货")).questions
    assert "要哪一个？" in question["message"]
