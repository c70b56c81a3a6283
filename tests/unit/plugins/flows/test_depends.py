"""What a waiting flow depends on: the tool that its open call names, in nested steps too, and its sub-flows."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from rightseat.plugins.flows.step_context import FlowServices
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, ToolContext
from rightseat.types.turn import InterruptAnswer
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.flows.conversations import FlowConversation, RecordingTools, make_flow, make_services

CONFIRMED = """
name: f
description: d
steps:
  - {name: start, call_type: place, next: drop}
  - {name: drop, call_type: drop, params: {x: 1}, STEP}
"""
LOOP = """
name: f
description: d
steps:
  - {name: start, call_type: place, next: each}
  - {name: each, call_type: loop, params: {max: 1, steps: [{name: drop, call_type: drop, params: {x: 1}, STEP}]}}
"""
PARALLEL = """
name: f
description: d
steps:
  - {name: start, call_type: place, next: both}
  - {name: both, call_type: parallel, params: {branches: {one: {call_type: drop, params: {x: 1}, STEP}}}}
"""
OUTER = """
name: f
description: d
steps:
  - {name: start, call_type: place, next: inner}
  - {name: inner, call_type: flow, params: {flow: sub}}
"""
SUB = """
name: sub
description: d
steps:
  - {name: start, call_type: drop, params: {x: 1}, STEP}
"""
CHANGED = "calls has changed since it asked. Ask again: finished steps are not repeated."


def make_tools() -> RecordingTools:
    return RecordingTools({"place": lambda args: "placed", "drop": lambda args: "dropped"})


def change_tool(services: FlowServices, tool: str, /, **changes: Any) -> FlowServices:
    """Return the services with another version of a tool."""
    tools = {**services.scripts, tool: replace(services.scripts[tool], **changes)}
    return replace(services, scripts=tools, operations=tools)


def open_flow(text: str, tools: RecordingTools, step: str, **changes: Any) -> FlowConversation:
    flow, sub = (make_flow(part.replace("STEP", step)) for part in (text, SUB))
    services = make_services(FakeModel(*[reply_text("Done.")] * 3), tools, (flow, sub))
    return FlowConversation(flow, change_tool(services, "drop", **changes))


async def cut_off_drop(play: FlowConversation, *answers: InterruptAnswer) -> None:
    """Run until the tool `drop` is called, and leave in the middle of that call."""
    started, services = asyncio.Event(), play.services

    async def hang(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        started.set()
        await asyncio.Event().wait()
        yield Result()

    play.services = change_tool(services, "drop", call=hang)
    running = asyncio.create_task(play.send("why", *answers))
    await asyncio.wait_for(started.wait(), HANG_TIMEOUT)
    running.cancel()
    await asyncio.wait([running])
    play.services = services


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
@pytest.mark.parametrize("text", [CONFIRMED, LOOP, PARALLEL, OUTER])
@pytest.mark.parametrize(("step", "changes"), [("confirm: true", {}), ("confirm: false", {"confirm": True})])
async def test_an_answer_is_refused_once_the_called_tool_has_changed(
    text: str, step: str, changes: dict[str, Any]
) -> None:
    tools = make_tools()
    play = open_flow(text, tools, step, **changes)
    (question,) = await play.send()
    play.services = change_tool(change_tool(play.services, "place", fingerprint="2"), "drop", fingerprint="2")
    await play.send("why", InterruptAnswer(question.id, payload={"approved": True}))
    assert play.failure is not None
    assert play.failure.message.endswith(CHANGED)
    assert tools.called_names == ["place"]

    (again,) = await play.send()
    assert await play.send("why", InterruptAnswer(again.id, payload={"approved": True})) == []
    assert tools.called_names == ["place", "drop"]


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
@pytest.mark.parametrize("text", [CONFIRMED, LOOP, PARALLEL, OUTER])
async def test_another_tool_may_change(text: str) -> None:
    tools = make_tools()
    play = open_flow(text, tools, "confirm: true")
    (question,) = await play.send()
    play.services = change_tool(play.services, "place", fingerprint="2")
    assert await play.send("why", InterruptAnswer(question.id, payload={"approved": True})) == []
    assert (tools.called_names, play.failure) == (["place", "drop"], None)


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
async def test_who_asks_again_after_a_change_gets_the_question_of_the_new_tool() -> None:
    tools = make_tools()
    play = open_flow(CONFIRMED, tools, "confirm: false", confirm=True)
    (old,) = await play.send()
    play.services = change_tool(play.services, "drop", name="erase")
    (new,) = await play.send()
    assert ("drop" in old.message, "erase" in new.message) == (True, True)
    assert tools.called_names == ["place"]
    assert await play.send("why", InterruptAnswer(new.id, payload={"approved": True})) == []
    assert tools.called_names == ["place", "drop"]


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
async def test_a_tool_that_is_gone_is_not_called() -> None:
    tools = make_tools()
    play = open_flow(CONFIRMED, tools, "confirm: true")
    (question,) = await play.send()
    play.services = replace(play.services, scripts={"place": play.services.scripts["place"]})
    await play.send("why", InterruptAnswer(question.id, payload={"approved": True}))
    assert play.failure is not None
    assert play.failure.message.endswith(CHANGED)
    assert tools.called_names == ["place"]


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
@pytest.mark.parametrize(("then", "dropped"), [("retry", [("drop", {"x": 2})]), ("skip", []), ("stop", [])])
async def test_a_changed_sub_flow_begins_again_only_if_the_person_says_so(then: str, dropped: list[Any]) -> None:
    tools = make_tools()
    play = open_flow(OUTER, tools, "confirm: true")
    (question,) = await play.send()
    changed = make_flow(SUB.replace("x: 1", "x: 2").replace("STEP", "confirm: true"))
    play.services = replace(play.services, flows={**play.services.flows, "sub": changed, "p/sub": changed})
    await play.send("why", InterruptAnswer(question.id, payload={"approved": True}))
    assert play.failure is not None
    assert play.failure.message.endswith(CHANGED)
    (rerun,) = await play.send()
    assert "'inner' (flow sub) of p/f: it may have run" in rerun.message
    questions = await play.send("why", InterruptAnswer(rerun.id, payload={"then": then}))
    for question in questions:
        await play.send("why", InterruptAnswer(question.id, payload={"approved": True}))
    assert len(questions) == len(dropped)
    assert tools.calls == [("place", {}), *dropped]


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
async def test_an_approved_call_that_was_cut_off_is_asked_about_before_the_changed_tool_runs() -> None:
    tools = make_tools()
    play = open_flow(CONFIRMED, tools, "confirm: true")
    (question,) = await play.send()
    await cut_off_drop(play, InterruptAnswer(question.id, payload={"approved": True}))
    play.services = change_tool(play.services, "drop", fingerprint="2")
    (rerun,) = await play.send()
    assert "'drop' (drop) of p/f: it may have run" in rerun.message
    (confirmed,) = await play.send("why", InterruptAnswer(rerun.id, payload={"then": "retry"}))
    assert confirmed.message == question.message, "the old approval was for the old tool"
    assert await play.send("why", InterruptAnswer(confirmed.id, payload={"approved": True})) == []
    assert tools.called_names == ["place", "drop"]


@pytest.mark.demand("flows.waiting_flow_depends_on_its_own")
async def test_a_sub_flow_that_was_cut_off_and_has_changed_is_asked_about() -> None:
    tools = make_tools()
    play = open_flow(OUTER, tools, "confirm: false")
    await cut_off_drop(play)
    changed = make_flow(SUB.replace("x: 1", "x: 2").replace("STEP", "confirm: false"))
    play.services = replace(play.services, flows={**play.services.flows, "sub": changed, "p/sub": changed})
    (rerun,) = await play.send()
    assert "'inner' (flow sub) of p/f: it may have run" in rerun.message
    assert tools.called_names == ["place"]
    assert await play.send("why", InterruptAnswer(rerun.id, payload={"then": "retry"})) == []
    assert tools.calls[1:] == [("drop", {"x": 2})]
