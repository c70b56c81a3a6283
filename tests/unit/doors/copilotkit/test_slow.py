"""A client that is slow, or leaves: the model waits or ends, and nothing stays behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime, tool
from rightseat.config.settings import GraphQLLimits
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.model import Prompt
from tests.kit.client import Client
from tests.kit.house import Lines, says
from tests.kit.patience import STUCK
from tests.unit.doors.copilotkit.client import ACCEPT, DOCUMENT, GENERIC, PATH, WHOLE, ask, body, data, home, read

pytestmark = pytest.mark.io


class Flood:
    """A model that speaks as fast as it is heard, and counts; in several rounds, with a call between them."""

    def __init__(self, chunks: int, words: str, rounds: int = 1) -> None:
        self.rounds = rounds
        self.chunks = chunks
        self.words = words
        self.said = 0
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        try:
            for _ in range(self.chunks):
                self.said += 1
                if self.said == 50:
                    self.begun.set()
                yield TextChunk(self.words)
                await asyncio.sleep(0)
            self.rounds -= 1
            if self.rounds:
                yield ToolCallStart(0, "nod")
                yield ToolCallArgs(0, "{}")
            yield FinishChunk("calls" if self.rounds else "stop")
        finally:
            self.ended.set()


@tool
def nod() -> None:
    """Nod."""


async def still(model: Flood) -> int:
    """How much was said when nothing more is said for a while."""
    before = -1
    while before != model.said:
        before = model.said
        await asyncio.sleep(0.15)
    return before


@pytest.mark.demand("copilotkit.property_test_fan_event")
@pytest.mark.long
async def test_a_slow_reader_stops_the_model_and_loses_nothing() -> None:
    model = Flood(300, "x" * 10_000, rounds=5)
    runtime = Runtime(model=model, tools=[nod])
    async with home(runtime) as url, Client(url, rcvbuf=4096) as client:
        await client.post(PATH, body(data()), {"Accept": ACCEPT})
        head = await client.head()
        waiting = await still(model)
        # What fits the buffers of the sockets, and no more.
        assert 0 < waiting < 1000
        answer = read(head, await client.body())
    assert len(answer.text) == 1500 * 10_000
    assert model.said == 1500


@pytest.mark.demand("copilotkit.graphql_client_abort_cancels")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC, WHOLE])
async def test_leaving_ends_the_model(document: str) -> None:
    model = Flood(10**9, "word ")
    runtime = Runtime(model=model)
    async with home(runtime) as url:
        async with Client(url) as client:
            await client.post(PATH, body(data(), document), {"Accept": ACCEPT})
            await asyncio.wait_for(model.begun.wait(), STUCK)
            assert runtime.active_runs == 1
        await asyncio.wait_for(model.ended.wait(), STUCK)
    assert runtime.active_runs == 0


@pytest.mark.demand("copilotkit.graphql_client_abort_cancels")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC, WHOLE])
async def test_leaving_before_the_first_word(document: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def silent(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        begun.set()
        try:
            await asyncio.Event().wait()
            yield TextChunk("")
        finally:
            ended.set()

    async with home(Runtime(model=Lines(silent))) as url:
        async with Client(url) as client:
            await client.post(PATH, body(data(), document), {"Accept": ACCEPT})
            await asyncio.wait_for(begun.wait(), STUCK)
        await asyncio.wait_for(ended.wait(), STUCK)


@pytest.mark.demand("copilotkit.property_test_fan_event", "copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("document", [GENERIC, WHOLE])
async def test_what_must_be_kept_has_a_limit(document: str) -> None:
    limits = GraphQLLimits(max_answer_mb=1)
    model = Flood(3000, "x" * 1000)
    async with home(Runtime(model=model), graphql=limits) as url:
        answer = await ask(url, body(data(), document))
    assert answer.response["status"]["details"]["originalError"]["originalErrorType"] == "too_large"
    assert 1_000_000 < len(answer.text) < 1_010_000
    assert model.ended.is_set()


@pytest.mark.parametrize("document", [DOCUMENT, GENERIC])
async def test_many_at_once(document: str) -> None:
    model = Lines(*[says(*(f"w{n} " for n in range(20)))] * 30)
    async with home(Runtime(model=model)) as url:
        answers = await asyncio.gather(*(ask(url, body(data(threadId=f"t{n}"), document)) for n in range(30)))
    assert {answer.text for answer in answers} == {"".join(f"w{n} " for n in range(20))}
    assert [answer.response["threadId"] for answer in answers] == [f"t{n}" for n in range(30)]
