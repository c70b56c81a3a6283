"""A short crash drill; `make eval` runs the whole one."""

from pathlib import Path

import pytest

from evals.crashes.drill import run_drill

SEED = 5


@pytest.mark.demand("crashes.killed_at_random_points")
@pytest.mark.io
@pytest.mark.timeout(600)
@pytest.mark.parametrize("points", [4, pytest.param(8, marks=pytest.mark.long)])
async def test_killed_at_random_points_no_effect_happens_twice_and_the_log_contradicts_nobody(
    tmp_path: Path, points: int
) -> None:
    report = await run_drill(tmp_path, points, SEED)
    assert report.problems == []
    assert report.points == points
    assert report.restarted > 0
