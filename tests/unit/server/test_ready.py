"""/ready: false while draining and while a model says that it is down; /health goes on."""

from collections.abc import AsyncIterator

import pytest

from rightseat import Assistant, Runtime
from rightseat.types.chunks import FinishChunk, ModelChunk
from rightseat.types.model import Model, Prompt
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io


class ProcessModel(Model):
    """A model with a process of its own, as a local one has."""

    ready = True

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield FinishChunk("stop")


async def get_statuses(url: str) -> tuple[int, int]:
    found = []
    for path in ("/ready", "/health"):
        async with RawHttpClient(url) as client:
            await client.get(path)
            found.append((await client.read_head()).status)
    return found[0], found[1]


@pytest.mark.demand("server.health_answers_ready_false")
async def test_a_model_that_is_down_and_up_again() -> None:
    child = ProcessModel()
    runtime = Runtime(assistants=[Assistant("default", FakeModel()), Assistant("local", child)])
    async with serve_runtime(runtime) as server:
        assert await get_statuses(server.url) == (200, 200)
        child.ready = False
        assert not runtime.ready
        assert await get_statuses(server.url) == (503, 200)
        child.ready = True
        assert await get_statuses(server.url) == (200, 200)


@pytest.mark.demand("server.health_answers_ready_false")
async def test_draining() -> None:
    runtime = Runtime(model=FakeModel())
    async with serve_runtime(runtime) as server:
        await runtime.drain(0)
        assert await get_statuses(server.url) == (503, 200)
