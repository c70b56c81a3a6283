"""Claims of attached runs among workers."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from rightseat.http.agui.attached import ClaimRecord, RunClaim, make_run_key, run_once
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, RunFailed, RunFinished
from rightseat.types.streams import closing
from rightseat.types.turn import Owner, Turn
from tests.kit.slow_store import SlowStore

TURN = Turn(messages=(), owner=Owner("me"), thread="t", run="r")


class SlowSharedStore(SlowStore):
    """Slow store that other workers use too."""

    @property
    def is_shared(self) -> bool:
        return True


async def answer(turn: Turn) -> AsyncIterator[Event]:
    yield RunFinished("stop")


async def post_run(store: MemoryStore) -> list[Event]:
    async with closing(run_once(TURN, answer, store)) as events:
        return [event async for event in events]


@pytest.mark.demand("scale.attached_run_once")
async def test_a_client_that_leaves_does_not_hide_that_a_run_was_interrupted() -> None:
    store = SlowSharedStore()
    claim = RunClaim(store, TURN.owner, make_run_key(TURN))
    await store.save_checkpoint(TURN.owner, claim.key, msgspec.json.encode(ClaimRecord("dead", has_effect=True)))
    leaving = asyncio.create_task(post_run(store))
    await store.written.wait()
    leaving.cancel()
    store.go_on.set()
    await asyncio.wait([leaving])
    end = (await post_run(store))[-1]
    assert isinstance(end, RunFailed)
    assert end.code == "restarted"
