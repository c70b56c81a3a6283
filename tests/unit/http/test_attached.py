"""Claims of attached runs among workers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection

import msgspec
import pytest

from rightseat.http.agui import attached
from rightseat.http.agui.attached import ClaimRecord, RunClaim, make_run_key, run_once
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, RunFailed, RunFinished
from rightseat.types.streams import closing
from rightseat.types.turn import Owner, Turn
from tests.kit.slow_store import SlowStore
from tests.kit.waiting import wait_until

TURN = Turn(messages=(), owner=Owner("me"), thread="t", run="r")


class SlowSharedStore(SlowStore):
    """Slow store that other workers use too."""

    @property
    def is_shared(self) -> bool:
        return True


class CountingStore(MemoryStore):
    """Store that other workers use too, all alive, with counts of what is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0

    @property
    def is_shared(self) -> bool:
        return True

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return set()

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None:
        self.reads += 1
        return await super().get_checkpoint(owner, key)

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        self.writes += 1
        await super().update_checkpoint(owner, key, update, seconds)


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


@pytest.mark.demand("scale.attached_run_once")
async def test_who_waits_for_another_worker_writes_that_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "POLL_SECONDS", 0.0)
    store = CountingStore()
    claim = RunClaim(store, TURN.owner, make_run_key(TURN))
    await store.save_checkpoint(TURN.owner, claim.key, msgspec.json.encode(ClaimRecord("other")))
    waiting = asyncio.create_task(post_run(store))
    await wait_until(lambda: store.reads > 20)
    assert store.writes == 1
    assert await claim.is_awaited()
    # The other worker has ended this run and has begun another, before anybody has looked.
    await store.save_checkpoint(TURN.owner, claim.key, msgspec.json.encode(ClaimRecord("other")))
    await wait_until(lambda: store.writes == 2)
    await store.delete_checkpoint(TURN.owner, claim.key)
    assert await waiting == [RunFinished("stop")]
