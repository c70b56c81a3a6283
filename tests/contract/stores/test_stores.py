"""What every Store keeps: once, for its owner, for a time, within a size."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rightseat.types.events import Interrupt
from rightseat.types.messages import ImageMessagePart, Message, ProviderData, ToolCall, text_message
from rightseat.types.stores import CallState, Continuation, OpenQuestion, PendingQuestion, Store
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner
from tests.contract.stores.members import MEMBER_PARAMS, FullStore, MakeStore

ME, YOU = Owner("me"), Owner("you")
TICKET = "a" * 24
CAPACITY = 10_000
LIFETIME = 100.0


@dataclass
class StoreSetup:
    make: MakeStore
    folder: Path
    now: float = 1000.0
    store: FullStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = self.make(self.folder, capacity=CAPACITY, lifetime=LIFETIME, clock=lambda: self.now)


@pytest.fixture(params=MEMBER_PARAMS)
async def setup(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreSetup]:
    bench = StoreSetup(request.param, tmp_path)
    yield bench
    await bench.store.close()


@pytest.fixture
def store(setup: StoreSetup) -> Store:
    return setup.store


def make_continuation(ticket: str = TICKET, owner: Owner = ME, **more: Any) -> Continuation:
    """One with everything in it that a run can leave."""
    question = Interrupt("ask_1", "form", "Which?", {"type": "integer"}, "c1")
    message = Message(
        "assistant",
        (*text_message("assistant", "well").parts, ImageMessagePart("data:,x")),
        (ToolCall("c1", "f", '{"a":1}'), ToolCall("c2", "g", "{}")),
        id="msg_1",
        opaque=(ProviderData("p", {"signature": "s"}),),
    )
    fields: dict[str, Any] = {
        "assistant": "default",
        "added": (text_message("assistant", "before"), message),
        "calls": {
            "c1": CallState(
                open=(OpenQuestion(question, Ask("Which?", "form", {"type": "integer"}), 1),), state={"n": [1]}
            ),
            "c2": CallState(result="r", failed=True, answers=("x", {"approved": True})),
        },
        "rounds": 2,
        "number": 7,
        "digest": "d",
        "expires": 5000.0,
    }
    return Continuation(ticket=ticket, owner=owner, **(fields | more))


async def take(store: Store, owner: Owner, ticket: str, *answered: str, assistant: str = "default") -> Any:
    """What an answer to the open question gets, or to `answered`."""
    continuation = await store.claim_continuation(owner, ticket, assistant, answered or ("ask_1",))
    if continuation is not None:
        await store.settle_continuation(owner, ticket)
    return continuation


@pytest.mark.demand("engine.memory_store_passes_store")
async def test_what_is_saved_is_taken_whole_and_once(store: Store) -> None:
    await store.save_continuation(make_continuation())
    assert await take(store, ME, TICKET) == make_continuation()
    assert await take(store, ME, TICKET) is None


async def test_nothing_is_nothing(store: Store) -> None:
    assert await take(store, ME, TICKET) is None
    assert await store.take_pending_question(ME, "k") is None
    assert await store.get_results(ME, ["c1"]) == {}
    assert await store.get_results(ME, []) == {}


@pytest.mark.demand("engine.memory_store_passes_store")
async def test_of_many_takers_one_gets_it(store: Store) -> None:
    await store.save_continuation(make_continuation())
    taken = await asyncio.gather(*(take(store, ME, TICKET) for _ in range(20)))
    assert len([one for one in taken if one is not None]) == 1


@pytest.mark.demand("crashes.take_with_its_condition")
async def test_an_answer_for_something_else_takes_nothing_and_hides_nothing(store: Store) -> None:
    for _ in range(10):
        await store.save_continuation(make_continuation())
        others = [take(store, ME, TICKET, "ask_2", "c1", "c2") for _ in range(5)]
        others += [take(store, ME, TICKET, assistant="other") for _ in range(5)]
        results = await asyncio.gather(*others[:5], take(store, ME, TICKET), *others[5:], take(store, ME, TICKET))
        assert [result for result in results if result is not None] == [make_continuation()]
        assert (results[5] or results[-1]) is not None, "one of those that answer its question gets it"


@pytest.mark.demand("crashes.take_with_its_condition")
async def test_a_result_takes_what_waits_for_it_and_not_what_has_one(store: Store) -> None:
    calls = {"c1": CallState(client=True), "c2": CallState(client=True, result="r")}
    await store.save_continuation(make_continuation(calls=calls))
    assert await take(store, ME, TICKET, "c2") is None
    assert await take(store, ME, TICKET, "c2", "c1") == make_continuation(calls=calls)


async def test_saved_again_it_can_be_taken_again_and_is_the_newer(store: Store) -> None:
    await store.save_continuation(make_continuation(rounds=1))
    await store.save_continuation(make_continuation(rounds=2))
    taken = await take(store, ME, TICKET)
    assert taken is not None
    assert taken.rounds == 2
    await store.save_continuation(taken)
    assert await take(store, ME, TICKET) == taken


async def test_another_owner_gets_nothing_and_breaks_nothing(store: Store) -> None:
    await store.save_continuation(make_continuation())
    await store.save_pending_question(ME, "k", PendingQuestion("ask_1", "ask", "?"))
    await store.save_results(ME, {"c1": "mine"})
    assert await take(store, YOU, TICKET) is None
    assert await store.take_pending_question(YOU, "k") is None
    assert await store.get_results(YOU, ["c1"]) == {}
    await store.save_pending_question(YOU, "k", PendingQuestion("ask_2", "ask", "?"))
    await store.save_results(YOU, {"c1": "yours"})
    assert await take(store, ME, TICKET) == make_continuation()
    assert await store.take_pending_question(ME, "k") == PendingQuestion("ask_1", "ask", "?")
    assert await store.get_results(ME, ["c1"]) == {"c1": "mine"}


async def test_owner_and_key_cannot_run_into_each_other(store: Store) -> None:
    await store.save_pending_question(Owner("a"), "b:c", PendingQuestion("ask_1", "ask", "?"))
    assert await store.take_pending_question(Owner("a:b"), "c") is None
    assert await store.take_pending_question(Owner("ab"), ":c") is None


@pytest.mark.parametrize(("passed", "there"), [(LIFETIME - 1, True), (LIFETIME + 1, False)])
async def test_all_of_it_expires(setup: StoreSetup, passed: float, there: bool) -> None:
    store = setup.store
    await store.save_continuation(make_continuation())
    await store.save_pending_question(ME, "k", PendingQuestion("ask_1", "confirm", "?"))
    await store.save_results(ME, {"c1": "r"})
    setup.now += passed
    assert (await store.get_results(ME, ["c1"]) == {"c1": "r"}) is there
    assert (await take(store, ME, TICKET) is not None) is there
    assert (await store.take_pending_question(ME, "k") is not None) is there


async def test_saving_again_starts_the_time_anew(setup: StoreSetup) -> None:
    await setup.store.save_continuation(make_continuation())
    setup.now += LIFETIME - 1
    await setup.store.save_continuation(make_continuation())
    setup.now += LIFETIME - 1
    assert await take(setup.store, ME, TICKET) is not None


@pytest.mark.demand("engine.memory_store_passes_store")
async def test_over_its_capacity_the_oldest_go(store: Store) -> None:
    big = "x" * (CAPACITY // 4)
    for number in range(5):
        await store.save_results(ME, {f"c{number}": big})
    kept = await store.get_results(ME, [f"c{number}" for number in range(5)])
    assert "c4" in kept
    assert "c0" not in kept
    assert list(kept) == [f"c{number}" for number in range(5 - len(kept), 5)]


async def test_continuations_are_bounded_too(store: Store) -> None:
    tickets = [f"{number:024x}" for number in range(50)]
    for ticket in tickets:
        await store.save_continuation(make_continuation(ticket, digest="x" * 500))
    kept = [await take(store, ME, ticket) is not None for ticket in tickets]
    assert kept[-1]
    assert not kept[0]
    assert kept == sorted(kept)
    assert sum(kept) * 500 <= CAPACITY


async def test_what_was_taken_leaves_its_room(store: Store) -> None:
    for number in range(100):
        await store.save_continuation(make_continuation(f"{number:024x}", digest="x" * 2000))
        assert await take(store, ME, f"{number:024x}") is not None
    await store.save_continuation(make_continuation("f" * 24, digest="x" * 2000))
    await store.save_continuation(make_continuation("e" * 24, digest="x" * 2000))
    assert await take(store, ME, "f" * 24) is not None


async def test_a_conversation_waits_on_one_question_and_is_released_once(store: Store) -> None:
    await store.save_pending_question(ME, "k", PendingQuestion("ask_1", "confirm", "?"))
    await store.save_pending_question(ME, "k", PendingQuestion("ask_2", "form", "?"))
    await store.save_pending_question(ME, "other", PendingQuestion("ask_3", "ask", "?"))
    assert await store.take_pending_question(ME, "k") == PendingQuestion("ask_2", "form", "?")
    assert await store.take_pending_question(ME, "k") is None
    assert await store.take_pending_question(ME, "other") == PendingQuestion("ask_3", "ask", "?")


async def test_results_are_recalled_as_often_as_wanted(store: Store) -> None:
    await store.save_results(ME, {"c1": "one", "c2": "", "c3": "你好"})
    await store.save_results(ME, {"c1": "newer"})
    for _ in range(2):
        found = await store.get_results(ME, ["c1", "c2", "c3", "c4"])
        assert found == {"c1": "newer", "c2": "", "c3": "你好"}
    assert await store.get_results(ME, ["c2"]) == {"c2": ""}


@pytest.mark.demand("flows.state_journalled_per_step")
async def test_a_note_stays_until_it_is_replaced_or_forgotten(store: FullStore) -> None:
    await store.save_checkpoint(ME, "t/k", b"one")
    assert await store.get_checkpoint(ME, "t/k") == b"one"
    await store.save_checkpoint(ME, "t/k", b"two")
    assert await store.get_checkpoint(ME, "t/k") == b"two"
    assert await store.get_checkpoint(YOU, "t/k") is None
    await store.delete_checkpoint(YOU, "t/k")
    assert await store.get_checkpoint(ME, "t/k") == b"two"
    await store.delete_checkpoint(ME, "t/k")
    assert await store.get_checkpoint(ME, "t/k") is None
    await store.delete_checkpoint(ME, "never")


async def test_notes_are_kept_for_a_time_and_within_a_size(setup: StoreSetup) -> None:
    await setup.store.save_checkpoint(ME, "old", b"x" * 6000)
    setup.now += LIFETIME / 2
    await setup.store.save_checkpoint(ME, "new", b"y" * 6000)
    assert await setup.store.get_checkpoint(ME, "old") is None
    setup.now += LIFETIME + 1
    assert await setup.store.get_checkpoint(ME, "new") is None
    await setup.store.save_checkpoint(ME, "long", b"z", LIFETIME * 5)
    setup.now += LIFETIME * 4
    assert await setup.store.get_checkpoint(ME, "long") == b"z"
    setup.now += LIFETIME + 1
    assert await setup.store.get_checkpoint(ME, "long") is None


async def test_a_threads_notes_go_with_it(store: FullStore) -> None:
    await store.begin_run(ME, "t", "r", assistant="a", name="n")
    await store.save_checkpoint(ME, "t/k", b"one")
    await store.save_checkpoint(ME, "t2/k", b"two")
    await store.save_checkpoint(YOU, "t/k", b"three")
    await store.delete_thread(ME, "t")
    assert await store.get_checkpoint(ME, "t/k") is None
    assert await store.get_checkpoint(ME, "t2/k") == b"two"
    assert await store.get_checkpoint(YOU, "t/k") == b"three"
