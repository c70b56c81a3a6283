"""Flows that run: one step after the other, with what went before; errors, retries, limits."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from rightseat.plugins.flows.checkpoint import start_progress
from rightseat.plugins.flows.run import FlowRun, StepFailure
from rightseat.plugins.flows.step_context import StepOutput
from rightseat.types.chunks import FinishChunk, TextChunk, UsageChunk
from rightseat.types.events import Custom, RunFinished, StepEnd, StepStart, Suggestions, TextDelta, Usage
from rightseat.types.tools import Result
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.flows.conversations import (
    FlowConversation,
    RecordingTools,
    make_flow,
    make_services,
    open_conversation,
)

TWO = """
name: two
description: Finds hosts and tells of them.
steps:
  - {name: start, call_type: find, next: tell}
  - name: tell
    call_type: llm
    params: {system_prompt: S, user_prompt: "{question} about {data} and {start.hosts}"}
    next: end
  - {name: end, call_type: none}
"""


@pytest.mark.demand("flows.tool_lib_tool_name")
async def test_steps_run_in_their_order_and_the_last_one_speaks() -> None:
    acts = RecordingTools({"find": lambda args: {"hosts": ["a", "b"]}})
    play = open_conversation(TWO, acts, reply_text("Two ", "hosts."))
    assert await play.send("How many?") == []
    assert play.text == "Two hosts."
    assert acts.called_names == ["find"]
    assert [event.text for event in play.events if isinstance(event, TextDelta)] == ["Two ", "hosts."]
    model = play.services.model
    assert isinstance(model, FakeModel)
    asked = model.prompts[0].messages[-1].text
    assert asked.startswith("How many? about")
    assert '["a","b"]' in asked.replace(" ", "")
    assert isinstance(play.events[-1], RunFinished)
    assert play.events[-1].reason == "stop"


@pytest.mark.demand("flows.step_events_start_input")
async def test_each_step_is_told_with_input_output_progress_and_tokens() -> None:
    line = [TextChunk("Two"), UsageChunk(Usage(7, 3)), FinishChunk("stop")]
    play = open_conversation(TWO, RecordingTools({"find": lambda args: {"hosts": [1]}}), line)
    await play.send()
    names = [event.name for event in play.events if isinstance(event, StepStart | StepEnd)]
    assert names == ["start", "start", "tell", "tell"]
    told = [event.value for event in play.events if isinstance(event, Custom) and event.name == "flow_step"]
    assert [one["progress"] for one in told] == ["1/2", "1/2", "2/2", "2/2"]
    assert told[0]["input"] == {}
    assert told[1]["output"] == {"hosts": [1]}
    assert told[3]["usage"] == {"input": 7, "output": 3, "cached": 0, "cost": 0.0}
    assert play.events[-1] == RunFinished("stop", Usage(7, 3))


@pytest.mark.demand("flows.last_step_llm_model")
async def test_without_an_llm_at_the_end_the_model_answers_from_what_the_steps_gave() -> None:
    text = """
name: bare
description: Lists what is offline.
steps:
  - {name: start, call_type: find, next: end}
  - {name: end, call_type: none}
"""
    play = open_conversation(
        text, RecordingTools({"find": lambda args: {"offline": ["web7"]}}), reply_text("web7 is offline.")
    )
    await play.send("Who?")
    assert play.text == "web7 is offline."
    model = play.services.model
    assert isinstance(model, FakeModel)
    prompt = model.prompts[0].messages[-1].text
    assert "Who?" in prompt
    assert "web7" in prompt
    assert "Lists what is offline." in prompt


FAILING = """
name: f
description: d
on_error:
  call_type: llm
  params: {system_prompt: S, user_prompt: "It broke: {data}"}
steps:
  - {name: start, call_type: burn, next: after}
  - {name: after, call_type: find}
"""


def raise_os_error(args: dict[str, Any]) -> Any:
    raise OSError("no fuel at 42")


@pytest.mark.demand("flows.flow_error_gets_real")
async def test_on_error_gets_the_real_error() -> None:
    acts = RecordingTools({"burn": raise_os_error, "find": lambda args: 1})
    play = open_conversation(FAILING, acts, reply_text("Sorry: no fuel."))
    await play.send()
    assert play.text == "Sorry: no fuel."
    model = play.services.model
    assert isinstance(model, FakeModel)
    assert model.prompts[0].messages[-1].text == "It broke: OSError: no fuel at 42"
    assert acts.called_names == ["burn"]


@pytest.mark.demand("flows.flow_error_gets_real")
async def test_an_on_error_that_fails_too_ends_the_flow_with_both_errors() -> None:
    text = FAILING.replace("call_type: llm", "call_type: worse")
    text = text.replace('params: {system_prompt: S, user_prompt: "It broke: {data}"}', "params: {}")

    def worse(args: dict[str, Any]) -> Any:
        raise ValueError("and no water")

    play = open_conversation(text, RecordingTools({"burn": raise_os_error, "worse": worse, "find": lambda args: 1}))
    await play.send()
    assert play.failure is not None
    assert play.failure.code == "flow_failed"
    assert "'start'" in play.failure.message
    assert "no fuel at 42" in play.failure.message
    assert "and no water" in play.failure.message


@pytest.mark.demand("flows.flow_error_gets_real")
async def test_without_on_error_the_flow_fails_and_names_the_step() -> None:
    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: burn}]"
    play = open_conversation(text, RecordingTools({"burn": raise_os_error}))
    await play.send()
    assert play.failure is not None
    assert play.failure.message.startswith("The flow p/f failed at step 'start': OSError: no fuel at 42")


@pytest.mark.demand("flows.step_retry_timeout_error")
async def test_a_steps_own_on_error_comes_first_and_may_lead_back() -> None:
    text = """
name: f
description: d
on_error: {call_type: never}
steps:
  - name: start
    call_type: burn
    on_error: {call_type: spare, next: last}
    next: skipped
  - {name: skipped, call_type: never, next: last}
  - {name: last, call_type: keep, params: {x: "{data}"}}
"""
    acts = RecordingTools({"burn": raise_os_error, "spare": lambda args: "spare fuel", "keep": lambda args: args["x"]})
    play = open_conversation(text, acts, reply_text("ok"))
    await play.send()
    assert acts.calls == [("burn", {}), ("spare", {}), ("keep", {"x": "spare fuel"})]


@pytest.mark.demand("flows.step_retry_timeout_error")
@pytest.mark.slow
async def test_a_step_is_tried_again_as_often_as_it_says() -> None:
    tries: list[int] = []

    def flaky(args: dict[str, Any]) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return "there"

    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: flaky, retry: 2}]"
    acts = RecordingTools({"flaky": flaky})
    play = open_conversation(text, acts, reply_text("ok"))
    await play.send()
    assert play.failure is None
    assert len(tries) == 3
    assert len(set(acts.idempotency_keys)) == 1, "a peer must know the tries as one"


@pytest.mark.demand("flows.step_retry_timeout_error")
async def test_a_steps_timeout_is_its_error() -> None:
    text = """
name: f
description: d
steps: [{name: start, call_type: parallel, timeout: 0.05, params: {branches: {a: {call_type: slow}}}}]
"""
    made = make_flow(text)
    gone: list[str] = []

    async def call(args: dict[str, Any], ctx: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            gone.append("cancelled")
        yield None

    tool = RecordingTools({"slow": lambda args: 1}).make_tool("slow")
    stuck = make_services(FakeModel())
    play = FlowConversation(made, replace(stuck, scripts={"slow": replace(tool, call=call)}))
    await play.send()
    assert play.failure is not None
    assert "longer than 0.05 s" in play.failure.message
    assert gone == ["cancelled"]


@pytest.mark.demand("flows.step_limit_flow_timeout")
async def test_a_flow_has_a_step_limit_and_a_timeout() -> None:
    around = """
name: f
description: d
max_steps: 5
steps:
  - {name: start, call_type: find, next: more}
  - name: more
    call_type: choice
    params: {choices: [{step: start, when: {path: start, equals: 1}}, {step: end}]}
"""
    acts = RecordingTools({"find": lambda args: 1})
    play = open_conversation(around, acts)
    await play.send()
    assert play.failure is not None
    assert "after 5 steps" in play.failure.message
    assert len(acts.calls) == 3

    made = make_flow("name: f\ndescription: d\ntimeout: 0.05\nsteps: [{name: start, call_type: slow}]")

    async def call(args: dict[str, Any], ctx: Any) -> Any:
        await asyncio.Event().wait()
        yield None

    tool = replace(RecordingTools({"slow": lambda args: 1}).make_tool("slow"), call=call)
    stuck = FlowConversation(made, replace(make_services(FakeModel()), scripts={"slow": tool}))
    await stuck.send()
    assert stuck.failure is not None
    assert "took longer than 0.05 s" in stuck.failure.message
    assert "'start'" in stuck.failure.message


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_a_sub_flow_gives_its_last_output_and_may_speak() -> None:
    inner = make_flow(TWO)
    outer = make_flow(
        """
name: outer
description: d
steps:
  - {name: start, call_type: flow, params: {flow: two, question: "Really {question}"}, next: end}
  - {name: end, call_type: none}
"""
    )
    acts = RecordingTools({"find": lambda args: {"hosts": []}})
    play = FlowConversation(outer, make_services(FakeModel(reply_text("none")), acts, (inner, outer)))
    await play.send("who?")
    assert play.text == "none"
    model = play.services.model
    assert isinstance(model, FakeModel)
    assert model.prompts[0].messages[-1].text.startswith("Really who? about")


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_branches_run_at_the_same_time_and_are_joined() -> None:
    text = """
name: f
description: d
steps:
  - name: start
    call_type: parallel
    params:
      branches:
        left: {call_type: meet, params: {x: 1}}
        right:
          - {call_type: meet, params: {x: 2}}
          - {call_type: add, params: {x: "{data}"}}
    next: last
  - {name: last, call_type: keep, params: {x: "{start.left}", hosts: "{start.right}"}}
"""
    made = make_flow(text)
    both = asyncio.Barrier(2)

    async def meet(args: dict[str, Any], ctx: Any) -> Any:
        await asyncio.wait_for(both.wait(), HANG_TIMEOUT)
        yield Result(args["x"] * 10)

    acts = RecordingTools({"add": lambda args: args["x"] + 1, "keep": lambda args: args, "meet": lambda args: 0})
    tools = make_services(FakeModel(reply_text("ok")), acts)
    scripts = {**tools.scripts, "meet": replace(acts.make_tool("meet"), call=meet)}
    play = FlowConversation(made, replace(tools, scripts=scripts))
    await play.send()
    assert play.failure is None
    assert acts.calls == [("add", {"x": 20}), ("keep", {"x": 10, "hosts": 21})]


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_a_loop_goes_over_items_and_is_bounded() -> None:
    text = """
name: f
description: d
steps:
  - {name: start, call_type: find, next: each}
  - name: each
    call_type: loop
    params:
      over: "{start.hosts}"
      max: 3
      steps: [{call_type: ping, params: {x: "{item}", hosts: "{round}"}}]
    next: last
  - {name: last, call_type: keep, params: {x: "{each}"}}
"""
    acts = RecordingTools(
        {"find": lambda args: {"hosts": ["a", "b"]}, "ping": lambda args: f"{args['x']} is up", "keep": lambda args: 0}
    )
    play = open_conversation(text, acts, reply_text("ok"))
    await play.send()
    assert acts.calls[1:3] == [("ping", {"x": "a", "hosts": 1}), ("ping", {"x": "b", "hosts": 2})]
    assert acts.calls[3] == ("keep", {"x": ["a is up", "b is up"]})

    many = open_conversation(
        text, RecordingTools({"find": lambda args: {"hosts": list("abcd")}, "ping": lambda args: 1})
    )
    await many.send()
    assert many.failure is not None
    assert "at most 3 rounds" in many.failure.message


@pytest.mark.demand("flows.flow_sub_flow_parallel")
async def test_a_loop_ends_when_its_condition_holds() -> None:
    numbers = iter(range(10))
    text = """
name: f
description: d
steps:
  - name: start
    call_type: loop
    params: {max: 9, until: {path: data, above: 2}, steps: {call_type: count}}
"""
    acts = RecordingTools({"count": lambda args: next(numbers)})
    play = open_conversation(text, acts, reply_text("ok"))
    await play.send()
    assert acts.called_names == ["count"] * 4


@pytest.mark.parametrize("jump", ["end", "missing"])
async def test_a_jump_leads_only_to_steps_that_exist(jump: str) -> None:
    made = make_flow(TWO)

    async def note(progress: Any) -> None: ...

    play = FlowRun(made, make_services(FakeModel()), Turn(messages=()), start_progress(made, "q"), note, {}, None, True)
    found = play.validate_jump(StepOutput(jump=jump))
    assert isinstance(found, StepFailure) == (jump == "missing")


async def test_what_could_be_asked_next_is_suggested_after_the_answer() -> None:
    text = TWO + 'next_flow: [{flow: two, question: "And now?"}, {flow: gone, question: "Never"}]\n'
    play = open_conversation(text, RecordingTools({"find": lambda args: {"hosts": []}}), reply_text("None."))
    await play.send()
    assert play.events[-2:] == [Suggestions(("And now?",)), RunFinished("stop")]


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("odd", [Unprintable(), {"deep": [Unprintable()]}])
async def test_what_cannot_be_journalled_is_the_steps_failure(odd: Any) -> None:
    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: odd}]"
    play = open_conversation(text, RecordingTools({"odd": lambda args: odd}))
    await play.send()
    assert play.failure is not None
    assert "'start'" in play.failure.message


async def test_values_without_a_form_in_json_go_on_as_text() -> None:
    text = "name: f\ndescription: d\nsteps: [{name: start, call_type: odd, next: b}, {name: b, call_type: keep}]"
    when = datetime(2026, 1, 2, tzinfo=UTC)
    acts = RecordingTools({"odd": lambda args: {"x": when, "hosts": {1}}, "keep": lambda args: args})
    play = open_conversation(text, acts, reply_text("ok"))
    await play.send()
    assert acts.calls[1] == ("keep", {"x": "2026-01-02T00:00:00Z", "hosts": [1]})
