"""Every store that keeps threads, with the limits that a test gives as `keep`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.types.threads import Retention
from tests.contract.stores.members import MEMBER_PARAMS, FullStore, make_schema_name
from tests.contract.stores.sample_runs import TickingClock


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def retention() -> Retention:
    return Retention()


@pytest.fixture
def url() -> str:
    """Address of this session's PostgreSQL."""
    # Imported here: the other stores are tested where there is no PostgreSQL too.
    from tests.kit.postgres import get_session_server

    return get_session_server().url


@pytest.fixture
def schema() -> str:
    """Name of a schema that no other test has."""
    return make_schema_name()


@pytest.fixture(params=MEMBER_PARAMS)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: TickingClock, retention: Retention
) -> AsyncIterator[FullStore]:
    store: FullStore = request.param(tmp_path, clock=clock, retention=retention)
    yield store
    await store.close()
