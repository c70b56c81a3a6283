"""The rows of the comparison with other servers that are rightseat's own; `make eval` measures the others' too."""

from pathlib import Path

import pytest

from evals.alternatives import effects, quotas, readers
from evals.alternatives.promises import PROMISES, list_broken
from evals.alternatives.rows import DrillRow, format_table

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]


@pytest.mark.drill
@pytest.mark.demand("cluster.compared_with_others")
async def test_rightseat_keeps_its_rows_of_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "quotas").mkdir()
    (tmp_path / "effects").mkdir()
    rows = [await quotas.measure_rightseat(tmp_path / "quotas"), *await readers.measure_rightseat()]
    rows.append(await effects.measure_rightseat(tmp_path / "effects"))
    print("\n".join(format_table(rows)))
    assert list_broken(rows) == []


@pytest.mark.demand("cluster.compared_with_others")
def test_a_row_that_breaks_a_promise_is_named_and_a_foreign_one_is_not() -> None:
    figures = {"answered": 200, "others": 0, "seconds": 1.0, "refill": 2}
    ours, theirs = DrillRow("rightseat", quotas.DID, "", figures), DrillRow("LiteLLM", quotas.DID, "", figures)
    missing = {f"not measured: {did}" for did in PROMISES if did != quotas.DID}
    assert {*list_broken([theirs])} == missing | {f"not measured: {quotas.DID}"}
    assert {*list_broken([ours, theirs])} - missing == {f"{quotas.DID}:  {figures}"}
