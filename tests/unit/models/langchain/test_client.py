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
from tests.kit.patience import STUCK
from tests.kit.vendors.langchain import Said, Slow, chunk
from tests.unit.models.langchain.asking import HELLO, asked, model

WORDS = [chunk("w")] * 1000


async def nested(_: Any) -> AsyncIterator[Any]:
    async for word in inner():
        yield word


async def inner() -> AsyncIterator[str]:
    while True:
        yield "w"
        await asyncio.sleep(0.01)


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
@pytest.mark.parametrize(
    "thing",
    [
        Said(chunks=WORDS),
        Said(chunks=WORDS, pace=0.1),
        RunnableLambda(lambda _: "go") | Said(chunks=WORDS, pace=0.1),
        RunnableGenerator(nested),
        RunnableLambda(lambda _: inner()),
        RunnableLambda(lambda _: iter(["w"] * 1000)),
        nested,
    ],
    ids=["at once", "paced", "sequence", "generator", "iterator", "sync iterator", "function"],
)
@pytest.mark.parametrize("how", ["leaving", "cancelling"])
async def test_an_answer_nobody_wants_ends_at_once(thing: Any, how: str) -> None:
    """The suite's own watch fails this test if a generator within is left to the garbage collector."""
    async with asyncio.timeout(STUCK):
        if how == "leaving":
            async with closing(model(thing).stream(HELLO)) as stream:
                await anext(stream)
            return
        begun = asyncio.Event()

        async def read() -> None:
            async with closing(model(thing).stream(HELLO)) as stream:
                async for _ in stream:
                    begun.set()
                    await asyncio.sleep(0)

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@contextmanager
def held(words: int) -> Iterator[tuple[Slow, threading.Event]]:
    go = threading.Event()
    try:
        yield Slow(words=["w"] * words, go=go), go
    finally:
        go.set()


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
async def test_a_sync_model_does_not_hold_the_loop_and_can_be_cancelled() -> None:
    with held(3) as (thing, _):
        task = asyncio.create_task(asked(thing))
        assert await asyncio.to_thread(thing.begun.wait, STUCK)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(STUCK):
                await task
        assert threading.current_thread().name not in thing.threads


async def test_a_sync_model_can_be_left() -> None:
    with held(3) as (thing, go):
        go.set()
        async with asyncio.timeout(STUCK), closing(model(thing).stream(HELLO)) as stream:
            assert await anext(stream) == TextChunk("w")
            go.clear()


@pytest.mark.parametrize("first", [0.05, STUCK])
async def test_silence_is_ended(first: float) -> None:
    chunks = [chunk("w"), chunk("w")]
    thing = Said(chunks=chunks, pace=3600) if first < 1 else RunnableGenerator(_stalls)
    async with asyncio.timeout(STUCK):
        fragments, error = await asked(thing, first=first, idle=0.1)
    assert isinstance(error, UpstreamTimeout)
    assert fragments == ([] if first < 1 else [TextChunk("w")])
    assert ("begin to answer" if first < 1 else "fell silent") in error.message


async def _stalls(_: Any) -> AsyncIterator[str]:
    yield "w"
    await asyncio.Event().wait()


@pytest.mark.slow
async def test_a_reader_that_takes_its_time_is_no_silence() -> None:
    async with closing(model(Said(chunks=[chunk("w")] * 2), idle=0.6).stream(HELLO)) as stream:
        async for _ in stream:
            await asyncio.sleep(0.65)


async def test_a_factory_is_called_once() -> None:
    made: list[Said] = []

    async def factory() -> Said:
        made.append(Said(chunks=[chunk("ok")]))
        return made[-1]

    asking = model(factory)
    for _ in range(2):
        async with closing(asking.stream(HELLO)) as stream:
            assert TextChunk("ok") in [one async for one in stream]
    assert len(made) == 1


async def test_a_factory_of_nothing_says_so() -> None:
    _, error = await asked(lambda: "no model")
    assert isinstance(error, Misused)
    assert "factory gives str" in error.message


async def test_nothing_is_sent_to_langsmith(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "kit-canary")
    _forget()
    seen: list[object] = []

    def look(given: Any) -> Any:
        seen.append(tracing_is_enabled())
        return given

    try:
        assert tracing_is_enabled()
        chain = RunnableLambda(look) | Said(chunks=[chunk("a"), chunk("b")])
        fragments, error = await asked(chain)
        assert error is None
        assert fragments[0] == TextChunk("a")
        assert seen == [False]
        # The reader's own context is as it was.
        assert tracing_is_enabled()
    finally:
        monkeypatch.undo()
        _forget()


def _forget() -> None:
    """LangSmith remembers the environment."""
    remembered: Any = get_env_var
    remembered.cache_clear()


async def test_an_error_of_the_applications_own_code_is_left_as_it_is() -> None:
    def wrong(_: Any) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await asked(RunnableLambda(wrong))
