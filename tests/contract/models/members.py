"""Every model of the house, each made to answer a case. A new model is one entry here."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from rightseat.models.openai import OpenAI
from rightseat.models.scripted import Scripted, load
from rightseat.prompt import Model
from tests.contract.models.cases import Case
from tests.kit.chunks import dump
from tests.kit.upstream import Upstream

Member = Callable[[Case], AbstractAsyncContextManager[Model]]


@asynccontextmanager
async def openai(case: Case) -> AsyncIterator[Model]:
    async with Upstream() as upstream:
        upstream.reply = case.upstream
        model = OpenAI("kit-model", base_url=upstream.url)
        try:
            yield model
            # Whatever was asked is answered or given up: a model leaves no work behind.
            await upstream.quiet()
        finally:
            await model.close()


@asynccontextmanager
async def scripted(case: Case) -> AsyncIterator[Model]:
    usage = {} if case.fails else {"usage": case.usage}
    yield Scripted(load(dump({"turns": [{**case.turn, **usage}]}), case.name))


MEMBERS: dict[str, Member] = {"openai": openai, "scripted": scripted}
