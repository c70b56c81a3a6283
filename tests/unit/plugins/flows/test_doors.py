"""A question that one door asked is answered at another, after a restart in between."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.stores.sqlite import SQLiteStore
from tests.contract.doors.agui import AgUi, KeptThread
from tests.kit.house import House, Lines, house, says
from tests.unit.plugins.flows.acting import Acts, flow, kit

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


def kept(url: str) -> AgUi:
    return KeptThread(url, single=True)


@asynccontextmanager
async def serving(folder: Path, acts: Acts) -> AsyncIterator[House]:
    store = SQLiteStore(folder)
    tools = kit(Lines(says("It is ordered.")), acts)
    responder = FlowResponder("default", flow(FLOW), lambda flow, turn: tools, store)
    async with house(Runtime(agents={"default": responder}, store=store)) as home:
        yield home
    await store.close()


@pytest.mark.demand("flows.answer_resumes_minutes_restart")
@pytest.mark.parametrize(("first", "second"), [(AgUi, kept), (kept, AgUi)], ids=["agui", "copilotkit"])
async def test_an_answer_at_another_door_after_a_restart(
    first: Callable[[str], AgUi], second: Callable[[str], AgUi], tmp_path: Path
) -> None:
    acts = Acts({"find": lambda args: 2, "order": lambda args: f"{args['x']} is ordered"})
    async with serving(tmp_path, acts) as home:
        here = first(home.url)
        assert len((await here.say("order one")).asks) == 1
    async with serving(tmp_path, acts) as home:
        there = second(home.url)
        there.history, there.open = here.history, here.open
        assert (await there.answer("red")).text == "It is ordered."
    assert acts.calls == [("find", {}), ("order", {"x": "red"})]
