"""Every model of the house, each made to answer a case. A new model is one entry here."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from rightseat.models.anthropic import model as make_anthropic
from rightseat.models.google import model as make_google
from rightseat.models.langchain import model as make_langchain
from rightseat.models.openai import model as make
from rightseat.models.scripted import ScriptFileModel, load_script
from rightseat.types.model import Model
from tests.contract.models.cases import Case
from tests.contract.models.llama import UNSAID, llama
from tests.kit.chunks import dump
from tests.kit.upstream import Upstream
from tests.kit.vendors import anthropic as anthropic_wire
from tests.kit.vendors import google as google_wire
from tests.kit.vendors import langchain as langchain_kit
from tests.kit.vendors import responses as responses_wire

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


def responses(case: Case) -> AbstractAsyncContextManager[Model]:
    return openai(replace(case, upstream=responses_wire.of_turn(case.turn)), api="responses")


@asynccontextmanager
async def anthropic(case: Case) -> AsyncIterator[Model]:
    async with Upstream() as upstream:
        upstream.reply = anthropic_wire.of_turn(case.turn)
        model = make_anthropic("claude-opus-5-5", {"base_url": upstream.origin})
        try:
            yield model
            await upstream.quiet()
        finally:
            await model.close()


@asynccontextmanager
async def google(case: Case) -> AsyncIterator[Model]:
    async with Upstream() as upstream:
        upstream.reply = google_wire.of_turn(case.turn)
        model = make_google("gemini-kit", {"base_url": upstream.origin})
        try:
            yield model
            await upstream.quiet()
        finally:
            await model.close()


@asynccontextmanager
async def langchain(case: Case) -> AsyncIterator[Model]:
    with patch.object(langchain_kit, "MODEL", langchain_kit.of_turn(case.turn), create=True):
        model = make_langchain("tests.kit.vendors.langchain:MODEL", {})
    yield model


@asynccontextmanager
async def scripted(case: Case) -> AsyncIterator[Model]:
    usage = {} if case.fails else {"usage": case.usage}
    yield ScriptFileModel(load_script(dump({"turns": [{**case.turn, **usage}]}), case.name))


MEMBERS: dict[str, Member] = {
    "openai": openai,
    "openai by schema": partial(openai, tools="schema"),
    "openai by prompt": partial(openai, tools="prompt"),
    "openai by responses": responses,
    "anthropic": anthropic,
    "google": google,
    "langchain": langchain,
    "scripted": scripted,
    "llama.cpp": llama,
}
# What a member cannot be made to say, by the names of the cases.
UNABLE: dict[str, frozenset[str]] = {
    "anthropic": anthropic_wire.UNSAID,
    "google": google_wire.UNSAID,
    "llama.cpp": UNSAID,
}
