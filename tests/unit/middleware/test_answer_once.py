"""Claims of answers to remote agents: none is left behind by a client that leaves."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat.errors import ContinuationGone
from rightseat.middleware.answer_once import stream_once
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, RunFinished
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.slow_store import SlowStore

TURN = Turn(messages=(), owner=Owner("me"), answers=(InterruptAnswer("peer-1"),))


async def answer(turn: Turn) -> AsyncIterator[Event]:
    yield RunFinished("stop")


async def pass_on(store: MemoryStore) -> list[Event]:
    async with closing(stream_once(answer, TURN, store)) as events:
        return [event async for event in events]


@pytest.mark.demand("scale.remote_answers_once")
async def test_a_client_that_leaves_while_its_answer_is_claimed_can_give_it_again() -> None:
    store = SlowStore()
    leaving = asyncio.create_task(pass_on(store))
    await store.written.wait()
    leaving.cancel()
    store.go_on.set()
    await asyncio.wait([leaving])
    assert await pass_on(store) == [RunFinished("stop")]


@pytest.mark.demand("scale.remote_answers_once")
async def test_an_answer_that_is_refused_frees_no_other() -> None:
    store, begun, go_on = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def answer_late(turn: Turn) -> AsyncIterator[Event]:
        begun.set()
        await go_on.wait()
        yield RunFinished("stop")

    async def pass_on_late() -> None:
        async with closing(stream_once(answer_late, TURN, store)) as events:
            assert [event async for event in events] == [RunFinished("stop")]

    running = asyncio.create_task(pass_on_late())
    await begun.wait()
    for _ in range(2):
        with pytest.raises(ContinuationGone):
            await pass_on(store)
    go_on.set()
    await running
    with pytest.raises(ContinuationGone):
        await pass_on(store)
