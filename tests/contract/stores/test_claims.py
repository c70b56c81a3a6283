"""Claims of continuations and replaced checkpoints: one gets each, and what a dead worker had is free again."""

import asyncio
from pathlib import Path

import pytest

from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.stores import replace_checkpoint
from tests.contract.stores.members import FullStore
from tests.contract.stores.test_stores import ME, TICKET, YOU, make_continuation

DEAD = "4711"
ANSWERED = ("ask_1",)


@pytest.mark.demand("scale.claims")
async def test_a_claim_is_given_once_until_it_is_released(store: FullStore) -> None:
    await store.save_continuation(make_continuation())
    assert await store.get_continuation(ME, TICKET) == make_continuation()
    claims = await asyncio.gather(*(store.claim_continuation(ME, TICKET, "default", ANSWERED) for _ in range(9)))
    assert [claim for claim in claims if claim is not None] == [make_continuation()]
    assert await store.get_continuation(ME, TICKET) is None
    await store.release_continuation(ME, TICKET)
    assert await store.get_continuation(ME, TICKET) == make_continuation()
    assert await store.claim_continuation(ME, TICKET, "default", ANSWERED) == make_continuation()
    await store.settle_continuation(ME, TICKET)
    await store.release_continuation(ME, TICKET)
    assert await store.claim_continuation(ME, TICKET, "default", ANSWERED) is None


@pytest.mark.demand("scale.claims")
async def test_the_claim_of_a_dead_worker_is_free_under_its_condition(store: FullStore) -> None:
    await store.save_continuation(make_continuation(claimed_by=DEAD))
    assert await store.claim_continuation(ME, TICKET, "default", ["ask_2"]) is None
    assert await store.claim_continuation(ME, TICKET, "other", ANSWERED) is None
    assert await store.claim_continuation(YOU, TICKET, "default", ANSWERED) is None
    assert await store.get_continuation(ME, TICKET) == make_continuation()
    claims = await asyncio.gather(*(store.claim_continuation(ME, TICKET, "default", ANSWERED) for _ in range(9)))
    assert [claim for claim in claims if claim is not None] == [make_continuation()]


@pytest.mark.demand("scale.claims")
async def test_only_the_claimant_settles_and_releases(store: FullStore) -> None:
    await store.save_continuation(make_continuation(claimed_by=DEAD))
    await store.settle_continuation(ME, TICKET)
    await store.release_continuation(ME, TICKET)
    assert await store.claim_continuation(ME, TICKET, "default", ANSWERED) is not None


@pytest.mark.demand("scale.claims")
async def test_one_that_was_saved_since_the_claim_stays(store: FullStore) -> None:
    await store.save_continuation(make_continuation(rounds=1))
    assert await store.claim_continuation(ME, TICKET, "default", ANSWERED) is not None
    await store.save_continuation(make_continuation(rounds=2))
    await store.settle_continuation(ME, TICKET)
    assert await store.claim_continuation(ME, TICKET, "default", ANSWERED) == make_continuation(rounds=2)


@pytest.mark.demand("scale.claims")
async def test_a_caller_that_leaves_while_it_claims_leaves_no_claim(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.save_continuation(make_continuation())
    task = asyncio.create_task(store.claim_continuation(ME, TICKET, "default", ANSWERED))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.claim_continuation(ME, TICKET, "default", ANSWERED) == make_continuation()
    # One that gets nothing takes nothing from the claimant, however it ends.
    task = asyncio.create_task(store.claim_continuation(ME, TICKET, "default", ANSWERED))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.get_continuation(ME, TICKET) is None
    await store.close()


@pytest.mark.demand("scale.claims")
async def test_a_checkpoint_is_replaced_only_as_it_was_read(store: FullStore) -> None:
    async def replace(expected: bytes | None, body: bytes | None) -> bool:
        return await replace_checkpoint(store, ME, "t/k", expected, body)

    assert not await replace(b"one", b"two")
    assert await replace(None, b"one")
    assert not await replace(None, b"two")
    results = await asyncio.gather(*(replace(b"one", f"by {number}".encode()) for number in range(9)))
    assert sum(results) == 1
    body = await store.get_checkpoint(ME, "t/k")
    assert body == f"by {results.index(True)}".encode()
    assert not await replace(b"one", None)
    assert await replace(body, None)
    assert await store.get_checkpoint(ME, "t/k") is None
    assert await replace(None, None)
