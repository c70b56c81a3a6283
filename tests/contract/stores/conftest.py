"""Every store that keeps threads, with the limits that a test gives as `keep`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.types.threads import Keep
from tests.contract.stores.members import MEMBERS, Keeper
from tests.contract.stores.saying import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keep() -> Keep:
    return Keep()


@pytest.fixture(params=list(MEMBERS.values()), ids=list(MEMBERS))
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, keep: Keep
) -> AsyncIterator[Keeper]:
    store: Keeper = request.param(tmp_path, clock=clock, keep=keep)
    yield store
    await store.close()
