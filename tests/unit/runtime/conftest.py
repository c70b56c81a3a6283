"""Two workers on every store that they can share."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runtime.shared_workers import STORES, MakeWorkers, Workers


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
async def make_workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MakeWorkers]:
    made: list[Workers] = []

    def make(**limits: Any) -> Workers:
        made.append(Workers(request.param(tmp_path), **limits))
        return made[-1]

    yield make
    for workers in made:
        for worker in (workers.a, workers.b):
            await worker.close()
        for store in (workers.a.store, workers.b.store):
            await store.close()


@pytest.fixture
def workers(make_workers: MakeWorkers) -> Workers:
    return make_workers()
