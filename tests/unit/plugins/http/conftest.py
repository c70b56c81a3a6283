from collections.abc import AsyncIterator

import pytest

from tests.unit.plugins.http.target import Target, target


@pytest.fixture
async def api() -> AsyncIterator[Target]:
    async with target() as made:
        yield made
