"""llama-server's /rerank, /props, /slots and /apply-template over a model that is local, as far as a door can tell."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.middleware.quota import Quota, Quotas
from rightseat.types.events import Usage
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.openai.test_openai import post_once

pytestmark = [pytest.mark.io, pytest.mark.demand("llamacpp.llama_server_routes")]

DOCUMENTS = ["a cat", "the dog barks", "no"]


class EngineModel(FakeModel):
    """A model with an engine that has two slots."""

    busy = False

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], Usage]:
        return [float(len(document)) for document in documents], Usage(7)

    async def render_prompt(self, prompt: Prompt) -> str:
        self.prompts.append(prompt)
        return "|".join(f"{message.role}:{message.text}" for message in prompt.messages)

    async def get_engine_props(self) -> dict[str, Any]:
        return {"total_slots": 2, "model_alias": "file"}

    async def list_engine_slots(self) -> list[dict[str, Any]]:
        return [{"id": number, "is_processing": self.busy or number == 0} for number in range(2)]


async def get_once(runtime: Runtime, path: str) -> tuple[int, Any]:
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.get(path)
        return (await client.read_head()).status, await client.read_json()


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/reranking", "/v1/reranking"])
async def test_documents_come_by_falling_relevance(path: str) -> None:
    body = {"query": "dog", "documents": DOCUMENTS, "top_n": 2, "return_documents": True}
    status, told = await post_once(Runtime(model=EngineModel()), body, path)
    assert status == 200
    assert told["results"] == [
        {"index": 1, "relevance_score": 13.0, "document": {"text": "the dog barks"}},
        {"index": 0, "relevance_score": 5.0, "document": {"text": "a cat"}},
    ]
    assert (told["object"], told["usage"]) == ("list", {"prompt_tokens": 7, "total_tokens": 7})


async def test_texts_are_answered_in_the_other_shape() -> None:
    runtime = Runtime(model=EngineModel())
    _, told = await post_once(runtime, {"query": "dog", "texts": DOCUMENTS}, "/rerank")
    assert told == [{"index": 1, "score": 13.0}, {"index": 0, "score": 5.0}, {"index": 2, "score": 2.0}]
    _, told = await post_once(runtime, {"query": "dog", "texts": ["x"], "return_text": True}, "/rerank")
    assert told == [{"index": 0, "score": 1.0, "text": "x"}]


@pytest.mark.parametrize(
    "body",
    [
        {"query": "dog"},
        {"documents": ["a"]},
        {"query": "", "documents": ["a"]},
        {"query": "dog", "documents": []},
        {"query": "dog", "documents": [""]},
        {"query": 5, "documents": ["a"]},
        {"query": "dog", "documents": "a"},
        {"query": "dog", "documents": ["a"], "top_n": 0},
        {"query": "dog", "documents": ["a"] * 1001},
    ],
)
async def test_what_cannot_be_ranked(body: dict[str, Any]) -> None:
    status, told = await post_once(Runtime(model=EngineModel()), body, "/rerank")
    assert (status, told["error"]["type"]) == (400, "invalid_request_error")


async def test_no_reranker_is_told_with_what_to_set() -> None:
    status, told = await post_once(Runtime(model=FakeModel()), {"query": "a", "documents": ["b"]}, "/rerank")
    assert (status, told["error"]["type"]) == (501, "not_supported_error")
    assert "rerank = PATH.gguf" in told["error"]["message"]


async def test_ranking_counts_against_the_quota() -> None:
    runtime = Runtime(model=EngineModel(), quotas=Quotas(Quota(tokens_per_day=5)))
    body = {"query": "a", "documents": ["b"]}
    assert (await post_once(runtime, body, "/rerank"))[0] == 200
    assert (await post_once(runtime, body, "/rerank"))[0] == 429


async def test_properties_by_the_name_that_a_client_sends() -> None:
    assert await get_once(Runtime(model=EngineModel()), "/props") == (200, {"total_slots": 2, "model_alias": "default"})
    status, told = await get_once(Runtime(model=EngineModel()), "/props?model=default")
    assert (status, told["model_alias"]) == (200, "default")


async def test_slots_and_whether_one_is_idle() -> None:
    model = EngineModel()
    status, told = await get_once(Runtime(model=model), "/slots?fail_on_no_slot=1")
    assert (status, [slot["is_processing"] for slot in told]) == (200, [True, False])
    model.busy = True
    assert (await get_once(Runtime(model=model), "/slots"))[0] == 200
    status, told = await get_once(Runtime(model=model), "/slots?fail_on_no_slot=1")
    assert (status, told["error"]["type"]) == (503, "unavailable_error")


async def test_a_model_without_an_engine_says_so() -> None:
    for path in ("/props", "/slots"):
        status, told = await get_once(Runtime(model=FakeModel()), path)
        assert (status, told["error"]["type"]) == (501, "not_supported_error")
    body = {"messages": [{"role": "user", "content": "hi"}]}
    status, told = await post_once(Runtime(model=FakeModel()), body, "/apply-template")
    assert (status, told["error"]["code"]) == (503, "not_configured")


async def test_the_template_gets_the_clients_messages_and_no_assistants_secrets() -> None:
    model = EngineModel()
    runtime = Runtime(model=model, system="The launch code is 7.")
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    body = {"messages": [{"role": "user", "content": "hi"}], "tools": tools}
    assert await post_once(runtime, body, "/apply-template") == (200, {"prompt": "user:hi"})
    assert [tool.name for tool in model.prompts[0].tools] == ["look"]
    status, _ = await post_once(runtime, {"messages": []}, "/apply-template")
    assert status == 400


async def test_the_pages_questions_about_tools_and_streams_have_empty_answers() -> None:
    runtime = Runtime(model=EngineModel())
    assert await get_once(runtime, "/tools") == (200, [])
    assert await post_once(runtime, {"conversation_ids": ["a"]}, "/v1/streams/lookup") == (200, [])


@pytest.mark.demand("llamacpp.llama_server_isolation")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/props"),
        ("POST", "/slots/0?action=erase"),
        ("POST", "/slots/0?action=save"),
        ("POST", "/lora-adapters"),
        ("POST", "/models/load"),
    ],
)
async def test_nothing_that_changes_the_engine_is_served(method: str, path: str) -> None:
    async with serve_runtime(Runtime(model=EngineModel())) as server, RawHttpClient(server.url) as client:
        await client.post_json(path, {"filename": "x"})
        assert (await client.read_head()).status in (404, 405)


@pytest.mark.demand("llamacpp.llama_server_isolation")
async def test_every_route_needs_a_key() -> None:
    keyed = Authenticator(AuthSettings(keys={"ada": Secret("ada-key")}))
    async with serve_runtime(Runtime(model=EngineModel()), authenticate=keyed) as server:
        for path in ("/props", "/slots"):
            async with RawHttpClient(server.url) as client:
                await client.get(path)
                assert (await client.read_head()).status == 401
                assert (await client.read_json())["error"]["type"] == "authentication_error"
        for path in ("/completion", "/infill", "/rerank", "/apply-template"):
            async with RawHttpClient(server.url) as client:
                await client.post_json(path, {})
                assert (await client.read_head()).status == 401
