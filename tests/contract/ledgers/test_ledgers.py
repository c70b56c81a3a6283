"""What every Ledger counts: requests, runs at a time, money and tokens, each owner by itself."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

import pytest
from msgspec.structs import replace

from rightseat.errors import RateLimited, RightseatError, SpendExceeded, StoreFailed, TooManyRuns
from rightseat.middleware.quota import DAY, USAGE_KEY, Admission, Ledger, Quota, Quotas, UsageTracker, enforce_quotas
from rightseat.middleware.shared_quota import SharedLedger, read_usage
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.events import Event, RunFinished, Usage
from rightseat.types.model import ModelInfo
from rightseat.types.turn import Owner, Turn
from tests.kit.away_store import AwayStore
from tests.kit.slow_store import SlowStore
from tests.kit.waiting import wait_until

ALICE, BOB = Owner("key:alice"), Owner("key:bob")
PRICED = ModelInfo("test", "talker", 2.0, 10.0)


class FakeClock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class FakePresence:
    """Presence of a worker whose neighbours die when the test says so."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.dead: set[str] = set()

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return self.dead & set(workers)


class TwoWorkers:
    """Ledger that asks one of two workers in turn."""

    def __init__(self, ledgers: tuple[SharedLedger, SharedLedger]) -> None:
        self.ledgers = ledgers
        self.turn = 0

    async def admit(self, owner: Owner, quota: Quota) -> Admission:
        self.turn += 1
        return await self.ledgers[self.turn % 2].admit(owner, quota)


def share(store: MemoryStore | SQLiteStore, clock: Callable[[], float]) -> TwoWorkers:
    return TwoWorkers((SharedLedger(store, FakePresence("1"), clock), SharedLedger(store, FakePresence("2"), clock)))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["one process", "shared memory", "shared sqlite"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Ledger]:
    if request.param == "one process":
        yield UsageTracker(clock, wall_clock=clock)
    elif request.param == "shared memory":
        yield share(MemoryStore(clock=clock), clock)
    else:
        store = SQLiteStore(tmp_path, clock=clock)
        yield share(store, clock)
        await store.close()


async def admit_many(ledger: Ledger, quota: Quota, count: int) -> tuple[list[Admission], list[RightseatError]]:
    outcomes = await asyncio.gather(*(ledger.admit(ALICE, quota) for _ in range(count)), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, RightseatError)]
    admitted = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(admitted) + len(refused) == count
    return admitted, refused


@pytest.mark.demand("scale.quotas_are_exact")
async def test_of_many_requests_at_once_exactly_the_limit_is_admitted(ledger: Ledger, clock: FakeClock) -> None:
    quota = Quota(requests_per_minute=10)
    admitted, refused = await admit_many(ledger, quota, 40)
    assert len(admitted) == 10
    assert {type(error) for error in refused} == {RateLimited}
    assert refused[0].retry_after == pytest.approx(6)
    await ledger.admit(BOB, quota)
    clock.now += 6
    assert len((await admit_many(ledger, quota, 5))[0]) == 1


@pytest.mark.demand("scale.quotas_are_exact")
async def test_runs_at_a_time(ledger: Ledger) -> None:
    quota = Quota(concurrent_runs=3)
    admitted, refused = await admit_many(ledger, quota, 8)
    assert len(admitted) == 3
    assert {type(error) for error in refused} == {TooManyRuns}
    await admitted[0].close()
    assert len((await admit_many(ledger, quota, 4))[0]) == 1


@pytest.mark.demand("scale.quotas_are_exact")
async def test_money_and_tokens_are_summed_and_come_back_with_the_next_day(ledger: Ledger, clock: FakeClock) -> None:
    quota = Quota(spend_per_day=1.0)
    for _ in range(2):
        admission = await ledger.admit(ALICE, quota)
        # 100,000 × 2 + 50,000 × 10 per million = 0.70
        admission.charge(Usage(100_000, 50_000), PRICED)
        await admission.close()
    with pytest.raises(SpendExceeded) as refused:
        await ledger.admit(ALICE, quota)
    assert refused.value.retry_after == pytest.approx(DAY)
    with pytest.raises(SpendExceeded, match="token"):
        await ledger.admit(ALICE, Quota(tokens_per_day=300_000))
    await ledger.admit(BOB, quota)
    clock.now += DAY
    await ledger.admit(ALICE, quota)


@pytest.mark.demand("scale.quotas_are_exact")
async def test_an_owner_without_limits_is_admitted(ledger: Ledger) -> None:
    admitted, _ = await admit_many(ledger, Quota(), 50)
    admitted[0].charge(Usage(1, 1), None)
    for admission in admitted:
        await admission.close()
    assert len(admitted) == 50


@pytest.mark.demand("scale.quotas_are_exact")
async def test_runs_of_a_dead_worker_are_taken_off(clock: FakeClock) -> None:
    store, presence = MemoryStore(clock=clock), FakePresence("2")
    quota = Quota(concurrent_runs=2)
    await admit_many(SharedLedger(store, FakePresence("1"), clock), quota, 2)
    survivor = SharedLedger(store, presence, clock)
    with pytest.raises(TooManyRuns):
        await survivor.admit(ALICE, quota)
    presence.dead = {"1"}
    admitted, refused = await admit_many(survivor, quota, 3)
    assert (len(admitted), len(refused)) == (2, 1)


@pytest.mark.demand("scale.quotas_are_exact")
async def test_what_was_used_counts_although_the_client_has_left(clock: FakeClock) -> None:
    store, quota = MemoryStore(clock=clock), Quota(tokens_per_day=10, concurrent_runs=1)
    ledger = SharedLedger(store, FakePresence("1"), clock)
    admission = await ledger.admit(ALICE, quota)
    admission.charge(Usage(5, 5), None)
    closing = asyncio.create_task(admission.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    await asyncio.gather(*getattr(admission, "updates", ()))
    with pytest.raises(SpendExceeded):
        await ledger.admit(ALICE, quota)


@pytest.mark.demand("scale.quotas_are_exact")
async def test_usage_goes_over_from_one_process_to_several(clock: FakeClock) -> None:
    store, quota = MemoryStore(clock=clock), Quota(tokens_per_day=10)
    alone = UsageTracker(clock, store=store, wall_clock=clock)
    admission = await alone.admit(ALICE, quota)
    admission.charge(Usage(5, 5), None)
    await admission.close()
    clock.now += 100
    with pytest.raises(SpendExceeded) as refused:
        await share(store, clock).admit(ALICE, quota)
    assert refused.value.retry_after == pytest.approx(DAY - 100)


@pytest.mark.demand("scale.quotas_are_exact")
async def test_a_record_that_cannot_be_read_begins_anew_and_a_store_that_fails_refuses_nobody(clock: FakeClock) -> None:
    class FailingStore(MemoryStore):
        async def update_checkpoint(self, *given: object, **named: object) -> None:
            raise StoreFailed("The disk is full.")

    quota = Quota(requests_per_minute=1, concurrent_runs=1, tokens_per_day=1)
    store = MemoryStore(clock=clock)
    await store.save_checkpoint(ALICE, USAGE_KEY, b"{")
    await share(store, clock).admit(ALICE, quota)
    for _ in range(2):
        workers = share(FailingStore(clock=clock), clock)
        admission = await workers.admit(ALICE, quota)
        admission.charge(Usage(5, 5), None)
        await admission.close()
        for ledger in workers.ledgers:
            if ledger.saving is not None:
                ledger.saving.cancel()
                await asyncio.wait([ledger.saving])


class CountedPresence(FakePresence):
    replicas = 4


@pytest.mark.demand("cluster.limits_without_store")
async def test_a_store_that_is_away_leaves_each_worker_its_share(clock: FakeClock) -> None:
    store = AwayStore(clock=clock)
    ledger = SharedLedger(store, CountedPresence("1"), clock)
    quota = Quota(requests_per_minute=40, concurrent_runs=8, tokens_per_day=100)
    first = await ledger.admit(ALICE, quota)
    first.charge(Usage(20, 20), None)
    await first.close()
    running = await ledger.admit(ALICE, quota)
    with store.be_away():
        second = await ledger.admit(ALICE, quota)
        with pytest.raises(TooManyRuns):
            await ledger.admit(ALICE, quota)
        await running.close()
        third = await ledger.admit(ALICE, quota)
        third.charge(Usage(10, 10), None)
        await third.close()
        # 40 tokens were used before: a quarter of the other 60 is this worker's.
        with pytest.raises(SpendExceeded):
            await ledger.admit(ALICE, quota)
        _, refused = await admit_many(ledger, Quota(requests_per_minute=40), 20)
        assert {type(error) for error in refused} == {RateLimited}
        await second.close()
    await wait_until(lambda: not ledger.unsaved)
    usage = read_usage(await store.get_checkpoint(ALICE, USAGE_KEY), clock())
    assert (usage.tokens, usage.running) == (60, {})
    await (await ledger.admit(ALICE, quota)).close()


@pytest.mark.demand("cluster.limits_without_store")
async def test_a_store_that_is_away_admits_all_or_nobody(clock: FakeClock) -> None:
    store = AwayStore(clock=clock)
    quota = Quota(requests_per_minute=1)
    with store.be_away():
        allowing = SharedLedger(store, CountedPresence("1"), clock, "allow")
        admitted, refused = await admit_many(allowing, quota, 20)
        assert (len(admitted), refused) == (20, [])
        refusing = SharedLedger(store, CountedPresence("1"), clock, "refuse")
        with pytest.raises(StoreFailed, match="cannot be counted"):
            await refusing.admit(ALICE, quota)
        await refusing.admit(ALICE, Quota())


@pytest.mark.demand("scale.quotas_are_exact")
async def test_a_client_that_leaves_while_its_run_is_admitted_leaves_its_place() -> None:
    store = SlowStore()
    ledger, quota = SharedLedger(store, FakePresence("1")), Quota(concurrent_runs=1)
    admitting = asyncio.create_task(ledger.admit(ALICE, quota))
    await store.written.wait()
    admitting.cancel()
    store.go_on.set()
    await asyncio.wait([admitting])
    assert admitting.cancelled()
    await (await ledger.admit(ALICE, quota)).close()


@pytest.mark.demand("scale.flows_go_on")
async def test_a_run_that_was_taken_over_is_no_second_request(ledger: Ledger) -> None:
    async def answer(turn: Turn) -> AsyncIterator[Event]:
        yield RunFinished("stop")

    respond = enforce_quotas(Quotas(Quota(requests_per_minute=1)), ledger)(answer)
    turn = Turn(messages=(), owner=ALICE)
    for is_taken_over in (False, True, True):
        assert [event async for event in respond(replace(turn, is_taken_over=is_taken_over))] == [RunFinished("stop")]
    with pytest.raises(RateLimited):
        await anext(aiter(respond(turn)))


async def test_an_owner_without_a_limit_costs_no_write() -> None:
    store = SlowStore()
    admission = await SharedLedger(store, FakePresence("1")).admit(ALICE, Quota())
    admission.charge(Usage(5, 5), PRICED)
    await admission.close()
    assert not store.written.is_set()
