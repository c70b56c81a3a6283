"""Results of calls are kept as each call ends: what a crash in between leaves, the next turn is told."""

import asyncio
import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rightseat import Owner, Runtime, Turn, tool
from rightseat.engine import late_results
from rightseat.engine.repeats import find_earlier_effects
from rightseat.errors import StoreFailed
from rightseat.stores.memory import MemoryStore
from rightseat.tools.function import as_tool
from rightseat.types.events import CallResult, Interrupt, RunFinished
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.streams import closing
from rightseat.types.tools import UNANSWERED
from rightseat.types.turn import InterruptAnswer
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.engine.turns import list_call_results, run_turn

ME = Owner("me")


class NotingStore(MemoryStore):
    """Notes each result that is saved; fails while `is_full`."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[str] = []
        self.is_full = False
        self.has_saved = asyncio.Event()

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        if self.is_full:
            raise StoreFailed("The disk is full.")
        self.saved += [json.loads(text)["error"]["code"] if "error" in text else text for text in results.values()]
        await super().save_results(owner, results)
        if "first" in results.values():
            self.has_saved.set()


async def look() -> str:
    """Looks."""
    return "seen"


LOOK = replace(as_tool(look), effect="reads")


@tool
async def first() -> str:
    """Acts."""
    return "first"


@pytest.mark.demand("crashes.results_kept_with_each_call")
async def test_a_result_is_kept_before_the_other_calls_end_and_a_call_before_its_effect() -> None:
    store = NotingStore()

    @tool
    async def second() -> str:
        """Waits until the result of the other is kept."""
        await asyncio.wait_for(store.has_saved.wait(), HANG_TIMEOUT)
        return "second"

    model = FakeModel(reply_calls(("second", "{}"), ("first", "{}"), ("look", "{}")), reply_text("Done."))
    events = await run_turn(Runtime(model=model, tools=[first, second, LOOK], store=store), owner=ME)
    assert list_call_results(events) == ["second", "first", "seen"]
    assert isinstance(events[-1], RunFinished)
    assert sorted(store.saved) == ["first", "may_have_run", "may_have_run", "second", "seen"]


@pytest.mark.demand("crashes.results_kept_with_each_call")
async def test_a_call_that_cannot_be_noted_does_not_run_and_one_that_only_reads_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(late_results, "RETRY_SECONDS", (0.01, 0.01))
    store = NotingStore()
    store.is_full = True
    model = FakeModel(reply_calls(("first", "{}"), ("look", "{}")), reply_text("Done."))
    events = await run_turn(Runtime(model=model, tools=[first, LOOK], store=store), owner=ME)
    results = [event for event in events if isinstance(event, CallResult)]
    assert [json.loads(results[0].content)["error"]["code"], results[1].content] == ["store_failed", "seen"]
    # The answer goes on, and what has run is kept later.
    assert isinstance(events[-1], RunFinished)
    store.is_full = False
    await wait_until(lambda: not late_results.get_waiting())
    assert sorted(store.saved) == ["seen", "store_failed"]


@pytest.mark.demand("crashes.results_kept_with_each_call")
async def test_results_that_were_never_sent_reach_the_model() -> None:
    store = NotingStore()
    await store.save_results(ME, {f"call_{'a' * 24}_1": "kept"})
    calls = tuple(ToolCall(f"call_{'a' * 24}_{number}", "first", "{}") for number in (1, 2))
    history = (text_message("user", "go"), Message("assistant", calls=calls), text_message("user", "go on"))
    model = FakeModel(reply_text("Done."))
    await run_turn(Runtime(model=model, tools=[first], store=store), owner=ME, messages=history)
    results = {m.call_id: m.text for m in model.prompts[0].messages if m.role == "tool"}
    assert results == {calls[0].id: "kept", calls[1].id: UNANSWERED}


async def test_a_call_that_asks_has_not_run() -> None:
    store = NotingStore()

    @tool(confirm=True)
    async def pay() -> str:
        """Pays."""
        return "paid"

    model = FakeModel(reply_calls(("pay", "{}")), reply_text("Done."))
    runtime = Runtime(model=model, tools=[pay], store=store)
    asked = await run_turn(runtime, owner=ME)
    assert store.saved == []
    (interrupt,) = (event for event in asked if isinstance(event, Interrupt))
    answer = InterruptAnswer(interrupt.id, payload={"approved": True})
    await run_turn(runtime, owner=ME, answers=(answer,))
    assert store.saved == ["may_have_run", "paid"]


@pytest.mark.demand("crashes.results_kept_with_each_call", "approvals.finished_step_never_again")
async def test_an_approved_effect_is_recorded_although_the_client_leaves_at_its_result() -> None:
    store = NotingStore()

    @tool(confirm=True)
    async def pay() -> str:
        """Pays."""
        return "paid"

    runtime = Runtime(model=FakeModel(reply_calls(("pay", "{}"))), tools=[pay], store=store)
    turn = Turn(messages=(text_message("user", "pay"),), thread="t1", owner=ME)
    asked = [event async for event in runtime.run(turn)]
    (interrupt,) = (event for event in asked if isinstance(event, Interrupt))
    answer = InterruptAnswer(interrupt.id, payload={"approved": True})
    async with closing(runtime.run(with_fields(turn, answers=(answer,)))) as events:
        async for event in events:
            if isinstance(event, CallResult):
                break
    again = with_fields(turn, messages=(*turn.messages, text_message("assistant", "x"), text_message("user", "pay")))
    assert (await find_earlier_effects(store, again)).of_request
