"""How much of threads is kept."""

import pytest

from rightseat.types.events import CallResult, RunFinished, RunStarted
from rightseat.types.threads import Retention, ThreadEntry
from rightseat.types.turn import Owner
from tests.contract.stores.members import FullStore
from tests.contract.stores.sample_runs import ME, RUN_ENTRIES, YOU, TickingClock, append_run, read_all_entries


@pytest.mark.parametrize("retention", [Retention(thread_bytes=5000)])
async def test_a_threads_oldest_runs_go_and_numbers_stay(store: FullStore) -> None:
    entries: list[ThreadEntry] = [RunStarted("t", "r"), CallResult("c", "x" * 2000), RunFinished("stop")]
    for _ in range(6):
        await append_run(store, entries)
    found = await read_all_entries(store)
    numbers = [number for number, _ in found]
    assert numbers == list(range(numbers[0], 19))
    assert numbers[0] % 3 == 1
    assert 1 < numbers[0] <= 13
    thread = await store.get_thread(ME, "t")
    assert thread is not None
    assert thread.size < 9000


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
@pytest.mark.parametrize("retention", [Retention(threads=3)])
async def test_an_owners_oldest_threads_go_and_running_ones_do_not(store: FullStore) -> None:
    await store.begin_run(ME, "live", "r", assistant="", name="")
    await append_run(store, RUN_ENTRIES, "hers", YOU)
    for n in range(5):
        await append_run(store, RUN_ENTRIES, f"t{n}")
    assert {thread.id for thread in await store.list_threads(ME)} == {"live", "t3", "t4"}
    assert await store.get_thread(YOU, "hers") is not None


@pytest.mark.parametrize("retention", [Retention(bytes=20_000)])
async def test_all_threads_together_are_bounded(store: FullStore) -> None:
    entries: list[ThreadEntry] = [CallResult("c", "x" * 4000), RunFinished("stop")]
    for n in range(12):
        await append_run(store, entries, f"t{n}", Owner(f"o{n % 2}"))
    kept = [n for n in range(12) if await store.has_thread(Owner(f"o{n % 2}"), f"t{n}")]
    assert kept == list(range(kept[0], 12))
    assert 4 <= len(kept) <= 6


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
@pytest.mark.parametrize("retention", [Retention(days=2)])
async def test_what_nobody_uses_goes_after_its_days(store: FullStore, clock: TickingClock) -> None:
    await append_run(store, RUN_ENTRIES, "old")
    await store.begin_run(ME, "live", "r", assistant="", name="")
    clock.now += 1.5 * 86400
    await append_run(store, RUN_ENTRIES, "newer")
    clock.now += 86400
    await append_run(store, RUN_ENTRIES, "now")
    assert {thread.id for thread in await store.list_threads(ME)} == {"live", "newer", "now"}
