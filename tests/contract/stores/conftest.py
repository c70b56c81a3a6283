"""Every store that keeps threads, with the limits that a test gives as `keep`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.types.threads import Retention
from tests.contract.stores.members import MEMBERS, Keeper
from tests.contract.stores.saying import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keep() -> Retention:
    return Retention()


@pytest.fixture(params=list(MEMBERS.values()), ids=list(MEMBERS))
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, keep: Retention) -> AsyncIterator[Keeper]:
    store: Keeper = request.param(tmp_path, clock=clock, retention=keep)
    yield store
    await store.close()
