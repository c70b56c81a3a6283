"""Stops the processes of the databases that a test has opened."""

from collections.abc import AsyncIterator

import pytest

import rightseat
from tests.unit.plugins.sql.shops import opened_shops


@pytest.fixture
async def close_shops() -> AsyncIterator[None]:
    yield
    while opened_shops:
        await opened_shops.pop().close()


@pytest.fixture
async def close_table_query() -> AsyncIterator[None]:
    yield
    assert rightseat.table_query.close is not None
    await rightseat.table_query.close()
