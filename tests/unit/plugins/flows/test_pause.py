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
from tests.kit.house import Lines, says
from tests.unit.plugins.flows.acting import Acts, Scene, flow, kit, scene

ASKING = """
name: f
description: d
steps:
  - {name: start, call_type: find, next: which}
  - {name: which, call_type: ask, params: {question: "Which of {data}?"}, next: use}
  - {name: use, call_type: use, params: {x: "{which}"}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{data}"}}
"""


def acts() -> Acts:
    return Acts({"find": lambda args: ["a", "b"], "use": lambda args: f"used {args['x']}"})


@pytest.mark.demand("flows.missing_parameters_confirmations_ask")
async def test_a_question_stops_the_flow_and_the_answer_goes_on() -> None:
    done = acts()
    play = scene(ASKING, done, says("Done."))
    (question,) = await play.ask()
    assert (question.kind, question.message) == ("ask", 'Which of ["a","b"]?')
    assert play.events[-1] == RunFinished("interrupt")
    assert done.names == ["find"]
    assert await play.ask("why", InterruptAnswer(question.id, payload="b")) == []
    assert play.text == "Done."
    assert done.calls == [("find", {}), ("use", {"x": "b"})]


@pytest.mark.demand("flows.answer_resumes_minutes_restart")
async def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    (question,) = await scene(ASKING, acts(), store=store).ask()
    await store.close()
    again = SQLiteStore(tmp_path)
    later = acts()
    play = scene(ASKING, later, says("Done."), store=again)
    assert await play.ask("why", InterruptAnswer(question.id, payload="b")) == []
    await again.close()
    assert play.text == "Done."
    assert later.names == ["use"], "what was found before is not looked for again"


@pytest.mark.demand("flows.answer_resumes_minutes_restart")
async def test_an_answer_counts_once() -> None:
    play = scene(ASKING, acts(), says("Done."))
    (question,) = await play.ask()
    await play.ask("why", InterruptAnswer(question.id, payload="b"))
    await play.ask("why", InterruptAnswer(question.id, payload="a"))
    assert play.failed is not None
    assert play.failed.code == "already_answered"


async def test_whoever_asks_again_takes_the_flow_over_and_the_old_question_is_void() -> None:
    done = acts()
    play = scene(ASKING, done, says("Done."))
    (old,) = await play.ask()
    (new,) = await play.ask()
    assert done.names == ["find"], "the step before the question is not run again"
    await play.ask("why", InterruptAnswer(old.id, payload="a"))
    assert play.failed is not None
    assert play.failed.code == "already_answered"
    assert await play.ask("why", InterruptAnswer(new.id, payload="b")) == []
    assert done.calls[-1] == ("use", {"x": "b"})


@pytest.mark.demand("flows.continuation_whose_flow_changed")
async def test_a_flow_that_has_changed_is_not_gone_on_with() -> None:
    play = scene(ASKING, acts())
    (question,) = await play.ask()
    play.flow = flow(ASKING.replace("call_type: use", "call_type: burn"))
    await play.ask("why", InterruptAnswer(question.id, payload="b"))
    assert play.failed is not None
    assert play.failed.message == "The flow has changed since it asked. Please ask again from the start."


@pytest.mark.demand("flows.continuation_whose_flow_changed")
async def test_lines_that_move_do_not_change_a_flow() -> None:
    moved = flow("\n\n# a remark\n" + ASKING)
    assert moved.digest == flow(ASKING).digest
    assert moved.digest != flow(ASKING.replace("Which", "What")).digest


@pytest.mark.demand("flows.step_retry_timeout_error", "flows.missing_parameters_confirmations_ask")
async def test_a_step_that_wants_a_yes_runs_after_it_and_a_no_ends_the_flow() -> None:
    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: find, confirm: true}]"
    done = acts()
    play = scene(text, done, says("Done."))
    (question,) = await play.ask()
    assert question.kind == "confirm"
    assert question.message == "Allow the step 'start' (find) of p/f?"
    assert done.names == []
    await play.ask("why", InterruptAnswer(question.id, payload={"approved": True}))
    assert (done.names, play.text) == (["find"], "Done.")

    refused = scene(text, (nothing := acts()))
    (question,) = await refused.ask()
    await refused.ask("why", InterruptAnswer(question.id, payload={"approved": False}))
    assert nothing.names == []
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
    done = acts()
    play = scene(text, done, says("ok"))
    (question,) = await play.ask()
    assert question.kind == "form"
    assert question.schema["properties"]["answer"]["enum"] == ["small", "large"]
    (again,) = await play.ask("why", InterruptAnswer(question.id, payload={"answer": "huge"}))
    assert again.message.startswith("Which?")
    await play.ask("why", InterruptAnswer(again.id, text="large"))
    assert done.calls == [("use", {"x": "large"})]


async def test_whoever_does_not_answer_ends_it() -> None:
    play = scene(ASKING, acts())
    (question,) = await play.ask()
    await play.ask("why", InterruptAnswer(question.id, status="cancelled"))
    assert play.text == "The flow ends here: its question was not answered."
    assert play.failed is None


async def test_whoever_does_not_answer_begins_anew_with_the_same_question() -> None:
    done = acts()
    play = scene(ASKING, done)
    (question,) = await play.ask()
    await play.ask("why", InterruptAnswer(question.id, status="cancelled"))
    (again,) = await play.ask()
    assert again.id != question.id
    assert done.names == ["find", "find"]


async def test_giving_up_an_old_question_leaves_a_run_that_has_gone_on() -> None:
    done = acts()
    play = scene(ASKING, done)
    (old,) = await play.ask()
    (new,) = await play.ask()
    await play.ask("why", InterruptAnswer(old.id, status="cancelled"))
    await play.ask()
    assert done.names == ["find"]
    assert new.id != old.id


async def test_three_answers_of_no_use_end_it_in_words_for_the_person() -> None:
    text = """
name: f
description: d
steps: [{name: start, call_type: ask, params: {question: Which?, options: [small, large]}}]
"""
    play = scene(text, acts())
    asked = await play.ask()
    for _ in range(3):
        asked = await play.ask("why", InterruptAnswer(asked[0].id, payload={"answer": "huge"}))
    assert asked == []
    assert play.text.startswith("The flow ends here: it has asked three times")
    assert play.failed is None


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
    done = acts()
    play = scene(text, done, says("ok"))
    first, third = await play.ask()
    assert (first.message, third.message) == ("First?", "Third?")
    # A branch of one step is told by its own name, not as another "1".
    assert StepStart("two") in play.events
    assert done.names == ["find"]
    answers = (InterruptAnswer(third.id, payload="c"), InterruptAnswer(first.id, payload="a"))
    assert await play.ask("why", *answers) == []
    assert done.names.count("find") == 1
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
    done = acts()
    play = scene(text, done, says("ok"))
    (first,) = await play.ask()
    assert first.message == "What of a?"
    (second,) = await play.ask("why", InterruptAnswer(first.id, payload="1"))
    assert second.message == "What of b?"
    assert await play.ask("why", InterruptAnswer(second.id, payload="2")) == []
    assert done.calls == [("find", {}), ("use", {"x": ["1", "2"]})]


@pytest.mark.demand("flows.flow_sub_flow_parallel", "flows.continuation_whose_flow_changed")
async def test_a_sub_flow_asks_and_goes_on() -> None:
    inner = flow(ASKING.replace("name: f\n", "name: inner\n"))
    outer = flow("name: f\ndescription: d\nsteps: [{name: start, call_type: flow, params: {flow: inner}}]")
    done = acts()
    play = Scene(outer, kit(Lines(says("Done.")), done, (inner, outer)))
    (question,) = await play.ask()
    await play.ask("why", InterruptAnswer(question.id, payload="b"))
    assert (done.names, play.text) == (["find", "use"], "Done.")

    changed = Scene(outer, play.kit)
    (question,) = await changed.ask()
    other = flow(ASKING.replace("name: f\n", "name: inner\n").replace("Which", "What"))
    changed.kit = replace(play.kit, flows={**play.kit.flows, "inner": other})
    await changed.ask("why", InterruptAnswer(question.id, payload="b"))
    assert changed.failed is not None
    assert "The flow has changed" in changed.failed.message


@pytest.mark.demand("flows.tool_lib_tool_name")
async def test_a_tool_that_asks_is_asked_for_in_the_flow() -> None:
    def picky(args: dict[str, Any]) -> Any:
        return Pause((Ask("Which size?"),), {"seen": 1})

    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: picky}]"
    play = scene(text, Acts({"picky": picky}))
    (question,) = await play.ask()
    assert question.message == "Which size?"


@pytest.mark.demand("flows.params_never_shared_between")
@pytest.mark.parametrize("thread", ["t1", "other"])
async def test_only_the_same_owner_in_the_same_conversation_goes_on(thread: str) -> None:
    """What was left unfinished is found by owner, conversation and question together."""
    store = MemoryStore()
    mine = acts()
    await scene(ASKING, mine, store=store).ask()
    theirs = acts()
    stranger = scene(ASKING, theirs, store=store, owner=Owner("you"), thread=thread)
    await stranger.ask()
    assert theirs.names == ["find"], "another owner begins anew"
    if thread != "t1":
        same = acts()
        await scene(ASKING, same, store=store, thread=thread).ask()
        assert same.names == ["find"], "another conversation begins anew"


@pytest.mark.demand("flows.params_never_shared_between")
async def test_another_owners_answer_is_nobodys() -> None:
    store = MemoryStore()
    (question,) = await scene(ASKING, acts(), store=store).ask()
    other = scene(ASKING, (done := acts()), store=store, owner=Owner("you"))
    await other.ask("why", InterruptAnswer(question.id, payload="b"))
    assert other.failed is not None
    assert done.names == []
    assert isinstance(question, Interrupt)
