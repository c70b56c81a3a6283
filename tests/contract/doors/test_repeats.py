"""What runs once through every door: while a question waits, after the end, and asked for again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import read_plugin
from rightseat.stores.memory import MemoryStore
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, serve_runtime
from tests.unit.plugins.flows.conversations import make_flow, write_plugin_folder
from tests.unit.plugins.http.plugin_values import LOCAL_POLICY
from tests.unit.plugins.runtime.api_plugins import RecordingJsonApi, serve_json_api

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
API = """
openapi: 3.0.0
info: {version: 1.0.0, title: t}
servers: [{url: "URL"}]
paths:
  /orders:
    post: {description: d, responses: {"200": {description: ok}}}
    delete: {description: d, x-dangerous: true, responses: {"200": {description: ok}}}
"""
FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: drop}
  - {name: drop, call_type: api, params: {endpoint: DELETE /orders}, next: tell}
  - {name: tell, call_type: none, params: {say: {en: "It is ordered.", zh: "已下单。"}}}
"""
TEXT_MEMBERS = ("openai-streamed", "openai-whole", "openbb-today", "openbb-2024")
AGAIN = "Run it again?"


@dataclass
class ServedFlow:
    url: str
    api: RecordingJsonApi

    @property
    def counts(self) -> tuple[int, int]:
        """How many orders were placed, and how many dropped."""
        methods = [request.partition(" ")[0] for request in self.api.requests]
        return methods.count("POST"), methods.count("DELETE")


@asynccontextmanager
async def serve_order_flow(folder: Path) -> AsyncIterator[ServedFlow]:
    """A flow that places an order and asks before it drops another, at an API that counts."""
    async with serve_json_api(b'{"id": 1}') as api:
        plugin = read_plugin(write_plugin_folder(folder / "p", openapi=API.replace("URL", api.url)))
        tools = make_operation_tools(plugin, LOCAL_POLICY)
        operations = {operation.id: tool for operation, tool in zip(plugin.operations, tools, strict=True)}
        services = FlowServices(model=FakeModel(), operations=operations, scripts={}, flows={}, databases={})
        store = MemoryStore()
        responder = FlowResponder("default", make_flow(FLOW), lambda flow, turn: services, store)
        async with serve_runtime(Runtime(agents={"default": responder}, store=store)) as home:
            yield ServedFlow(home.url, api)
        for tool in tools:
            if tool.close is not None:
                await tool.close()


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.finished_step_never_again")
@pytest.mark.parametrize(
    ("request_text", "texts", "hint", "answer", "end"),
    [
        (
            "order one",
            ("what is p-001?", "yes but only two", "thanks!", "order one"),
            "reply yes or no",
            "Yes please, go ahead",
            "It is ordered.",
        ),
        ("订一个", ("p-001 是什么？", "好吧，但是只要两个", "谢谢"), "请回复“是”或“否”", "好的，执行吧", "已下单。"),
    ],
    ids=["en", "zh"],
)
async def test_text_that_is_no_answer_gets_the_question_again(
    make_client: Callable[[str], DoorClient],
    tmp_path: Path,
    request_text: str,
    texts: tuple[str, ...],
    hint: str,
    answer: str,
    end: str,
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        [question] = (await person.send_message(request_text)).questions
        for text in texts:
            [repeated] = (await person.send_message(text)).questions
            assert question["message"].splitlines()[0] in repeated["message"]
            assert hint in repeated["message"]
            assert flow.counts == (1, 0)
        seen = await person.send_message(answer)
        assert (seen.questions, seen.error) == ([], None)
        assert end in seen.text
    assert flow.counts == (1, 1)


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.how_people_say_yes")
@pytest.mark.parametrize("text", ["No, thanks", "cancel that", "不用了"])
async def test_a_no_in_words_ends_the_flow(
    make_client: Callable[[str], DoorClient], tmp_path: Path, text: str
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        seen = await person.send_message(text)
        assert (seen.questions, seen.error) == ([], None)
    assert flow.counts == (1, 0)


@pytest.mark.demand("approvals.words_that_ask_nothing", "approvals.finished_step_never_again")
async def test_after_the_end_words_that_ask_for_nothing_run_nothing(
    make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        assert "It is ordered." in (await person.send_message("yes")).text
        for text in ("thanks!", "yes", "ok", "great", "Yes please, go ahead", "谢谢"):
            seen = await person.send_message(text)
            assert (seen.questions, seen.error) == ([], None)
            assert seen.text
            assert flow.counts == (1, 1)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_the_same_request_again_is_asked_about(
    make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        await person.answer_question(True)
        [question] = (await person.send_message("Order one!")).questions
        assert AGAIN in question["message"]
        seen = await person.answer_question(False)
        assert (seen.questions, seen.error) == ([], None)
        assert flow.counts == (1, 1)
        for text in ("order one", "run it"):
            [question] = (await person.send_message(text)).questions
            assert AGAIN in question["message"]
            await person.answer_question(False)
        assert flow.counts == (1, 1)
        await person.send_message("order one")
        [question] = (await person.send_message("yes, run it again")).questions
        assert AGAIN not in question["message"]
        assert flow.counts == (2, 1)
        seen = await person.answer_question(True)
        assert "It is ordered." in seen.text
    assert flow.counts == (2, 2)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_another_request_and_a_regenerated_one_run(
    make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        await person.answer_question(True)
        [question] = (await person.send_message("order two")).questions
        assert AGAIN not in question["message"]
        await person.answer_question(True)
        assert flow.counts == (2, 2)
        place = next(n for n, message in enumerate(person.history) if "order two" in str(message))
        del person.history[place + 1 :]
        [question] = (await person.send_history()).questions
        assert AGAIN not in question["message"]
        assert flow.counts == (3, 2)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_yes_twice_at_once_counts_once(
    member: str, make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        first, second = make_client(flow.url), make_client(flow.url)
        await first.send_message("order one")
        second.history = list(first.history)
        both = await asyncio.gather(first.send_message("yes"), second.send_message("yes"))
        assert flow.counts == (1, 1)
        assert any("It is ordered." in seen.text for seen in both)
        await second.send_message("yes")
    assert flow.counts == (1, 1)
