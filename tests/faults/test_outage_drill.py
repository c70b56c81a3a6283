"""The outage drill of evals/, in short: an engine is restarted again and again under runs at two servers."""

from pathlib import Path

import pytest

from evals.outages.drill import DrillSettings, run_drill

SEED = 26


@pytest.mark.io
@pytest.mark.drill
@pytest.mark.timeout(600)
@pytest.mark.demand("cluster.outage_cuts_no_stream")
@pytest.mark.parametrize("engine", ["postgres", "valkey"])
async def test_restarts_of_an_engine_cut_no_stream_and_leave_no_thread_busy(tmp_path: Path, engine: str) -> None:
    report = await run_drill(tmp_path, DrillSettings(engine, seconds=20, runs=10, seed=SEED, every=(3, 6)))
    print(report)
    assert report.problems == []
    assert report.outages >= 3
    assert report.runs >= 10
