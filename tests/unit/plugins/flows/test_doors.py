"""A question that one door asked is answered at another, after a restart in between."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.stores.sqlite import SQLiteStore
from tests.contract.doors.agui import AguiClient, CopilotKitAguiClient
from tests.kit.app_server import AppServer, FakeModel, reply_text, serve_runtime
from tests.unit.plugins.flows.conversations import RecordingTools, make_flow, make_services

pytestmark = pytest.mark.io

FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: find, next: which}
  - {name: which, call_type: ask, params: {question: "Which of the two?"}, next: order}
  - {name: order, call_type: order, params: {x: "{which}"}, next: tell}
  - {name: tell, call_type: llm}
"""


def open_kept_thread(url: str) -> AguiClient:
    return CopilotKitAguiClient(url, single=True)


@asynccontextmanager
async def serve_flow(folder: Path, recording: RecordingTools) -> AsyncIterator[AppServer]:
    store = SQLiteStore(folder)
    tools = make_services(FakeModel(reply_text("It is ordered.")), recording)
    responder = FlowResponder("default", make_flow(FLOW), lambda flow, turn: tools, store)
    async with serve_runtime(Runtime(agents={"default": responder}, store=store)) as home:
        yield home
    await store.close()


@pytest.mark.demand("flows.answer_resumes_minutes_restart")
@pytest.mark.parametrize(
    ("first", "second"), [(AguiClient, open_kept_thread), (open_kept_thread, AguiClient)], ids=["agui", "copilotkit"]
)
async def test_an_answer_at_another_door_after_a_restart(
    first: Callable[[str], AguiClient], second: Callable[[str], AguiClient], tmp_path: Path
) -> None:
    acts = RecordingTools({"find": lambda args: 2, "order": lambda args: f"{args['x']} is ordered"})
    async with serve_flow(tmp_path, acts) as home:
        here = first(home.url)
        assert len((await here.send_message("order one")).questions) == 1
    async with serve_flow(tmp_path, acts) as home:
        there = second(home.url)
        there.history, there.open = here.history, here.open
        assert (await there.answer_question("red")).text == "It is ordered."
    assert acts.calls == [("find", {}), ("order", {"x": "red"})]
