"""Every store that keeps threads, with the limits that a test gives as `keep`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.types.threads import Retention
from tests.contract.stores.members import MEMBER_PARAMS, FullStore
from tests.contract.stores.sample_runs import TickingClock


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def retention() -> Retention:
    return Retention()


@pytest.fixture(params=MEMBER_PARAMS)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: TickingClock, retention: Retention
) -> AsyncIterator[FullStore]:
    store: FullStore = request.param(tmp_path, clock=clock, retention=retention)
    yield store
    await store.close()
