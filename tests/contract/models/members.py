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
from tests.contract.models.cases import ModelCase
from tests.contract.models.llama import UNSUPPORTED_CASES, make_llama_model
from tests.kit.chunks import encode_json
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import anthropic as anthropic_wire
from tests.kit.vendors import google as google_wire
from tests.kit.vendors import langchain as langchain_kit
from tests.kit.vendors import responses as responses_wire

MakeModel = Callable[[ModelCase], AbstractAsyncContextManager[Model]]


@asynccontextmanager
async def make_openai_model(case: ModelCase, **options: Any) -> AsyncIterator[Model]:
    async with FakeUpstream() as upstream:
        upstream.reply = case.reply
        model = make("kit-model", {"base_url": upstream.base_url, **options})
        try:
            yield model
            # Whatever was asked is answered or given up: a model leaves no work behind.
            await upstream.wait_idle()
        finally:
            await model.close()


def make_responses_model(case: ModelCase) -> AbstractAsyncContextManager[Model]:
    return make_openai_model(replace(case, reply=responses_wire.answer_turn(case.turn)), api="responses")


@asynccontextmanager
async def make_anthropic_model(case: ModelCase) -> AsyncIterator[Model]:
    async with FakeUpstream() as upstream:
        upstream.reply = anthropic_wire.answer_turn(case.turn)
        model = make_anthropic("claude-opus-5-5", {"base_url": upstream.origin})
        try:
            yield model
            await upstream.wait_idle()
        finally:
            await model.close()


@asynccontextmanager
async def make_google_model(case: ModelCase) -> AsyncIterator[Model]:
    async with FakeUpstream() as upstream:
        upstream.reply = google_wire.answer_turn(case.turn)
        model = make_google("gemini-kit", {"base_url": upstream.origin, "api_key": "k"})
        try:
            yield model
            await upstream.wait_idle()
        finally:
            await model.close()


@asynccontextmanager
async def make_langchain_model(case: ModelCase) -> AsyncIterator[Model]:
    with patch.object(langchain_kit, "MODEL", langchain_kit.answer_turn(case.turn), create=True):
        model = make_langchain("tests.kit.vendors.langchain:MODEL", {})
    yield model


@asynccontextmanager
async def make_scripted_model(case: ModelCase) -> AsyncIterator[Model]:
    usage = {} if case.error else {"usage": case.usage}
    yield ScriptFileModel(load_script(encode_json({"turns": [{**case.turn, **usage}]}), case.name))


MEMBERS: dict[str, MakeModel] = {
    "openai": make_openai_model,
    "openai by schema": partial(make_openai_model, tools="schema"),
    "openai by prompt": partial(make_openai_model, tools="prompt"),
    "openai by responses": make_responses_model,
    "anthropic": make_anthropic_model,
    "google": make_google_model,
    "langchain": make_langchain_model,
    "scripted": make_scripted_model,
    "llama.cpp": make_llama_model,
}
# What a member cannot be made to say, by the names of the cases.
UNSUPPORTED: dict[str, frozenset[str]] = {
    "anthropic": anthropic_wire.UNSUPPORTED_CASES,
    "google": google_wire.UNSUPPORTED_CASES,
    "llama.cpp": UNSUPPORTED_CASES,
}
