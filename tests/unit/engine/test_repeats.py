"""What a turn repeats: the same answer, a request that has had its effect, a regenerated one."""

import pytest
from msgspec.structs import replace

from rightseat import Owner, Turn, text_message
from rightseat.engine.repeats import (
    MAX_LOOKBACK,
    MAX_REQUEST_LENGTH,
    choose_effect_rule,
    find_earlier_effects,
    find_origin,
    find_rerun,
    is_end_of_talk,
    record_effect,
)
from rightseat.stores.memory import MemoryStore
from rightseat.types.messages import FileMessagePart, Message
from rightseat.types.stores import Store
from rightseat.types.turn import TurnClient

TEXT_CLIENT = TurnClient(shows_interrupts=False)


def make_turn(*texts: str, thread: str = "", ids: bool = False, owner: str = "me") -> Turn:
    """A turn whose messages are the person's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [
        text_message(roles[number % 2], text, id=f"m{number}" if ids else None)  # type: ignore[arg-type]
        for number, text in enumerate(texts)
    ]
    client = TurnClient() if thread else TEXT_CLIENT
    return Turn(messages=tuple(messages), thread=thread or "random", client=client, owner=Owner(owner))


async def record(store: Store, turn: Turn) -> None:
    await record_effect(store, turn.owner, await find_origin(turn))


@pytest.mark.demand("approvals.finished_step_never_again")
@pytest.mark.parametrize("thread", ["", "t1"])
async def test_the_same_request_at_a_later_place_is_a_repeat(thread: str) -> None:
    store = MemoryStore()
    await record(store, make_turn("order", thread=thread, ids=True))
    again = make_turn("order", "done", "  Order!", thread=thread, ids=True)
    assert await find_rerun(store, again) is not None
    assert await find_rerun(store, make_turn("order", "done", "order two", thread=thread, ids=True)) is None
    assert await find_rerun(store, make_turn("order", thread=thread, ids=True)) is None, "regenerated"
    strangers = make_turn("order", "done", "order", thread=thread, ids=True, owner="you")
    assert await find_rerun(store, strangers) is None


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_a_regenerated_request_with_new_ids_is_known_by_its_history() -> None:
    store = MemoryStore()
    await record(store, make_turn("hello", "hi", "order", thread="t1"))
    assert await find_rerun(store, make_turn("hello", "hi", "order", thread="t1")) is None
    assert await find_rerun(store, make_turn("order", thread="t1")) is not None


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_run_it_again_means_the_last_request_with_an_effect() -> None:
    store = MemoryStore()
    await record(store, make_turn("order"))
    await record(store, make_turn("order", "done", "order two"))
    rerun = await find_rerun(store, make_turn("order", "done", "order two", "done", "again"))
    assert rerun is not None
    assert rerun.text == "order two"
    assert await find_rerun(store, make_turn("look", "seen", "again")) is None


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_run_it_means_what_the_same_assistant_has_run() -> None:
    store = MemoryStore()
    await record(store, replace(make_turn("order", thread="t1"), assistant="shop"))
    again = make_turn("order", "done", "run it", thread="t1")
    assert await find_rerun(store, replace(again, assistant="shop")) is not None
    assert await find_rerun(store, replace(again, assistant="reports")) is None


async def test_lookups_and_records_are_bounded() -> None:
    store = MemoryStore()
    await record(store, make_turn("order"))
    texts = ["order", "done", *(text for number in range(MAX_LOOKBACK) for text in (f"look {number}", "seen"))]
    assert await find_rerun(store, make_turn(*texts, "order")) is not None, "however long ago"
    assert await find_rerun(store, make_turn(*texts[:-2], "again")) is not None
    assert await find_rerun(store, make_turn(*texts, "again")) is None
    long = await find_origin(make_turn("x" * (MAX_REQUEST_LENGTH + 1)))
    assert long is not None
    assert long.text == ""


async def test_without_a_persons_message_there_is_nothing_to_repeat() -> None:
    assert await find_origin(Turn(messages=())) is None
    assert await find_origin(Turn(messages=(text_message("user", "order"),), depth=1)) is None
    await record_effect(MemoryStore(), Owner(), None)
    assert (await find_earlier_effects(None, make_turn("order"))).last is None


@pytest.mark.demand("approvals.words_that_ask_nothing")
async def test_the_end_of_a_talk() -> None:
    store = MemoryStore()
    assert not await is_end_of_talk(store, make_turn("thanks"))
    assert await is_end_of_talk(store, make_turn("order", "done", "thanks"))
    assert not await is_end_of_talk(store, make_turn("order", "done", "thanks, and two more"))
    attached = Message("user", (*text_message("user", "ok").parts, FileMessagePart("a.csv", "text/csv", "eA==")))
    turn = make_turn("order", "done")
    assert not await is_end_of_talk(store, Turn(messages=(*turn.messages, attached)))


@pytest.mark.demand("approvals.words_that_ask_nothing")
async def test_the_rule_for_effects() -> None:
    store = MemoryStore()
    assert await choose_effect_rule(store, make_turn("order", "Shall I?", "yes")) == "run"
    assert await choose_effect_rule(store, make_turn("order", "Shall I?", "thanks")) == "refuse"
    await record(store, make_turn("order"))
    assert await choose_effect_rule(store, make_turn("order", "Done. Another?", "yes")) == "ask"
    assert await choose_effect_rule(store, make_turn("order", "Done.", "yes")) == "refuse"
    # A tool may undo what was done.
    assert await choose_effect_rule(store, make_turn("order", "Done.", "cancel it")) == "run"
    assert await choose_effect_rule(store, make_turn("order", "Done.", "order two")) == "run"
