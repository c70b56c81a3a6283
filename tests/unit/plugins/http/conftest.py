from collections.abc import AsyncIterator

import pytest

from tests.unit.plugins.http.recording_api import RecordingApi, serve_recording_api


@pytest.fixture
async def api() -> AsyncIterator[RecordingApi]:
    async with serve_recording_api() as made:
        yield made
