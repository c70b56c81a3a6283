"""Model names at the OpenAI door: listed ids, vendors' names, aliases, and names that nothing has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rightseat import Assistant, Runtime
from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.runtime.model_names import is_vendor_name
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient
from tests.unit.plugins.runtime.api_plugins import serve_json_api, write_api_plugin

HI = [{"role": "user", "content": "hi"}]
VENDOR_NAMES = [
    "gpt-3.5-turbo", "gpt-4o", "GPT-4", "chatgpt-4o-latest", "o1", "o3-mini", "o4-mini-high", "text-davinci-003",
    "text-embedding-3-small", "whisper-1", "claude-3-5-sonnet-latest", "claude-opus-4-5", "gemini-2.5-pro", "gemma-3",
    "llama3.1:8b", "meta-llama/Llama-3.1-8B-Instruct", "qwen2.5-coder", "Qwen/Qwen3-8B", "mistral-large", "mixtral",
    "codestral", "deepseek-chat", "deepseek/deepseek-r1", "grok-4", "command-r-plus", "phi-4", "glm-4.5", "kimi-k2",
    "openai/gpt-4o-mini", "anthropic/claude-3-haiku", "openrouter/auto", "models/gemini-pro", "yi-34b", "ernie-4.0",
    "bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M", "accounts/fireworks/models/llama-v3p1-70b", "rightseat",
    "local-model", "mistral-7b-instruct.Q4_K_M.gguf", "openai:gpt-5-mini", "hunyuan-lite", "doubao-pro",
    "moonshot-v1-8k",
]  # fmt: skip
OTHER_NAMES = [
    "orders.report",
    "helper",
    "o",
    "oo1",
    "olive",
    "internal-bot",
    "gptx",
    "shop.gpt-report",
    "my/model",
    "",
]

FLOW = """
name: report
description: Reports on the hosts.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts, values: {}}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell of {data}"}}
"""
RuntimeFactory = Callable[..., Runtime]


@each_case("name", VENDOR_NAMES)
def test_vendors_names_are_known(name: str) -> None:
    assert is_vendor_name(name)


@each_case("name", OTHER_NAMES)
def test_other_names_are_not_a_vendors(name: str) -> None:
    assert not is_vendor_name(name)


@pytest.fixture
def make_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuntimeFactory:
    monkeypatch.chdir(tmp_path)
    turns = {"turns": [{"when": {"user": "^Tell of"}, "say": "web-01"}, {"say": "the default answers"}]}
    (tmp_path / "turns.json").write_text(json.dumps(turns), "utf-8")

    def make(url: str, toml: str = "", flow: str = FLOW) -> Runtime:
        home = write_api_plugin(tmp_path / "plugins" / "shop", url)
        (home / "flows").mkdir(exist_ok=True)
        (home / "flows" / "report.yaml").write_text(flow, "utf-8")
        table = '[models.m]\nspec = "scripted:turns.json"\n[[plugins]]\npath = "plugins"\nappears = true\n'
        (tmp_path / "rightseat.toml").write_text(f'{table}allow = ["127.0.0.1"]\n{toml}', "utf-8")
        return build_runtime(load_config(env={}), env={})

    return make


async def ask(url: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    async with RawHttpClient(url) as client:
        await client.post_json(path, body)
        return (await client.read_head()).status, await client.read_json()


async def get(url: str, path: str) -> tuple[int, Any]:
    async with RawHttpClient(url) as client:
        await client.get(path)
        return (await client.read_head()).status, await client.read_json()


@pytest.mark.demand("openai.unknown_flow_404", "openai.near_miss_404")
@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("shop.reprot", "Did you mean 'shop.report'?"),
        ("shop.refunds", "The plugin 'shop' has no flow 'refunds'. It has: report."),
        ("shopp.report", "Did you mean 'shop.report'?"),
        ("billing.invoice", "There is no model 'billing.invoice'. Those that exist: default, "),
        ("report", "Did you mean 'shop.report'?"),
        ("Shop", "Did you mean 'shop'?"),
        ("defualt", "Did you mean 'default'?"),
        ("default/fast", "'default' lets nobody choose a model. Send 'default'."),
        ("nobody/fast", "There is no model 'nobody/fast'. Those that exist: default, "),
        (
            "whatever",
            "Those that exist: default, m, shop, shop.report. For a name that should mean one of them, write it",
        ),
    ],
)
@pytest.mark.io
async def test_a_name_that_nothing_has_is_404_at_every_route(
    make_runtime: RuntimeFactory, model: str, hint: str
) -> None:
    async with serve_json_api() as api, serve_runtime(make_runtime(api.url)) as server:
        status, body = await ask(server.url, "/v1/chat/completions", {"model": model, "messages": HI})
        assert (status, body["error"]["code"], body["error"]["param"]) == (404, "not_found", "model"), body
        assert hint in body["error"]["message"]
        for path, more in (
            ("/v1/chat/completions", {"messages": HI, "stream": True}),
            ("/v1/completions", {"prompt": "hi"}),
            ("/v1/embeddings", {"input": "hi"}),
            ("/tokenize", {"content": "hi"}),
            ("/detokenize", {"tokens": [1]}),
        ):
            assert await ask(server.url, path, {"model": model, **more}) == (status, body), path
        assert await get(server.url, f"/v1/models/{model}") == (status, body)
    assert api.requests == []


@pytest.mark.demand("openai.unknown_flow_404")
@pytest.mark.io
async def test_a_broken_flow_is_404_with_the_plugins_own_error(make_runtime: RuntimeFactory) -> None:
    broken = FLOW.replace("GET /hosts", "GET /host")
    async with serve_json_api() as api, serve_runtime(make_runtime(api.url, flow=broken)) as server:
        status, body = await ask(server.url, "/v1/chat/completions", {"model": "shop.report", "messages": HI})
        assert status == 404
        message = body["error"]["message"]
        assert "The flow 'report' of the plugin 'shop' has errors: flows/report.yaml:5: " in message
        assert "openapi.yaml has no operation 'GET /host'. Did you mean 'GET /hosts'?" in message
    assert api.requests == []


@pytest.mark.demand("openai.unknown_flow_404")
@pytest.mark.io
async def test_a_broken_flow_whose_file_has_another_name_is_explained_too(make_runtime: RuntimeFactory) -> None:
    broken = FLOW.replace("GET /hosts", "GET /host").replace("name: report", "name: daily")
    async with serve_json_api() as api, serve_runtime(make_runtime(api.url, flow=broken)) as server:
        status, body = await ask(server.url, "/v1/chat/completions", {"model": "shop.daily", "messages": HI})
    assert (status, "openapi.yaml has no operation 'GET /host'" in body["error"]["message"]) == (404, True)


@pytest.mark.demand("openai.vendor_names_mean_default")
@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "claude-opus-4-5", "openai/gpt-4o", "qwen2.5", "default", "", None])
@pytest.mark.io
async def test_vendors_names_mean_the_default_assistant(make_runtime: RuntimeFactory, model: str | None) -> None:
    async with serve_runtime(make_runtime("http://127.0.0.1:9")) as server:
        status, body = await ask(server.url, "/v1/chat/completions", {"model": model, "messages": HI})
        assert (status, body["model"]) == (200, model or "default")
        assert body["choices"][0]["message"]["content"] == "the default answers"
        if model:
            assert await get(server.url, f"/v1/models/{model}") == (
                200, {"id": model, "object": "model", "created": 0, "owned_by": "rightseat"},
            )  # fmt: skip


@pytest.mark.demand("openai.aliases_in_config")
@pytest.mark.io
async def test_aliases_of_the_file_name_an_assistant_or_a_flow(make_runtime: RuntimeFactory) -> None:
    toml = '[server.aliases]\n"acme-*" = "default"\nhosts = "shop.report"\n"gpt-4" = "shop.report"\nold = "shop.old"\n'
    async with serve_json_api() as api, serve_runtime(make_runtime(api.url, toml)) as server:
        for model, text in (("acme-7", "the default answers"), ("hosts", "web-01"), ("gpt-4", "web-01")):
            status, body = await ask(server.url, "/v1/chat/completions", {"model": model, "messages": HI})
            assert (status, body.get("model")) == (200, model), body
            assert body["choices"][0]["message"]["content"] == text
        assert (await get(server.url, "/v1/models/acme-9"))[0] == 200
        assert (await ask(server.url, "/v1/chat/completions", {"model": "acme", "messages": HI}))[0] == 404
        status, body = await ask(server.url, "/v1/chat/completions", {"model": "old", "messages": HI})
        assert (status, body["error"]["message"]) == (
            404, "The alias 'old' means 'shop.old'. The plugin 'shop' has no flow 'old'. It has: report.",
        )  # fmt: skip
    assert api.requests == ["GET /hosts", "GET /hosts"]


@pytest.mark.demand("openai.aliases_in_config")
def test_an_alias_that_names_nothing_is_an_error_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightseat.toml").write_text('[server.aliases]\nhosts = 3\nempty = ""\n', "utf-8")
    with pytest.raises(ConfigError) as raised:
        load_config(env={})
    assert "rightseat.toml:2: server.aliases.hosts: " in raised.value.message
    assert "rightseat.toml:3: server.aliases.empty: " in raised.value.message


@pytest.mark.demand("openai.vendor_names_mean_default", "openai.near_miss_404")
@pytest.mark.io
async def test_with_several_models_a_vendors_name_close_to_a_listed_one_is_a_typo() -> None:
    assistants = [Assistant("gpt-5", FakeModel(reply_text("5"))), Assistant("claude", FakeModel(reply_text("c")))]
    async with serve_runtime(Runtime(assistants=assistants)) as server:
        status, body = await ask(server.url, "/v1/chat/completions", {"model": "gpt-4", "messages": HI})
        assert (status, "Did you mean 'gpt-5'?" in body["error"]["message"]) == (404, True)
        status, body = await ask(server.url, "/v1/chat/completions", {"model": "llama3", "messages": HI})
        assert (status, body["choices"][0]["message"]["content"]) == (200, "5")


@pytest.mark.demand("openai.near_miss_404")
@pytest.mark.io
async def test_a_name_close_to_an_alias_is_answered_with_it() -> None:
    assistants = [Assistant("default", FakeModel(reply_text("d"))), Assistant("big", FakeModel(reply_text("b")))]
    runtime = Runtime(assistants=assistants)
    runtime.aliases = {"gpt-5": "big", "llama3*": "big"}
    async with serve_runtime(runtime) as server:
        assert (await ask(server.url, "/v1/chat/completions", {"model": "llama2", "messages": HI}))[0] == 200
        status, body = await ask(server.url, "/v1/chat/completions", {"model": "gpt-4", "messages": HI})
        assert (status, "Did you mean 'gpt-5'?" in body["error"]["message"]) == (404, True)


@pytest.mark.demand("openai.server_model_answers_model")
@pytest.mark.io
async def test_a_server_with_nothing_to_choose_takes_any_plain_name() -> None:
    for model, expected in (("my-model", 200), ("x.gguf", 200), ("my/model", 404), ("defaults", 404), ("a.b", 404)):
        async with serve_runtime(Runtime(model=FakeModel(reply_text("ok")))) as server:
            status, _ = await ask(server.url, "/v1/chat/completions", {"model": model, "messages": HI})
            assert status == expected, model
