"""Flows that stop to ask, and go on with the answer: here, elsewhere, after a restart, and only once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.events import Interrupt, RunFinished, StepStart
from rightseat.types.tools import Ask, Pause
from rightseat.types.turn import InterruptAnswer, Owner
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.flows.conversations import (
    FlowConversation,
    RecordingTools,
    make_flow,
    make_services,
    open_conversation,
)

ASKING = """
name: f
description: d
steps:
  - {name: start, call_type: find, next: which}
  - {name: which, call_type: ask, params: {question: "Which of {data}?"}, next: use}
  - {name: use, call_type: use, params: {x: "{which}"}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{data}"}}
"""


def make_tools() -> RecordingTools:
    return RecordingTools({"find": lambda args: ["a", "b"], "use": lambda args: f"used {args['x']}"})


@pytest.mark.demand("flows.missing_parameters_confirmations_ask")
async def test_a_question_stops_the_flow_and_the_answer_goes_on() -> None:
    done = make_tools()
    play = open_conversation(ASKING, done, reply_text("Done."))
    (question,) = await play.send()
    assert (question.kind, question.message) == ("ask", 'Which of ["a","b"]?')
    assert play.events[-1] == RunFinished("interrupt")
    assert done.called_names == ["find"]
    assert await play.send("why", InterruptAnswer(question.id, payload="b")) == []
    assert play.text == "Done."
    assert done.calls == [("find", {}), ("use", {"x": "b"})]


@pytest.mark.demand("flows.answer_resumes_minutes_restart")
async def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    (question,) = await open_conversation(ASKING, make_tools(), store=store).send()
    await store.close()
    again = SQLiteStore(tmp_path)
    later = make_tools()
    play = open_conversation(ASKING, later, reply_text("Done."), store=again)
    assert await play.send("why", InterruptAnswer(question.id, payload="b")) == []
    await again.close()
    assert play.text == "Done."
    assert later.called_names == ["use"], "what was found before is not looked for again"


@pytest.mark.demand("flows.answer_resumes_minutes_restart")
async def test_an_answer_counts_once() -> None:
    play = open_conversation(ASKING, make_tools(), reply_text("Done."))
    (question,) = await play.send()
    await play.send("why", InterruptAnswer(question.id, payload="b"))
    await play.send("why", InterruptAnswer(question.id, payload="a"))
    assert play.failure is not None
    assert play.failure.code == "already_answered"


async def test_whoever_asks_again_takes_the_flow_over_and_the_old_question_is_void() -> None:
    done = make_tools()
    play = open_conversation(ASKING, done, reply_text("Done."))
    (old,) = await play.send()
    (new,) = await play.send()
    assert done.called_names == ["find"], "the step before the question is not run again"
    await play.send("why", InterruptAnswer(old.id, payload="a"))
    assert play.failure is not None
    assert play.failure.code == "already_answered"
    assert await play.send("why", InterruptAnswer(new.id, payload="b")) == []
    assert done.calls[-1] == ("use", {"x": "b"})


@pytest.mark.demand("flows.continuation_whose_flow_changed")
async def test_a_flow_that_has_changed_is_not_gone_on_with() -> None:
    play = open_conversation(ASKING, make_tools())
    (question,) = await play.send()
    play.flow = make_flow(ASKING.replace("call_type: use", "call_type: burn"))
    await play.send("why", InterruptAnswer(question.id, payload="b"))
    assert play.failure is not None
    assert play.failure.message == "The flow has changed since it asked. Please ask again from the start."


@pytest.mark.demand("flows.continuation_whose_flow_changed")
async def test_lines_that_move_do_not_change_a_flow() -> None:
    moved = make_flow("\n\n# a remark\n" + ASKING)
    assert moved.digest == make_flow(ASKING).digest
    assert moved.digest != make_flow(ASKING.replace("Which", "What")).digest


@pytest.mark.demand("flows.step_retry_timeout_error", "flows.missing_parameters_confirmations_ask")
async def test_a_step_that_wants_a_yes_runs_after_it_and_a_no_ends_the_flow() -> None:
    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: find, confirm: true}]"
    done = make_tools()
    play = open_conversation(text, done, reply_text("Done."))
    (question,) = await play.send()
    assert question.kind == "confirm"
    assert question.message == "Allow the step 'start' (find) of p/f?"
    assert done.called_names == []
    await play.send("why", InterruptAnswer(question.id, payload={"approved": True}))
    assert (done.called_names, play.text) == (["find"], "Done.")

    refused = open_conversation(text, (nothing := make_tools()))
    (question,) = await refused.send()
    await refused.send("why", InterruptAnswer(question.id, payload={"approved": False}))
    assert nothing.called_names == []
    assert refused.text == "The step 'start' was not allowed, so the flow p/f ends here."
    assert refused.events[-1] == RunFinished("stop")


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_options_are_a_form_and_an_odd_answer_is_asked_again() -> None:
    text = """
name: f
description: d
steps:
  - {name: start, call_type: ask, params: {question: Which?, options: [small, large]}, next: use}
  - {name: use, call_type: use, params: {x: "{start}"}}
"""
    done = make_tools()
    play = open_conversation(text, done, reply_text("ok"))
    (question,) = await play.send()
    assert question.kind == "form"
    assert question.schema["properties"]["answer"]["enum"] == ["small", "large"]
    (again,) = await play.send("why", InterruptAnswer(question.id, payload={"answer": "huge"}))
    assert again.message.startswith("Which?")
    await play.send("why", InterruptAnswer(again.id, text="large"))
    assert done.calls == [("use", {"x": "large"})]


async def test_whoever_does_not_answer_ends_it() -> None:
    play = open_conversation(ASKING, make_tools())
    (question,) = await play.send()
    await play.send("why", InterruptAnswer(question.id, status="cancelled"))
    assert play.text == "The flow ends here: its question was not answered."
    assert play.failure is None


async def test_whoever_does_not_answer_begins_anew_with_the_same_question() -> None:
    done = make_tools()
    play = open_conversation(ASKING.replace("call_type: find,", "call_type: find, repeatable: true,"), done)
    (question,) = await play.send()
    await play.send("why", InterruptAnswer(question.id, status="cancelled"))
    (again,) = await play.send()
    assert again.id != question.id
    assert done.called_names == ["find", "find"]


async def test_giving_up_an_old_question_leaves_a_run_that_has_gone_on() -> None:
    done = make_tools()
    play = open_conversation(ASKING, done)
    (old,) = await play.send()
    (new,) = await play.send()
    await play.send("why", InterruptAnswer(old.id, status="cancelled"))
    await play.send()
    assert done.called_names == ["find"]
    assert new.id != old.id


async def test_three_answers_of_no_use_end_it_in_words_for_the_person() -> None:
    text = """
name: f
description: d
steps: [{name: start, call_type: ask, params: {question: Which?, options: [small, large]}}]
"""
    play = open_conversation(text, make_tools())
    asked = await play.send()
    for _ in range(3):
        asked = await play.send("why", InterruptAnswer(asked[0].id, payload={"answer": "huge"}))
    assert asked == []
    assert play.text.startswith("The flow ends here: it has asked three times")
    assert play.failure is None


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_branches_ask_at_once_and_each_gets_its_own_answer() -> None:
    text = """
name: f
description: d
steps:
  - name: start
    call_type: parallel
    params:
      branches:
        one: [{call_type: ask, params: {question: First?}}, {call_type: use, params: {x: "{data}"}}]
        two: {call_type: find}
        three: [{call_type: ask, params: {question: Third?}}, {call_type: use, params: {x: "{data}"}}]
    next: last
  - {name: last, call_type: use, params: {x: "{start.one} and {start.three}"}}
"""
    done = make_tools()
    play = open_conversation(text, done, reply_text("ok"))
    first, third = await play.send()
    assert (first.message, third.message) == ("First?", "Third?")
    # A branch of one step is told by its own name, not as another "1".
    assert StepStart("two") in play.events
    assert done.called_names == ["find"]
    answers = (InterruptAnswer(third.id, payload="c"), InterruptAnswer(first.id, payload="a"))
    assert await play.send("why", *answers) == []
    assert done.called_names.count("find") == 1
    assert done.calls[-1] == ("use", {"x": "used a and used c"})


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_a_loop_asks_in_each_round() -> None:
    text = """
name: f
description: d
steps:
  - {name: start, call_type: find, next: each}
  - name: each
    call_type: loop
    params: {over: "{start}", steps: {call_type: ask, params: {question: "What of {item}?"}}}
    next: last
  - {name: last, call_type: use, params: {x: "{each}"}}
"""
    done = make_tools()
    play = open_conversation(text, done, reply_text("ok"))
    (first,) = await play.send()
    assert first.message == "What of a?"
    (second,) = await play.send("why", InterruptAnswer(first.id, payload="1"))
    assert second.message == "What of b?"
    assert await play.send("why", InterruptAnswer(second.id, payload="2")) == []
    assert done.calls == [("find", {}), ("use", {"x": ["1", "2"]})]


@pytest.mark.demand("flows.flow_sub_flow_parallel", "flows.continuation_whose_flow_changed")
async def test_a_sub_flow_asks_and_goes_on() -> None:
    inner = make_flow(ASKING.replace("name: f\n", "name: inner\n"))
    outer = make_flow("name: f\ndescription: d\nsteps: [{name: start, call_type: flow, params: {flow: inner}}]")
    done = make_tools()
    play = FlowConversation(outer, make_services(FakeModel(reply_text("Done.")), done, (inner, outer)))
    (question,) = await play.send()
    await play.send("why", InterruptAnswer(question.id, payload="b"))
    assert (done.called_names, play.text) == (["find", "use"], "Done.")

    changed = FlowConversation(outer, play.services)
    (question,) = await changed.send()
    other = make_flow(ASKING.replace("name: f\n", "name: inner\n").replace("Which", "What"))
    changed.services = replace(play.services, flows={**play.services.flows, "inner": other})
    await changed.send("why", InterruptAnswer(question.id, payload="b"))
    assert changed.failure is not None
    assert "has changed since it asked" in changed.failure.message


@pytest.mark.demand("flows.tool_lib_tool_name")
async def test_a_tool_that_asks_is_asked_for_in_the_flow() -> None:
    def picky(args: dict[str, Any]) -> Any:
        return Pause((Ask("Which size?"),), {"seen": 1})

    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: picky}]"
    play = open_conversation(text, RecordingTools({"picky": picky}))
    (question,) = await play.send()
    assert question.message == "Which size?"


@pytest.mark.demand("flows.params_never_shared_between")
@pytest.mark.parametrize("thread", ["t1", "other"])
async def test_only_the_same_owner_in_the_same_conversation_goes_on(thread: str) -> None:
    """What was left unfinished is found by owner, conversation and question together."""
    store = MemoryStore()
    mine = make_tools()
    await open_conversation(ASKING, mine, store=store).send()
    theirs = make_tools()
    stranger = open_conversation(ASKING, theirs, store=store, owner=Owner("you"), thread=thread)
    await stranger.send()
    assert theirs.called_names == ["find"], "another owner begins anew"
    if thread != "t1":
        same = make_tools()
        await open_conversation(ASKING, same, store=store, thread=thread).send()
        assert same.called_names == ["find"], "another conversation begins anew"


@pytest.mark.demand("flows.params_never_shared_between")
async def test_another_owners_answer_is_nobodys() -> None:
    store = MemoryStore()
    (question,) = await open_conversation(ASKING, make_tools(), store=store).send()
    other = open_conversation(ASKING, (done := make_tools()), store=store, owner=Owner("you"))
    await other.send("why", InterruptAnswer(question.id, payload="b"))
    assert other.failure is not None
    assert done.called_names == []
    assert isinstance(question, Interrupt)
