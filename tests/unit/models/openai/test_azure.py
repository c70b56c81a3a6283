"""OpenAI's models at Azure."""

import asyncio
import sys
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.errors import ConfigError, ContentRefused, UpstreamDenied
from rightseat.models.openai import OpenAIModel, model
from rightseat.models.openai.vendors import build_base_url
from rightseat.types.chunks import FinishChunk, TextChunk
from rightseat.types.model import Prompt, SamplingSettings
from tests.kit import answers, faults
from tests.kit.answers import ChatReply, write_json
from tests.kit.chunks import make_chunk
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.unit.models.model_calls import HELLO, collect_chunks, join_text

pytestmark = pytest.mark.io

FILTERED = {
    "error": {
        "message": "The response was filtered",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
    }
}


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ENDPOINT", "API_KEY", "API_VERSION", "DEPLOYMENT"):
        monkeypatch.delenv(f"AZURE_OPENAI_{name}", raising=False)


@asynccontextmanager
async def connect_azure(name: str = "gpt-4o", **options: Any) -> AsyncIterator[tuple[FakeUpstream, OpenAIModel]]:
    async with FakeUpstream() as upstream:
        made = model(name, {"azure_endpoint": upstream.origin, "api_key": "k", **options})
        try:
            yield upstream, made
        finally:
            await made.close()


@pytest.mark.demand("models.openai_gains_azure")
@pytest.mark.parametrize(
    ("options", "target", "sent"),
    [
        ({"api_version": "2024-10-21", "deployment": "mine"},
         "/openai/deployments/mine/chat/completions?api-version=2024-10-21", "mine"),
        ({"api_version": "2024-10-21"},
         "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "gpt-4o"),
        ({"deployment": "mine"}, "/openai/v1/chat/completions", "mine"),
        ({"api_version": "v1"}, "/openai/v1/chat/completions", "gpt-4o"),
        ({"api_version": "preview"}, "/openai/v1/chat/completions?api-version=preview", "gpt-4o"),
    ],
)  # fmt: skip
async def test_a_deployment_is_asked_where_it_stands(options: dict[str, Any], target: str, sent: str) -> None:
    async with connect_azure(**options) as (upstream, made):
        fragments, error = await collect_chunks(made)
    assert error is None
    assert join_text(fragments) == "w0 w1 w2"
    [request] = upstream.requests
    assert (request.target, request.json["model"]) == (target, sent)
    assert request.headers["api-key"] == "k"
    assert "authorization" not in request.headers


@pytest.mark.parametrize("endpoint", ["https://a.test", "https://a.test/", "https://a.test/openai/v1/"])
def test_an_endpoint_in_any_of_its_spellings(endpoint: str) -> None:
    assert build_base_url(endpoint, "", "d", "chat") == "https://a.test/openai/v1"
    dated = build_base_url(endpoint, "2025-03-01-preview", "d", "responses")
    assert dated == "https://a.test/openai?api-version=2025-03-01-preview"


def test_what_is_missing_or_wrong_is_said() -> None:
    with pytest.raises(ConfigError, match="AZURE_OPENAI_API_KEY"):
        model("gpt-4o", {"azure_endpoint": "https://a.test"})
    with pytest.raises(ConfigError, match="a date such as 2024-10-21"):
        model("gpt-4o", {"azure_endpoint": "https://a.test", "api_key": "k", "api_version": "2024"})
    for target in ("nobody:here", "json:nothing", "json"):
        with pytest.raises(ConfigError, match="token_provider"):
            model("gpt-4o", {"azure_endpoint": "https://a.test", "token_provider": target})


@pytest.mark.demand("models.openai_gains_azure")
async def test_the_environment_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeUpstream() as upstream:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", upstream.origin)
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-env")
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        made = model("dep", {})
        await collect_chunks(made)
        await made.close()
        # Another's server is not shown the key.
        other = model("dep", {"base_url": upstream.base_url})
        await collect_chunks(other)
        await other.close()
    first, second = upstream.requests
    assert first.target == "/openai/deployments/dep/chat/completions?api-version=2024-10-21"
    assert first.headers["api-key"] == "sk-env"
    assert second.target == "/v1/chat/completions"
    assert "api-key" not in second.headers


@pytest.mark.demand("models.openai_gains_azure")
@pytest.mark.parametrize("coroutine", [True, False])
async def test_a_token_of_entra_is_asked_for_each_time(coroutine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter(["one", "two"])
    module = types.ModuleType("entra_kit")

    def plain() -> str:
        return next(given)

    async def later() -> str:
        return next(given)

    vars(module)["token"] = later if coroutine else plain
    monkeypatch.setitem(sys.modules, "entra_kit", module)
    async with connect_azure(api_key=None, token_provider="entra_kit:token") as (upstream, made):
        await collect_chunks(made)
        await collect_chunks(made)
    assert [r.headers["authorization"] for r in upstream.requests] == ["Bearer one", "Bearer two"]


@pytest.mark.demand("models.openai_gains_azure")
async def test_its_content_filter_is_an_error_of_its_own() -> None:
    async def filtered(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, 400, FILTERED)

    async with connect_azure() as (upstream, made):
        upstream.reply = filtered
        fragments, error = await collect_chunks(made)
    assert fragments == []
    assert isinstance(error, ContentRefused)
    assert "content filter" in error.message


@pytest.mark.demand("models.openai_gains_azure")
async def test_what_it_says_of_its_filters_in_the_stream_is_no_answer() -> None:
    results = {"hate": {"filtered": False, "severity": "safe"}}
    first = {
        "id": "",
        "object": "",
        "created": 0,
        "model": "",
        "choices": [],
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": results}],
    }
    word = make_chunk({"content": "hi"})
    word["choices"][0]["content_filter_results"] = results
    offsets = {**make_chunk({}), "choices": [{"index": 0, "content_filter_offsets": {}, "finish_reason": None}]}
    async with connect_azure() as (upstream, made):
        upstream.reply = ChatReply([first, word, offsets], {"content": "hi"}, "content_filter")
        fragments, error = await collect_chunks(made)
    assert error is None
    assert [f for f in fragments if isinstance(f, TextChunk)] == [TextChunk("hi")]
    assert fragments[-1] == FinishChunk("content_filter")


@pytest.mark.demand("models.unknown_tuning_knobs_ignored")
@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("gpt-4o", {"temperature": 0.2, "max_tokens": 5}),
        ("o3-mini", {"max_completion_tokens": 5, "reasoning_effort": "low"}),
    ],
)
async def test_tuning_that_a_model_does_not_know_is_left_out(name: str, sent: dict[str, Any]) -> None:
    settings = SamplingSettings(temperature=0.2, max_tokens=5, extra={"reasoning_effort": "low"})
    async with connect_azure(name) as (upstream, made):
        upstream.reply = answers.answer_text()
        await collect_chunks(made, Prompt(messages=HELLO.messages, settings=settings))
    body = upstream.requests[0].json
    assert {key: body[key] for key in body if key not in ("model", "messages", "stream", "stream_options")} == sent


@pytest.mark.demand("models.openai_gains_azure")
@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "AZURE_OPENAI_API_KEY (api_key)"),
        ({"api_key": None, "token_provider": "entra_kit:token"}, "check token_provider"),
    ],
)
async def test_a_refused_key_is_named_as_it_is_set(
    options: dict[str, Any], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "entra_kit", types.SimpleNamespace(token=lambda: "one"))
    async with connect_azure(**options) as (upstream, made):
        upstream.reply = faults.fail_with_status(401)
        _, failure = await collect_chunks(made)
    assert isinstance(failure, UpstreamDenied)
    assert word in failure.message


@pytest.mark.demand("models.openai_gains_azure")
async def test_a_provider_that_fails_or_hangs_is_a_key_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs() -> str:
        await asyncio.Event().wait()
        return "never"

    def fails() -> str:
        raise OSError("secret words")

    cases = (fails, "failed (OSError)", HANG_TIMEOUT), (hangs, "took longer than 0.05 s", 0.05)
    for provider, words, seconds in cases:
        monkeypatch.setitem(sys.modules, "entra_kit", types.SimpleNamespace(token=provider))
        options: dict[str, Any] = {"token_provider": "entra_kit:token", "first_token_timeout": seconds}
        async with connect_azure(api_key=None, **options) as (upstream, made):
            _, failure = await collect_chunks(made)
        assert isinstance(failure, UpstreamDenied)
        assert words in failure.message
        assert "secret" not in failure.message
        assert not upstream.requests


@pytest.mark.demand("models.openai_gains_azure")
def test_a_provider_whose_module_fails_is_a_mistake_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kit_breaking.py").write_text("raise RuntimeError('no')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="importing kit_breaking failed: RuntimeError"):
        model("gpt-4o", {"azure_endpoint": "https://a.test", "token_provider": "kit_breaking:token"})
