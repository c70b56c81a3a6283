"""The soak must be able to go red, and repeats by its seed. `make test-all` runs it for two minutes."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from evals.soak.drill import SoakReport, run_soak
from evals.soak.load import ABORT_PHASES, Visit
from evals.soak.resources import MAX_POOL_THREADS, Usage, find_growth, format_table
from tests.contract.doors.members import MEMBERS
from tests.kit.timeouts import HANG_TIMEOUT

USAGE = Usage(
    rss_bytes=80e6,
    descriptors=18,
    model_connections=0,
    threads=7,
    children=0,
    tasks=3,
    runs=0,
    thread_rows=0,
    kept_rows=100,
    database_bytes=1e6,
)


@pytest.mark.demand("security.soak")
def test_what_grew_is_named() -> None:
    assert find_growth(USAGE, USAGE) == []
    assert find_growth(USAGE, replace(USAGE, rss_bytes=87e6, database_bytes=1.2e6, model_connections=0)) == []
    assert find_growth(USAGE, replace(USAGE, rss_bytes=89e6)) == ["RSS, MB grew from 80.0 to 89.0"]
    assert find_growth(USAGE, replace(USAGE, database_bytes=2e6)) == ["database, MB grew from 1.0 to 2.0"]
    # A result that is kept has its place in the file.
    assert find_growth(USAGE, replace(USAGE, kept_rows=1100, database_bytes=2e6)) == []
    assert find_growth(USAGE, replace(USAGE, thread_rows=1)) == ["rows of threads grew from 0 to 1"]
    assert find_growth(USAGE, replace(USAGE, model_connections=1)) == ["connections to the model grew from 0 to 1"]
    for name, label in (("descriptors", "descriptors"), ("tasks", "asyncio tasks"), ("children", "child processes")):
        then = getattr(USAGE, name)
        assert find_growth(USAGE, replace(USAGE, **{name: then + 1})) == [f"{label} grew from {then} to {then + 1}"]
    warm = replace(USAGE, model_connections=4)
    assert find_growth(warm, replace(USAGE, model_connections=1)) == ["connections to the model stay open: 1"]
    # The executor's threads are begun one by one; more than it may have are lost ones.
    assert find_growth(USAGE, replace(USAGE, threads=USAGE.threads + MAX_POOL_THREADS)) == []
    assert find_growth(USAGE, replace(USAGE, threads=99)) == ["threads grew from 7 to 99"]
    # What is given back is no problem.
    assert find_growth(USAGE, replace(USAGE, threads=2)) == []


@pytest.mark.demand("security.soak")
def test_visits_repeat_by_their_seed_and_a_third_leaves() -> None:
    visits = [Visit.plan(number, 24) for number in range(3000)]
    assert visits == [Visit.plan(number, 24) for number in range(3000)]
    assert visits != [Visit.plan(number, 25) for number in range(3000)]
    assert {visit.door for visit in visits} == set(MEMBERS)
    assert {visit.abort_phase for visit in visits} == {None, *ABORT_PHASES}
    assert 900 < sum(visit.abort_phase is not None for visit in visits) < 1100
    # Who waits for the end never gets an upstream that has none.
    assert not [visit for visit in visits if visit.abort_phase is None and "stall" in visit.message]


def test_the_table_has_a_column_for_each_time() -> None:
    head, rss, *_ = format_table([("start", USAGE), ("end", replace(USAGE, rss_bytes=81e6))]).splitlines()
    assert head.split() == ["start", "end"]
    assert rss.split() == ["RSS,", "MB", "80.0", "81.0"]


@pytest.mark.demand("security.soak")
@pytest.mark.io
async def test_a_short_soak_runs(tmp_path: Path) -> None:
    """Seconds are too short to judge growth by: only that every visit went as it must."""
    async with asyncio.timeout(4 * HANG_TIMEOUT):
        report: SoakReport = await run_soak(tmp_path, 4, seed=1)
    assert report.counts["visits"] > 0
    assert [problem for problem in report.problems if " grew " not in problem] == []
