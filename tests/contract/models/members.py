"""Every model of the house, each made to answer a case. A new model is one entry here."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from rightseat.models.openai import model as make
from rightseat.models.scripted import Scripted, load
from rightseat.prompt import Model
from tests.contract.models.cases import Case
from tests.contract.models.llama import UNSAID, llama
from tests.kit.chunks import dump
from tests.kit.upstream import Upstream

Member = Callable[[Case], AbstractAsyncContextManager[Model]]


@asynccontextmanager
async def openai(case: Case, **options: Any) -> AsyncIterator[Model]:
    async with Upstream() as upstream:
        upstream.reply = case.upstream
        model = make("kit-model", {"base_url": upstream.url, **options})
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


MEMBERS: dict[str, Member] = {
    "openai": openai,
    "openai by schema": partial(openai, tools="schema"),
    "openai by prompt": partial(openai, tools="prompt"),
    "scripted": scripted,
    "llama.cpp": llama,
}
# What a member cannot be made to say, by the names of the cases.
UNABLE: dict[str, frozenset[str]] = {"llama.cpp": UNSAID}
