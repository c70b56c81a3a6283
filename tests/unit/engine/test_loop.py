"""The loop itself: rounds, order, errors that the model sees, history, roles."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Assistant, Message, Pause, Runtime, text_message, tool
from rightseat.types import chunks
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, RefusalChunk, TextChunk, UsageChunk
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallStart,
    Custom,
    Event,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnd,
    StepStart,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.messages import ToolCall
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.streams import closing
from rightseat.types.turn import AppContext, Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.engine.turns import list_call_results, list_error_codes, run_turn


@pytest.mark.demand("engine.several_server_calls_turn")
async def test_calls_of_one_turn_run_at_the_same_time_and_answer_in_order() -> None:
    order: list[str] = []
    met, over = asyncio.Barrier(2), asyncio.Event()

    @tool
    async def wait(name: str) -> str:
        await met.wait()  # a barrier of two: one after the other would never pass it
        if name == "first":
            await over.wait()
        order.append(name)
        over.set()
        return name

    model = FakeModel(reply_calls(("wait", '{"name":"first"}'), ("wait", '{"name":"second"}')), reply_text("ok"))
    events = await run_turn(Runtime(model=model, tools=[wait]))
    assert order == ["second", "first"]
    assert list_call_results(events) == ["first", "second"]


@pytest.mark.demand("engine.string_result_everything_else")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (42, "42"),
        (True, "true"),
        (None, ""),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ([], "[]"),
        (1.5, "1.5"),
    ],
)
async def test_what_a_tool_gives_back(value: Any, text: str) -> None:
    @tool
    def give() -> Any:
        return value

    events = await run_turn(Runtime(model=FakeModel(reply_calls(("give", "{}")), reply_text("ok")), tools=[give]))
    assert list_call_results(events) == [text]


@pytest.mark.demand("engine.bad_json_schema_violation")
async def test_every_bad_call_is_a_result_and_the_run_goes_on() -> None:
    @tool
    def boom() -> None:
        raise ValueError("kaboom")

    @tool(timeout=0.01)
    async def slow() -> None:
        await asyncio.sleep(60)

    @tool
    def add(a: int) -> int:
        return a

    bad = reply_calls(
        ("add", "{"), ("add", '{"a":"x"}'), ("nope", "{}"), ("boom", "{}"), ("slow", "{}"), ("add", "[1]")
    )
    model = FakeModel(bad, reply_text("sorry"))
    events = await run_turn(Runtime(model=model, tools=[boom, slow, add]))
    assert list_error_codes(events) == [
        "invalid_json",
        "invalid_arguments",
        "unknown_tool",
        "tool_failed",
        "timeout",
        "invalid_arguments",
    ]
    assert "kaboom" in list_call_results(events)[3]
    assert [m.text for m in model.prompts[1].messages if m.role == "tool"] == list_call_results(events)
    assert isinstance(events[-1], RunFinished)
    for message in model.prompts[1].messages:
        for call in message.calls:
            assert isinstance(json.loads(call.arguments), dict)


async def test_no_arguments_at_all_are_an_empty_object() -> None:
    @tool
    def ping() -> str:
        return "pong"

    events = await run_turn(
        Runtime(model=FakeModel(reply_calls(("ping", ""), ("ping", "null")), reply_text("ok")), tools=[ping])
    )
    assert list_call_results(events) == ["pong", "pong"]


@pytest.mark.demand("engine.limit_rounds_ends_clear")
async def test_rounds_are_limited_and_the_end_says_so() -> None:
    @tool
    def again() -> str:
        return "more"

    model = FakeModel(*[reply_calls(("again", "{}")) for _ in range(5)])
    assistant = Assistant("default", model, tools=(again,), rounds=3)
    events = await run_turn(Runtime(assistants=[assistant]))
    assert len(model.prompts) == 3
    last = events[-1]
    assert isinstance(last, RunFailed)
    assert last.code == "too_many_rounds"
    assert "3 rounds" in last.message


async def test_a_forced_choice_binds_only_the_first_round() -> None:
    @tool
    def ping() -> str:
        return "pong"

    model = FakeModel(reply_calls(("ping", "{}")), reply_text("ok"))
    await run_turn(Runtime(model=model, tools=[ping]), tool_choice=ToolChoice("required"))
    assert [prompt.tool_choice.mode for prompt in model.prompts] == ["required", "auto"]


async def test_with_choice_none_no_tool_is_offered() -> None:
    model = FakeModel(reply_text("ok"))
    await run_turn(Runtime(model=model), tools=(ToolSpec("x", "", {}),), tool_choice=ToolChoice("none"))
    assert model.prompts[0].tools == ()


async def test_a_clients_tool_never_shadows_the_servers() -> None:
    @tool
    def secret() -> str:
        return "server"

    model = FakeModel(reply_calls(("secret", "{}")), reply_text("ok"))
    spec = ToolSpec("secret", "mine", {"type": "object"})
    events = await run_turn(Runtime(model=model, tools=[secret]), tools=(spec,))
    assert list_call_results(events) == ["server"]


async def test_usage_is_of_the_whole_run() -> None:
    @tool
    def ping() -> str:
        return "pong"

    first: list[ModelChunk] = [*reply_calls(("ping", "{}"))[:-1], UsageChunk(Usage(5, 2)), FinishChunk("calls")]
    second: list[ModelChunk] = [TextChunk("ok"), UsageChunk(Usage(9, 1)), FinishChunk("stop")]
    events = await run_turn(Runtime(model=FakeModel(first, second), tools=[ping]))
    assert events[-1] == RunFinished("stop", Usage(14, 3))


@pytest.mark.demand("engine.assemble_py_opens_closes")
async def test_events_open_and_close() -> None:
    line: list[ModelChunk] = [
        ReasoningChunk("hm"),
        TextChunk("a"),
        TextChunk("b"),
        RefusalChunk("no"),
        FinishChunk("stop"),
    ]
    events = await run_turn(Runtime(model=FakeModel(line)))
    names = [type(event).__name__ for event in events]
    assert names == [
        "RunStarted",
        *("ReasoningStart", "ReasoningDelta", "ReasoningEnd"),
        *("TextStart", "TextDelta", "TextDelta", "TextEnd"),
        *("TextStart", "TextDelta", "TextEnd"),
        "RunFinished",
    ]
    starts = [event for event in events if isinstance(event, TextStart)]
    assert [start.refusal for start in starts] == [False, True]
    assert starts[0].id != starts[1].id


async def test_an_enforced_call_streams_its_arguments() -> None:
    pieces = [chunks.ToolCallArgs(0, '{"t":'), chunks.ToolCallArgs(0, "1}")]
    line: list[ModelChunk] = [chunks.ToolCallStart(0, "show", True), *pieces, FinishChunk("calls")]
    events = await run_turn(Runtime(model=FakeModel(line)), tools=(ToolSpec("show", "", {"type": "object"}),))
    kinds = [type(event) for event in events if isinstance(event, CallStart | CallArgs | CallEnd)]
    assert kinds == [CallStart, CallArgs, CallArgs, CallEnd]


@pytest.mark.demand("engine.assemble_py_opens_closes")
async def test_a_failure_closes_what_is_open() -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield ReasoningChunk("hm")
        yield TextChunk("half")
        raise RuntimeError("not one of ours")

    events = await run_turn(Runtime(model=FakeModel(fails)))
    assert isinstance(events[-2], TextEnd)
    failed = events[-1]
    assert isinstance(failed, RunFailed)
    assert failed.code == "internal"
    assert "not one of ours" not in failed.message


async def test_leaving_closes_the_model() -> None:
    closed: list[bool] = []

    async def speaks(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        try:
            yield TextChunk("a")
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    async with closing(Runtime(model=FakeModel(speaks)).run(Turn(messages=(text_message("user", "hi"),)))) as events:
        assert isinstance(await anext(events), RunStarted)
        assert isinstance(await anext(events), TextStart)
        assert closed == []
    assert closed == [True]


@pytest.mark.demand("engine.all_five_roles_door")
async def test_all_five_roles_reach_the_model_after_the_assistants_own_prompt() -> None:
    model = FakeModel(reply_text("ok"))
    call = Message("assistant", calls=(ToolCall("c1", "f", "{}"),))
    messages = (
        text_message("system", "s"),
        text_message("developer", "d"),
        text_message("user", "u"),
        call,
        text_message("tool", "r", call_id="c1"),
    )
    runtime = Runtime(model=model, system="own")
    await run_turn(runtime, messages=(*messages, text_message("user", "v")), context=(AppContext("page", "cart"),))
    told = [(message.role, message.text) for message in model.prompts[0].messages]
    assert told[:2] == [("system", "own"), ("system", "Context from the application:\n- page: cart")]
    assert told[2:] == [
        ("system", "s"),
        ("developer", "d"),
        ("user", "u"),
        ("assistant", ""),
        ("tool", "r"),
        ("user", "v"),
    ]


@pytest.mark.demand("engine.history_context_limit_cut")
async def test_a_long_history_is_cut_and_that_is_said() -> None:
    model = FakeModel(reply_text("ok"))
    old = [text_message("user", "old " * 200), text_message("assistant", "answer " * 200)] * 5
    assistant = Assistant("default", model, system="keep me", context=300)
    events = await run_turn(Runtime(assistants=[assistant]), messages=(*old, text_message("user", "new")))
    assert [message.text for message in model.prompts[0].messages] == ["keep me", "new"]
    [cut] = [event for event in events if isinstance(event, Custom)]
    assert cut == Custom("history_cut", {"dropped": 10, "context": 300})


@pytest.mark.demand("engine.history_context_limit_cut")
async def test_what_cannot_fit_is_refused_with_numbers() -> None:
    assistant = Assistant("default", FakeModel(), context=100)
    events = await run_turn(Runtime(assistants=[assistant]), messages=(text_message("user", "x" * 4000),))
    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "context_too_long"
    assert "75 tokens" in events[-1].message  # a quarter is left for the answer
    assert "1004" in events[-1].message


async def test_steps_of_a_tool_go_through() -> None:
    @tool
    async def work() -> AsyncIterator[Event]:
        yield StepStart("one")
        yield StepEnd("one")

    events = await run_turn(Runtime(model=FakeModel(reply_calls(("work", "{}")), reply_text("ok")), tools=[work]))
    assert [type(event) for event in events if isinstance(event, StepStart | StepEnd)] == [StepStart, StepEnd]
    assert list_call_results(events) == [""]


async def test_an_unknown_assistant_names_those_that_exist() -> None:
    events = await run_turn(Runtime(model=FakeModel()), assistant="nobody")
    failed = events[-1]
    assert isinstance(failed, RunFailed)
    assert failed.status == 404
    assert "default" in failed.message
    assert isinstance(events[0], RunStarted)


async def test_a_runs_deadline_ends_it_with_an_event() -> None:
    from rightseat.runtime.runs import RuntimeLimits

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield ReasoningChunk("hm")
        await asyncio.Event().wait()

    events = await run_turn(Runtime(model=FakeModel(waits), limits=RuntimeLimits(run_seconds=0.5)))
    assert any(isinstance(event, ReasoningDelta) for event in events)
    failed = events[-1]
    assert isinstance(failed, RunFailed)
    assert failed.code == "deadline"


async def test_draining_lets_runs_finish_then_fails_the_rest() -> None:
    begun = asyncio.Event()

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("x")
        begun.set()
        await asyncio.Event().wait()

    runtime = Runtime(model=FakeModel(waits))
    running = asyncio.create_task(run_turn(runtime))
    await begun.wait()
    await runtime.drain(0.01)
    failed = (await running)[-1]
    assert isinstance(failed, RunFailed)
    assert (failed.code, failed.retry_after) == ("restarting", 2)
    late = await run_turn(runtime)
    assert isinstance(late[-1], RunFailed)
    assert late[-1].status == 503


def test_a_sync_tool_runs_in_a_thread_of_its_own() -> None:
    @tool
    def where() -> str:
        time.sleep(0)
        return threading.current_thread().name

    events = asyncio.run(
        run_turn(Runtime(model=FakeModel(reply_calls(("where", "{}")), reply_text("ok")), tools=[where]))
    )
    assert list_call_results(events) == ["rightseat-tool"]


async def test_a_tool_that_cancels_itself_fails_and_the_run_goes_on() -> None:
    @tool
    async def slip() -> None:
        task = asyncio.create_task(asyncio.sleep(5))
        task.cancel()
        await task

    @tool
    async def nothing() -> AsyncIterator[Pause]:
        yield Pause(())

    model = FakeModel(reply_calls(("slip", "{}"), ("nothing", "{}")), reply_text("ok"))
    events = await run_turn(Runtime(model=model, tools=[slip, nothing]))
    assert list_error_codes(events) == ["tool_failed", "tool_failed"]
    assert isinstance(events[-1], RunFinished)
