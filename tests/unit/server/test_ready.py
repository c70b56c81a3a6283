"""/ready: false while draining and while a model says that it is down; /health goes on."""

from collections.abc import AsyncIterator

import pytest

from rightseat import Assistant, Runtime
from rightseat.types.chunks import FinishChunk, ModelChunk
from rightseat.types.model import Model, Prompt
from tests.kit.client import Client
from tests.kit.house import Lines, house

pytestmark = pytest.mark.io


class Child(Model):
    """A model with a process of its own, as a local one has."""

    ready = True

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield FinishChunk("stop")


async def statuses(url: str) -> tuple[int, int]:
    found = []
    for path in ("/ready", "/health"):
        async with Client(url) as client:
            await client.get(path)
            found.append((await client.head()).status)
    return found[0], found[1]


@pytest.mark.demand("server.health_answers_ready_false")
async def test_a_model_that_is_down_and_up_again() -> None:
    child = Child()
    runtime = Runtime(assistants=[Assistant("default", Lines()), Assistant("local", child)])
    async with house(runtime) as server:
        assert await statuses(server.url) == (200, 200)
        child.ready = False
        assert not runtime.ready
        assert await statuses(server.url) == (503, 200)
        child.ready = True
        assert await statuses(server.url) == (200, 200)


@pytest.mark.demand("server.health_answers_ready_false")
async def test_draining() -> None:
    runtime = Runtime(model=Lines())
    async with house(runtime) as server:
        await runtime.drain(0)
        assert await statuses(server.url) == (503, 200)
