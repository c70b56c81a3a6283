"""How something of LangChain's is asked, left and cancelled, and what it does not do."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.runnables import RunnableGenerator, RunnableLambda
from langsmith.utils import get_env_var, tracing_is_enabled

from rightseat.errors import Misused, UpstreamTimeout
from rightseat.types.chunks import TextChunk
from rightseat.types.streams import closing
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.vendors.langchain import BlockingChatModel, FakeChatModel, make_message_chunk
from tests.unit.models.langchain.model_calls import HELLO, collect_chunks, make_model

WORDS = [make_message_chunk("w")] * 1000


async def stream_nested(_: Any) -> AsyncIterator[Any]:
    async for word in stream_forever():
        yield word


async def stream_forever() -> AsyncIterator[str]:
    while True:
        yield "w"
        await asyncio.sleep(0.01)


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
@pytest.mark.parametrize(
    "thing",
    [
        FakeChatModel(chunks=WORDS),
        FakeChatModel(chunks=WORDS, delay=0.1),
        RunnableLambda(lambda _: "go") | FakeChatModel(chunks=WORDS, delay=0.1),
        RunnableGenerator(stream_nested),
        RunnableLambda(lambda _: stream_forever()),
        RunnableLambda(lambda _: iter(["w"] * 1000)),
        stream_nested,
    ],
    ids=["at once", "paced", "sequence", "generator", "iterator", "sync iterator", "function"],
)
@pytest.mark.parametrize("how", ["leaving", "cancelling"])
async def test_an_answer_nobody_wants_ends_at_once(thing: Any, how: str) -> None:
    """The suite's own watch fails this test if a generator within is left to the garbage collector."""
    async with asyncio.timeout(HANG_TIMEOUT):
        if how == "leaving":
            async with closing(make_model(thing).stream(HELLO)) as stream:
                await anext(stream)
            return
        begun = asyncio.Event()

        async def read() -> None:
            async with closing(make_model(thing).stream(HELLO)) as stream:
                async for _ in stream:
                    begun.set()
                    await asyncio.sleep(0)

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@contextmanager
def open_slow_model(words: int) -> Iterator[tuple[BlockingChatModel, threading.Event]]:
    release = threading.Event()
    try:
        yield BlockingChatModel(words=["w"] * words, release=release), release
    finally:
        release.set()


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
async def test_a_sync_model_does_not_hold_the_loop_and_can_be_cancelled() -> None:
    with open_slow_model(3) as (thing, _):
        task = asyncio.create_task(collect_chunks(thing))
        assert await asyncio.to_thread(thing.started.wait, HANG_TIMEOUT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(HANG_TIMEOUT):
                await task
        assert threading.current_thread().name not in thing.threads


async def test_a_sync_model_can_be_left() -> None:
    with open_slow_model(3) as (thing, go):
        go.set()
        async with asyncio.timeout(HANG_TIMEOUT), closing(make_model(thing).stream(HELLO)) as stream:
            assert await anext(stream) == TextChunk("w")
            go.clear()


@pytest.mark.parametrize("first", [0.05, HANG_TIMEOUT])
async def test_silence_is_ended(first: float) -> None:
    chunks = [make_message_chunk("w"), make_message_chunk("w")]
    thing = FakeChatModel(chunks=chunks, delay=3600) if first < 1 else RunnableGenerator(_stalls)
    async with asyncio.timeout(HANG_TIMEOUT):
        fragments, error = await collect_chunks(thing, first_timeout=first, idle_timeout=0.1)
    assert isinstance(error, UpstreamTimeout)
    assert fragments == ([] if first < 1 else [TextChunk("w")])
    assert ("begin to answer" if first < 1 else "fell silent") in error.message


async def _stalls(_: Any) -> AsyncIterator[str]:
    yield "w"
    await asyncio.Event().wait()


@pytest.mark.slow
async def test_a_reader_that_takes_its_time_is_no_silence() -> None:
    async with closing(
        make_model(FakeChatModel(chunks=[make_message_chunk("w")] * 2), idle_timeout=0.6).stream(HELLO)
    ) as stream:
        async for _ in stream:
            await asyncio.sleep(0.65)


async def test_a_factory_is_called_once() -> None:
    made: list[FakeChatModel] = []

    async def factory() -> FakeChatModel:
        made.append(FakeChatModel(chunks=[make_message_chunk("ok")]))
        return made[-1]

    asking = make_model(factory)
    for _ in range(2):
        async with closing(asking.stream(HELLO)) as stream:
            assert TextChunk("ok") in [one async for one in stream]
    assert len(made) == 1


async def test_a_factory_of_nothing_says_so() -> None:
    _, error = await collect_chunks(lambda: "no model")
    assert isinstance(error, Misused)
    assert "factory gives str" in error.message


async def test_nothing_is_sent_to_langsmith(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "kit-canary")
    _clear_langsmith_cache()
    seen: list[object] = []

    def look(given: Any) -> Any:
        seen.append(tracing_is_enabled())
        return given

    try:
        assert tracing_is_enabled()
        chain = RunnableLambda(look) | FakeChatModel(chunks=[make_message_chunk("a"), make_message_chunk("b")])
        fragments, error = await collect_chunks(chain)
        assert error is None
        assert fragments[0] == TextChunk("a")
        assert seen == [False]
        # The reader's own context is as it was.
        assert tracing_is_enabled()
    finally:
        monkeypatch.undo()
        _clear_langsmith_cache()


def _clear_langsmith_cache() -> None:
    """LangSmith remembers the environment."""
    remembered: Any = get_env_var
    remembered.cache_clear()


async def test_an_error_of_the_applications_own_code_is_left_as_it_is() -> None:
    def wrong(_: Any) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await collect_chunks(RunnableLambda(wrong))
