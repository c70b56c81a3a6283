"""The library's Runtime: `async with`, `ask` and `stream`."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import rightseat
from rightseat import Message, Owner, ToolContext, Turn, text_message
from rightseat.errors import (
    INTERNAL_ERROR,
    ConfigError,
    ContinuationGone,
    Misused,
    NotFound,
    RightseatError,
    UpstreamBusy,
)
from rightseat.runtime.runs import RunSupervisor, RuntimeLimits
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.testing import ScriptedModel
from rightseat.types.events import CallResult, Event, RunFailed, RunFinished, RunStarted, TextDelta, Usage
from rightseat.types.model import ToolSpec
from rightseat.types.turn import InterruptAnswer
from rightseat.wiring.runtime import Runtime
from tests.kit.waiting import wait_until

CALL = ("pay", {"to": "ACME"})


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@rightseat.tool(confirm=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@rightseat.tool
def travel(context: ToolContext) -> str:
    """Ask where to go."""
    return f"off to {context.ask('Where to?')}"


async def test_a_model_may_be_a_spec(tmp_path: Path) -> None:
    script = tmp_path / "talk.json"
    script.write_text('{"turns": [{"say": "You said {user}", "usage": {"input": 3, "output": 2}}]}')
    async with Runtime(model=f"scripted:{script}") as runtime:
        answer = await runtime.ask("hi")
    assert (answer.text, answer.reason) == ("You said hi", "stop")
    assert answer.usage == Usage(3, 2)
    assert runtime.get_model(None).info.provider == "scripted"  # type: ignore[union-attr]


@pytest.mark.parametrize("spec", ["opnai:gpt", "nothing"])
def test_a_spec_that_is_none_is_told(spec: str) -> None:
    with pytest.raises(ConfigError, match="Known: local"):
        Runtime(model=spec)


async def test_ask_tells_text_calls_and_events() -> None:
    model = ScriptedModel([("add", {"a": 2, "b": 3}), ("add", {"a": "x"})], "5.")
    async with Runtime(model=model, tools=[add], system="Be short.") as runtime:
        answer = await runtime.ask("2 + 3?")
    good, bad = answer.tool_calls
    assert (good.name, good.arguments, good.result, good.failed) == ("add", {"a": 2, "b": 3}, "5", False)
    assert bad.failed
    assert (answer.text, answer.interrupts, answer.pending) == ("5.", (), ())
    assert isinstance(answer.events[0], RunStarted)
    assert answer.thread == answer.events[0].thread
    assert [message.role for message in answer.messages][:2] == ["user", "assistant"]
    assert model.prompts[0].messages[0].text == "Be short."


async def test_a_thread_goes_on_and_owners_do_not_meet() -> None:
    model = ScriptedModel("Shipped.", "Also shipped.", "What?", "Hm?")
    async with Runtime(model=model) as runtime:
        first = await runtime.ask("Where is A7?")
        second = await runtime.ask("And B2?", thread=first.thread)
        assert second.thread == first.thread
        await runtime.ask("And C3?", thread=first.thread, owner=Owner("ann"))
        await runtime.ask("And C3?")
    texts = [[message.text for message in prompt.messages] for prompt in model.prompts]
    assert texts == [["Where is A7?"], ["Where is A7?", "Shipped.", "And B2?"], ["And C3?"], ["And C3?"]]


async def test_a_thread_remembers_calls_and_results(tmp_path: Path) -> None:
    model = ScriptedModel(("add", {"a": 2, "b": 3}), "5.", "10.")
    store = SQLiteStore(tmp_path)
    try:
        async with Runtime(model=model, tools=[add], store=store) as runtime:
            await runtime.ask("2 + 3?", thread="sums")
            await runtime.ask("Twice that?", thread="sums")
    finally:
        await store.close()
    assert [message.role for message in model.prompts[-1].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert model.prompts[-1].messages[2].text == "5"


@pytest.mark.parametrize("kind", ["messages", "turn"])
async def test_a_whole_history_or_a_turn_is_taken_as_it_is(kind: str) -> None:
    model = ScriptedModel("ok")
    messages = [text_message("user", "a"), text_message("assistant", "b"), text_message("user", "c")]
    question: list[Message] | Turn = messages if kind == "messages" else Turn(messages=tuple(messages))
    async with Runtime(model=model) as runtime:
        assert (await runtime.ask(question)).text == "ok"
    assert [message.text for message in model.prompts[0].messages] == ["a", "b", "c"]


async def test_a_failed_run_raises_its_error() -> None:
    async with Runtime(model=ScriptedModel(UpstreamBusy("Later.", retry_after=7))) as runtime:
        with pytest.raises(UpstreamBusy) as caught:
            await runtime.ask("hi")
        assert (caught.value.code, caught.value.message, caught.value.retry_after) == ("upstream_busy", "Later.", 7)
        with pytest.raises(NotFound, match="no assistant 'nobody'"):
            await runtime.ask("hi", assistant="nobody")


async def test_an_unknown_error_is_not_told_to_the_caller() -> None:
    async with Runtime(model=ScriptedModel(KeyError("secret"), KeyError("secret"))) as runtime:
        with pytest.raises(RightseatError) as caught:
            await runtime.ask("hi")
        last = [event async for event in runtime.stream("hi")][-1]
    assert isinstance(last, RunFailed)
    assert caught.value.message == last.message == INTERNAL_ERROR.message
    assert "secret" not in str(caught.value), "only its cause has the exception's own text"


@pytest.mark.parametrize(("value", "result"), [(True, "paid ACME"), ("yes", "paid ACME"), (False, None), (None, None)])
async def test_a_question_is_told_and_answered(value: Any, result: str | None) -> None:
    model = ScriptedModel(CALL, "Done.")
    async with Runtime(model=model, tools=[pay]) as runtime:
        asked = await runtime.ask("Pay ACME")
        [interrupt] = asked.interrupts
        assert (asked.reason, interrupt.kind, asked.tool_calls[0].result) == ("interrupt", "confirm", None)
        done = await runtime.ask(thread=asked.thread, answers={interrupt.id: value})
        assert done.text == "Done."
        [told] = [event for event in done.events if isinstance(event, CallResult)]
        assert told.content == result if result else told.failed or "paid" not in told.content
        with pytest.raises(ContinuationGone):
            await runtime.ask(asked.turn, answers={interrupt.id: value})


async def test_a_question_is_answered_by_its_turn_and_the_thread_goes_on() -> None:
    model = ScriptedModel(("travel", {}), "Have fun.", "Back?")
    async with Runtime(model=model, tools=[travel]) as runtime:
        asked = await runtime.ask("I want to leave")
        answers = [InterruptAnswer(asked.interrupts[0].id, payload="Rome")]
        assert (await runtime.ask(asked.turn, answers=answers)).text == "Have fun."
        await runtime.ask("Now?", thread=asked.thread)
    roles = [(message.role, message.text) for message in model.prompts[-1].messages]
    assert [role for role, _ in roles] == ["user", "assistant", "tool", "assistant", "user"]
    assert ("tool", "off to Rome") in roles


async def test_a_call_of_the_callers_own_tool_is_told_and_answered() -> None:
    model = ScriptedModel(("where_am_i", {}), "In Rome.")
    spec = ToolSpec("where_am_i", "Tell the place.", {"type": "object", "properties": {}})
    turn = Turn(messages=(text_message("user", "Where am I?"),), tools=(spec,))
    async with Runtime(model=model) as runtime:
        asked = await runtime.ask(turn)
        [call] = asked.tool_calls
        assert (asked.reason, asked.pending, call.result) == ("calls", (call.id,), None)
        result = text_message("tool", "Rome", call_id=call.id)
        done = await runtime.ask(Turn(messages=(*asked.messages, result), tools=(spec,)))
    assert done.text == "In Rome."


async def test_stream_yields_typed_events_and_a_failure_as_the_last() -> None:
    async with Runtime(model=ScriptedModel("Hello", UpstreamBusy("Later."))) as runtime:
        events: list[Event] = [event async for event in runtime.stream("hi")]
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hello"]
        assert isinstance(events[-1], RunFinished)
        assert isinstance([event async for event in runtime.stream("hi")][-1], RunFailed)


class EndlessModel:
    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    async def stream(self, prompt: rightseat.Prompt, /) -> AsyncIterator[rightseat.ModelChunk]:
        try:
            while True:
                yield rightseat.TextChunk("a")
                await asyncio.sleep(0)
        finally:
            self.stopped.set()


async def test_closing_the_iterator_stops_the_run() -> None:
    model = EndlessModel()
    async with Runtime(model=model) as runtime:
        events: Any = runtime.stream("hi")
        async for event in events:
            if isinstance(event, TextDelta):
                break
        assert runtime.active_runs == 1
        await events.aclose()
        assert runtime.active_runs == 0
        assert model.stopped.is_set()


async def test_leaving_the_runtime_stops_what_runs() -> None:
    model = EndlessModel()
    async with Runtime(model=model) as runtime:
        asking = asyncio.ensure_future(runtime.ask("hi"))
        await wait_until(lambda: bool(runtime.active_runs))
    with pytest.raises(RightseatError, match="stopped this answer"):
        await asking
    assert model.stopped.is_set()


class CountedStore(MemoryStore):
    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_a_store_of_ones_own_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    store = CountedStore()
    async with Runtime(model=ScriptedModel(), store=store):
        pass
    assert store.closed == 0
    monkeypatch.setattr("rightseat.wiring.runtime.MemoryStore", CountedStore)
    async with Runtime(model=ScriptedModel()) as runtime:
        pass
    assert isinstance(runtime.store, CountedStore)
    assert runtime.store.closed == 1


async def test_start_starts_once_and_a_closed_runtime_stays_closed() -> None:
    class Started(ScriptedModel):
        starts = 0

        async def start(self) -> None:
            await asyncio.sleep(0)
            self.starts += 1

    model = Started("ok")
    runtime = Runtime(model=model)
    await asyncio.gather(runtime.start(), runtime.start())
    async with runtime:
        assert (await runtime.ask("hi")).text == "ok"
    assert model.starts == 1
    with pytest.raises(Misused, match="closed"):
        await runtime.ask("hi")


async def test_a_start_that_fails_closes_what_was_started() -> None:
    class Broken(ScriptedModel):
        closed = False

        async def start(self) -> None:
            raise ConfigError("No weights.")

        async def close(self) -> None:
            self.closed = True

    model = Broken()
    with pytest.raises(ConfigError, match="No weights"):
        async with Runtime(model=model):
            pass
    assert model.closed


async def test_the_supervisor_is_a_part_and_no_base() -> None:
    assert Runtime.__mro__ == (Runtime, object)
    runtime = Runtime(model=ScriptedModel(), limits=RuntimeLimits(run_seconds=1))
    assert isinstance(runtime.runs, RunSupervisor)
    assert runtime.runs.limits.run_seconds == 1


def test_the_constructor_has_what_users_need() -> None:
    names = list(inspect.signature(Runtime).parameters)
    assert names[-1] == "parts"
    assert len(names) <= 14
