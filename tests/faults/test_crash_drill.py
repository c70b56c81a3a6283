"""A short crash drill; `make eval` runs the whole one."""

from pathlib import Path

import pytest

from evals.crashes.drill import run_drill

POINTS = 8
SEED = 5


@pytest.mark.demand("crashes.killed_at_random_points")
@pytest.mark.io
@pytest.mark.timeout(600)
async def test_killed_at_random_points_no_effect_happens_twice_and_the_log_contradicts_nobody(tmp_path: Path) -> None:
    report = await run_drill(tmp_path, POINTS, SEED)
    assert report.problems == []
    assert report.points == POINTS
    assert report.restarted > 0
