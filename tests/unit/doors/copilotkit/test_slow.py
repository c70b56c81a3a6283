"""A client that is slow, or leaves: the model waits or ends, and nothing stays behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime, tool
from rightseat.config.settings import GraphQLLimits
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.copilotkit.client import (
    ACCEPT,
    DOCUMENT,
    GENERIC_DOCUMENT,
    PATH,
    UNSTREAMED_DOCUMENT,
    make_input,
    make_request_body,
    parse_answer,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io


class FloodModel:
    """A model that speaks as fast as it is heard, and counts; in several rounds, with a call between them."""

    def __init__(self, chunks: int, words: str, rounds: int = 1) -> None:
        self.rounds = rounds
        self.chunks = chunks
        self.words = words
        self.chunks_sent = 0
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        try:
            for _ in range(self.chunks):
                self.chunks_sent += 1
                if self.chunks_sent == 50:
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


async def wait_until_blocked(model: FloodModel) -> int:
    """How much was said when nothing more is said for a while."""
    before = -1
    while before != model.chunks_sent:
        before = model.chunks_sent
        await asyncio.sleep(0.15)
    return before


@pytest.mark.demand("copilotkit.property_test_fan_event")
@pytest.mark.long
async def test_a_slow_reader_stops_the_model_and_loses_nothing() -> None:
    model = FloodModel(300, "x" * 10_000, rounds=5)
    runtime = Runtime(model=model, tools=[nod])
    async with serve_copilotkit(runtime) as url, RawHttpClient(url, rcvbuf=4096) as client:
        await client.post_json(PATH, make_request_body(make_input()), {"Accept": ACCEPT})
        head = await client.read_head()
        waiting = await wait_until_blocked(model)
        # What fits the buffers of the sockets, and no more.
        assert 0 < waiting < 1000
        answer = parse_answer(head, await client.read_body())
    assert len(answer.text) == 1500 * 10_000
    assert model.chunks_sent == 1500


@pytest.mark.demand("copilotkit.graphql_client_abort_cancels")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT])
async def test_leaving_ends_the_model(document: str) -> None:
    model = FloodModel(10**9, "word ")
    runtime = Runtime(model=model)
    async with serve_copilotkit(runtime) as url:
        async with RawHttpClient(url) as client:
            await client.post_json(PATH, make_request_body(make_input(), document), {"Accept": ACCEPT})
            await asyncio.wait_for(model.begun.wait(), HANG_TIMEOUT)
            assert runtime.active_runs == 1
        await asyncio.wait_for(model.ended.wait(), HANG_TIMEOUT)
    assert runtime.active_runs == 0


@pytest.mark.demand("copilotkit.graphql_client_abort_cancels")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT])
async def test_leaving_before_the_first_word(document: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def silent(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        begun.set()
        try:
            await asyncio.Event().wait()
            yield TextChunk("")
        finally:
            ended.set()

    async with serve_copilotkit(Runtime(model=FakeModel(silent))) as url:
        async with RawHttpClient(url) as client:
            await client.post_json(PATH, make_request_body(make_input(), document), {"Accept": ACCEPT})
            await asyncio.wait_for(begun.wait(), HANG_TIMEOUT)
        await asyncio.wait_for(ended.wait(), HANG_TIMEOUT)


@pytest.mark.demand("copilotkit.property_test_fan_event", "copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("document", [GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT])
async def test_what_must_be_kept_has_a_limit(document: str) -> None:
    limits = GraphQLLimits(max_answer_mb=1)
    model = FloodModel(3000, "x" * 1000)
    async with serve_copilotkit(Runtime(model=model), graphql=limits) as url:
        answer = await post_graphql(url, make_request_body(make_input(), document))
    assert answer.response["status"]["details"]["originalError"]["originalErrorType"] == "too_large"
    assert 1_000_000 < len(answer.text) < 1_010_000
    assert model.ended.is_set()


@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
async def test_many_at_once(document: str) -> None:
    model = FakeModel(*[reply_text(*(f"w{n} " for n in range(20)))] * 30)
    async with serve_copilotkit(Runtime(model=model)) as url:
        answers = await asyncio.gather(
            *(post_graphql(url, make_request_body(make_input(threadId=f"t{n}"), document)) for n in range(30))
        )
    assert {answer.text for answer in answers} == {"".join(f"w{n} " for n in range(20))}
    assert [answer.response["threadId"] for answer in answers] == [f"t{n}" for n in range(30)]
