"""Attached runs in every Journal: what a client may ask for again is there, and its answer never suffers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.errors import StoreFailed
from rightseat.middleware.recording import RecordingMode, record_runs
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSnapshot,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import text_message
from rightseat.types.model import RawPrompt
from rightseat.types.streams import closing
from rightseat.types.threads import Retention, ThreadEntry, ThreadStore, UserInput
from rightseat.types.turn import Turn
from tests.contract.stores.members import FullStore
from tests.contract.stores.sample_runs import ME, YOU, read_all_entries

USER_MESSAGE = text_message("user", "hi", id="u1")
RUN_EVENTS: list[Event] = [
    RunStarted("t", "r"),
    ReasoningStart("m0"),
    ReasoningDelta("m0", "th"),
    ReasoningDelta("m0", "ink"),
    ReasoningEnd("m0"),
    TextStart("m1"),
    TextDelta("m1", "Hel", [{"token": "Hel"}]),
    TextDelta("m1", "lo"),
    TextEnd("m1"),
    CallStart("c1", "f", "m1"),
    CallStart("c2", "f", "m1"),
    CallArgs("c1", '{"a":'),
    CallArgs("c2", "{}"),
    CallArgs("c1", "1}"),
    CallEnd("c1"),
    CallEnd("c2"),
    CallResult("c1", "7"),
    StateSnapshot({"n": 1}),
    RunFinished("stop"),
]
EXPECTED_ENTRIES: list[ThreadEntry] = [
    UserInput((USER_MESSAGE,), {"n": 0}, "a"),
    RunStarted("t", "r"),
    ReasoningStart("m0"),
    ReasoningDelta("m0", "think"),
    ReasoningEnd("m0"),
    TextStart("m1"),
    TextDelta("m1", "Hello"),
    TextEnd("m1"),
    CallStart("c1", "f", "m1"),
    CallStart("c2", "f", "m1"),
    CallArgs("c1", '{"a":'),
    CallArgs("c2", "{}"),
    CallArgs("c1", "1}"),
    CallEnd("c1"),
    CallEnd("c2"),
    CallResult("c1", "7"),
    StateSnapshot({"n": 1}),
    RunFinished("stop"),
]


def make_turn(**more: Any) -> Turn:
    fields: dict[str, Any] = {"messages": (USER_MESSAGE,), "thread": "t", "owner": ME, "assistant": "a"}
    return Turn(**{**fields, "state": {"n": 0}, "recording": "asked", **more})


async def stream_run(turn: Turn) -> AsyncIterator[Event]:
    for event in RUN_EVENTS:
        yield event


async def run_recorded(store: ThreadStore, turn: Turn, mode: RecordingMode = "threads", **more: Any) -> list[Event]:
    async with closing(record_runs(store, mode, **more)(stream_run)(turn)) as events:
        return [event async for event in events]


async def read_entries(store: ThreadStore, thread: str = "t") -> list[ThreadEntry]:
    return [entry for _, entry in await read_all_entries(store, thread)]


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_a_run_is_kept_as_it_was_said(store: FullStore) -> None:
    assert await run_recorded(store, make_turn()) == RUN_EVENTS
    assert await read_entries(store) == EXPECTED_ENTRIES
    thread = await store.get_thread(ME, "t")
    assert thread is not None
    assert (thread.name, thread.assistant, thread.run) == ("hi", "a", "")
    assert not await store.has_thread(YOU, "t")
    again = make_turn(
        messages=(USER_MESSAGE, text_message("assistant", "Hello", id="m1"), text_message("user", "more", id="u2"))
    )
    await run_recorded(store, again)
    assert (await read_entries(store))[len(EXPECTED_ENTRIES)] == UserInput(
        (again.messages[-1],), {"n": 0}, "a", ("m1",)
    )


async def test_a_long_text_is_written_while_it_is_said(store: FullStore) -> None:
    async def long(turn: Turn) -> AsyncIterator[Event]:
        yield RunStarted("t", "r")
        yield TextStart("m1")
        for number in range(100):
            yield TextDelta("m1", f"{number} ")
        yield TextEnd("m1")
        yield RunFinished("stop")

    whole = "".join(f"{number} " for number in range(100))
    async with closing(record_runs(store)(long)(make_turn())) as events:
        async for event in events:
            if event == TextDelta("m1", "80 "):
                told = await read_entries(store)
                assert "".join(entry.text for entry in told if isinstance(entry, TextDelta))[-3:] == "79 "
    found = [entry.text for entry in await read_entries(store) if isinstance(entry, TextDelta)]
    assert "".join(found) == whole
    assert len(found) <= 7


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.parametrize(
    ("which", "more", "there"),
    [
        ("off", {}, False),
        ("threads", {}, True),
        ("threads", {"recording": "no"}, False),
        ("threads", {"recording": "never"}, False),
        ("all", {"recording": "no"}, True),
        ("all", {"recording": "never"}, False),
        ("all", {"raw": RawPrompt("x")}, False),
    ],
)
async def test_what_is_kept_is_chosen(
    store: FullStore, which: RecordingMode, more: dict[str, Any], there: bool
) -> None:
    assert await run_recorded(store, make_turn(**more), which) == RUN_EVENTS
    assert await store.has_thread(ME, "t") is there


async def test_a_conversation_that_has_a_name_is_one_thread(store: FullStore) -> None:
    await run_recorded(store, make_turn(conversation="chat", thread="x", recording="no"), "all")
    await run_recorded(store, make_turn(conversation="chat", thread="y", recording="no"), "all")
    assert [thread.id for thread in await store.list_threads(ME)] == ["chat"]


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_who_leaves_leaves_what_was_said_and_a_free_thread(store: FullStore) -> None:
    async with closing(record_runs(store)(stream_run)(make_turn())) as events:
        async for event in events:
            if event == TextDelta("m1", "lo"):
                break
    *before, end = await read_entries(store)
    assert before == [*EXPECTED_ENTRIES[:6], TextDelta("m1", "Hello"), TextEnd("m1")]
    assert isinstance(end, RunFailed)
    assert end.code == "stopped"
    assert await run_recorded(store, make_turn()) == RUN_EVENTS
    assert (await read_entries(store))[-1] == RunFinished("stop")


async def test_a_cancelled_one_too(store: FullStore) -> None:
    spoken = asyncio.Event()

    async def silent(turn: Turn) -> AsyncIterator[Event]:
        yield RunStarted("t", "r")
        spoken.set()
        await asyncio.Event().wait()

    async def listen() -> None:
        async with closing(record_runs(store)(silent)(make_turn())) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(listen())
    await spoken.wait()
    task.cancel()
    await asyncio.wait([task])
    assert isinstance((await read_entries(store))[-1], RunFailed)


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_beside_another_run_it_is_answered_and_not_kept(store: FullStore) -> None:
    await store.begin_run(ME, "t", "other", assistant="", name="")
    assert await run_recorded(store, make_turn()) == RUN_EVENTS
    assert await read_entries(store) == []
    thread = await store.get_thread(ME, "t")
    assert thread is not None
    assert thread.run == "other"


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_beyond_its_size_it_is_answered_and_ends_in_the_log(store: FullStore) -> None:
    assert await run_recorded(store, make_turn(), max_chars=6) == RUN_EVENTS
    *_, text, end, failed = await read_entries(store)
    assert (text, end) == (TextDelta("m1", "Hel"), TextEnd("m1"))
    assert isinstance(failed, RunFailed)
    assert failed.code == "too_long"
    assert await run_recorded(store, make_turn()) == RUN_EVENTS


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_an_answer_is_given_although_the_store_fails(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*args: Any, **more: Any) -> int:
        raise StoreFailed("no room")

    monkeypatch.setattr(store, "begin_run", broken)
    assert await run_recorded(store, make_turn()) == RUN_EVENTS


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.parametrize("retention", [Retention(threads=2)])
async def test_they_are_kept_as_long_as_other_threads(store: FullStore) -> None:
    for name in ("a", "b", "c"):
        await run_recorded(store, make_turn(conversation=name))
    assert {thread.id for thread in await store.list_threads(ME)} == {"b", "c"}
