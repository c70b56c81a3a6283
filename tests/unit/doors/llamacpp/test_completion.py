"""llama-server's /completion and /infill over a model that is local, as far as a door can tell."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Assistant, Runtime
from rightseat.errors import ContextTooLong, NotConfigured
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy, TextRules, WordList
from rightseat.middleware.quota import Quota, Quotas
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import InfillPrompt, Prompt, RawPrompt, SamplingSettings
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.openai.test_openai import post_once

pytestmark = pytest.mark.io

ROUTES = pytest.mark.demand("llamacpp.llama_server_routes")
REPORT = {
    "id_slot": 1,
    "prompt": "a",
    "stop_type": "word",
    "stopping_word": "END",
    "generation_settings": {"n_predict": 2},
    "timings": {"predicted_n": 2},
}


class RawModel(FakeModel):
    completes = True


def report_text(*texts: str) -> list[ModelChunk]:
    pieces: list[ModelChunk] = [
        TextChunk(text, {"content": [{"id": number, "token": text, "logprob": -0.5}], "tokens": [number]})
        for number, text in enumerate(texts)
    ]
    return [*pieces, UsageChunk(Usage(3, len(texts))), FinishChunk("stop", REPORT)]


async def complete(model: FakeModel, path: str = "/completion", **body: Any) -> tuple[int, Any]:
    return await post_once(Runtime(model=model, system="You are kind."), body, path)


def get_raw(model: FakeModel) -> RawPrompt:
    [prompt] = model.prompts
    assert prompt.raw is not None
    return prompt.raw


@ROUTES
async def test_a_whole_answer_has_llama_servers_fields() -> None:
    model = RawModel(report_text("b", "c"))
    status, body = await complete(model, prompt="a", n_predict=2, stop=["END"], return_tokens=True, n_probs=1)
    assert status == 200
    assert (body["content"], body["tokens"], body["stop"]) == ("bc", [0, 1], True)
    assert (body["tokens_evaluated"], body["tokens_predicted"]) == (3, 2)
    assert body.items() >= REPORT.items()
    assert [item["token"] for item in body["completion_probabilities"]] == ["b", "c"]
    raw = get_raw(model)
    assert (raw.text, raw.reports, raw.options) == ("a", True, {"n_probs": 1, "return_tokens": True})
    assert model.prompts[0].settings == SamplingSettings(max_tokens=2, stop=("END",))


@ROUTES
async def test_tokens_and_probabilities_come_only_if_asked_for() -> None:
    _, body = await complete(RawModel(report_text("b")), prompt="a")
    assert body["tokens"] == []
    assert "completion_probabilities" not in body


@ROUTES
async def test_a_stream_ends_with_stop_and_nothing_after_it() -> None:
    status, frames = await complete(RawModel(report_text("b", "c")), prompt="a", stream=True)
    assert status == 200
    *deltas, end = [json.loads(frame) for frame in frames]
    assert [(chunk["content"], chunk["tokens"], chunk["stop"]) for chunk in deltas] == [
        ("b", [0], False),
        ("c", [1], False),
    ]
    assert (end["content"], end["stop"], end["stop_type"], end["stopping_word"]) == ("", True, "word", "END")


@ROUTES
@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        ("a", ["a"]),
        ([5, 6], [(5, 6)]),
        ([5, "b", 6], [(5, "b", 6)]),
        (["a", "b"], ["a", "b"]),
        ([[5, "b"], "c", {"prompt_string": "d"}], [(5, "b"), "c", "d"]),
    ],
)
async def test_every_form_of_a_prompt(prompt: Any, texts: list[Any]) -> None:
    model = RawModel(*(report_text("x") for _ in texts))
    status, body = await complete(model, prompt=prompt)
    assert status == 200
    assert sorted((asked.raw.text for asked in model.prompts if asked.raw), key=str) == sorted(texts, key=str)
    assert isinstance(body, list) == (len(texts) > 1)
    if isinstance(body, list):
        assert [result["index"] for result in body] == list(range(len(texts)))


@ROUTES
async def test_several_completions_of_each_prompt() -> None:
    model = RawModel(*(report_text("x") for _ in range(4)))
    _, frames = await complete(model, prompt=["a", "b"], n_cmpl=2, stream=True)
    ends = [chunk for chunk in map(json.loads, frames) if chunk["stop"]]
    assert sorted(chunk["index"] for chunk in ends) == [0, 1, 2, 3]
    assert sorted(str(asked.raw.text) for asked in model.prompts if asked.raw) == ["a", "a", "b", "b"]


@ROUTES
async def test_options_reach_the_engine_checked_and_no_others_do() -> None:
    model = RawModel(report_text("x"))
    options: dict[str, Any] = {
        "temperature": 0.5,
        "top_k": 3,
        "min_p": 0.1,
        "seed": 0,
        "repeat_last_n": -1,
        "samplers": ["top_k", "temperature"],
        "cache_prompt": False,
        "logit_bias": {"5": False, "Hello": 1.5},
        "n_predict": 0,
    }
    unread: dict[str, Any] = {
        "id_slot": 3,
        "slot_save_path": "/etc",
        "speculative.n_max": 9,
        "verbose": True,
        "model_path": "/x",
    }
    assert (await complete(model, prompt="a", **options, **unread))[0] == 200
    assert get_raw(model).options == {
        **{name: options[name] for name in ("temperature", "top_k", "min_p", "seed", "samplers", "cache_prompt")},
        "repeat_last_n": 65536,
        "logit_bias": [[5, False], ["Hello", 1.5]],
        "n_predict": 0,
        "return_tokens": True,
    }


@ROUTES
@pytest.mark.parametrize(
    ("bias", "sent"), [({"9" * 30: 1}, ["9" * 30, 1.0]), ([["5", 1]], ["5", 1.0]), ({"5": 1}, [5, 1.0])]
)
async def test_a_bias_of_a_text_and_of_a_token(bias: Any, sent: list[Any]) -> None:
    model = RawModel(report_text("b"))
    assert (await complete(model, prompt="a", logit_bias=bias))[0] == 200
    assert get_raw(model).options["logit_bias"] == [sent]


@ROUTES
async def test_a_grammar_or_a_schema() -> None:
    model = RawModel(report_text("x"), report_text("x"))
    assert (await complete(model, prompt="a", grammar='root ::= "x"'))[0] == 200
    assert get_raw(model).grammar == 'root ::= "x"'
    model = RawModel(report_text("x"))
    assert (await complete(model, prompt="a", json_schema={"type": "integer"}))[0] == 200
    assert get_raw(model).schema == {"type": "integer"}


@ROUTES
async def test_named_fields_only_and_nested_ones_at_the_top() -> None:
    fields = ["content", "generation_settings/n_predict", "timings/gone", "nothing"]
    _, body = await complete(RawModel(report_text("b")), prompt="a", response_fields=fields)
    assert body == {"content": "b", "n_predict": 2}


@ROUTES
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": 7},
        {"prompt": []},
        {"prompt": [[]]},
        {"prompt": [1, [2]]},
        {"prompt": ["a"] * 9},
        {"prompt": ["a"] * 5, "n_cmpl": 2},
        {"prompt": [-1]},
        {"prompt": [1, *["a"] * 65]},
        {"prompt": [["a"] * 65]},
        {"prompt": "a", "lora": [{"id": 0, "scale": 1}]},
        {"prompt": "a", "grammar_lazy": True},
        {"prompt": "a", "grammar_trigger_words": ["<function="]},
        {"prompt": "a", "grammar": "x", "json_schema": {}},
        {"prompt": "a", "n_predict": -2},
        {"prompt": "a", "n_probs": 100_000},
        {"prompt": "a", "samplers": ["rm"]},
        {"prompt": "a", "dry_sequence_breakers": []},
        {"prompt": "a", "repeat_last_n": 1 << 30},
        {"prompt": "a", "temperature": "hot"},
        {"prompt": "a", "logit_bias": {f"{number}": 1 for number in range(1001)}},
        {"prompt": "a", "logit_bias": {"9" * 5000: 1}},
    ],
)
async def test_what_is_wrong_is_refused_in_llama_servers_shape(body: dict[str, Any]) -> None:
    model = RawModel()
    status, told = await complete(model, **body)
    assert status == 400
    assert told == {"error": {"code": 400, "message": told["error"]["message"], "type": "invalid_request_error"}}
    assert model.prompts == []


@ROUTES
async def test_a_model_that_is_not_local_says_what_to_do() -> None:
    for path, body in (("/completion", {"prompt": "a"}), ("/infill", {"input_prefix": "a", "input_suffix": "b"})):
        status, told = await complete(FakeModel(), path, **body)
        assert (status, told["error"]["type"]) == (501, "not_supported_error")
        assert "Name one that is local" in told["error"]["message"]
    runtime = Runtime(assistants=[Assistant("chat", FakeModel()), Assistant("raw", RawModel(report_text("b")))])
    assert (await post_once(runtime, {"prompt": "a", "model": "raw"}, "/completion"))[0] == 200
    assert (await post_once(runtime, {"prompt": "a", "model": "gone"}, "/completion"))[0] == 404


@ROUTES
async def test_failures_before_and_in_the_middle_of_a_stream() -> None:
    async def fail_early(_: Prompt) -> AsyncIterator[ModelChunk]:
        raise ContextTooLong("Too long: cut it.")
        yield  # pragma: no cover

    async def fail_late(_: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("b")
        raise NotConfigured("Gone.")

    status, told = await complete(RawModel(fail_early), prompt="a", stream=True)
    assert (status, told["error"]["type"]) == (400, "exceed_context_size_error")
    status, frames = await complete(RawModel(fail_late), prompt="a", stream=True)
    assert status == 200
    first, last = map(json.loads, frames)
    assert first["content"] == "b"
    assert last["error"] == {"code": 501, "message": "Gone.", "type": "not_supported_error"}
    assert (await complete(RawModel(fail_late), prompt="a"))[0] == 501


@ROUTES
async def test_a_client_that_leaves_cancels_the_answer() -> None:
    gone = asyncio.Event()

    async def never_end(_: Prompt) -> AsyncIterator[ModelChunk]:
        try:
            yield TextChunk("b")
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with serve_runtime(Runtime(model=RawModel(never_end))) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/completion", {"prompt": "a", "stream": True})
            await client.read_head()
            await client.read_frame()
        async with asyncio.timeout(HANG_TIMEOUT):
            await gone.wait()


@ROUTES
async def test_a_gap_with_its_files() -> None:
    model = RawModel(report_text("b"))
    status, body = await complete(
        model,
        "/infill",
        input_prefix="def f(",
        input_suffix="return",
        prompt="x",
        input_extra=[{"text": "y", "filename": "y.py"}, {"text": "z"}],
        n_predict=3,
    )
    assert (status, body["content"]) == (200, "b")
    raw = get_raw(model)
    assert raw.text == "def f("
    assert raw.infill == InfillPrompt("return", (("y.py", "y"), ("", "z")), "x")


@ROUTES
@pytest.mark.parametrize(
    "more",
    [{"input_extra": "x"}, {"input_extra": {}}, {"input_extra": ["x"]}, {"input_extra": [{"text": 1}]}, {"prompt": 1}],
)
async def test_a_gap_that_is_none(more: dict[str, Any]) -> None:
    status, told = await complete(RawModel(), "/infill", input_prefix="a", input_suffix="b", **more)
    assert (status, told["error"]["type"]) == (400, "invalid_request_error")
    assert (await complete(RawModel(), "/infill", input_prefix="a"))[0] == 400


@pytest.mark.demand("llamacpp.llama_server_isolation")
async def test_quotas_count_and_limit() -> None:
    model = RawModel(report_text("b"))
    runtime = Runtime(model=model, quotas=Quotas(Quota(tokens_per_day=4)))
    assert (await post_once(runtime, {"prompt": "a"}, "/completion"))[0] == 200
    status, told = await post_once(runtime, {"prompt": "a"}, "/completion")
    assert (status, told["error"]["code"]) == (429, 429)


@pytest.mark.demand("llamacpp.llama_server_isolation")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/completion", {"prompt": "a gun"}),
        ("/completion", {"prompt": [1, 2]}),
        ("/infill", {"input_prefix": "a", "input_suffix": "gun"}),
        ("/infill", {"input_prefix": "a", "input_suffix": "b", "prompt": "gun"}),
        ("/infill", {"input_prefix": "a", "input_suffix": "b", "input_extra": [{"text": "gun"}]}),
    ],
)
async def test_guardrails_see_every_text(path: str, body: dict[str, Any]) -> None:
    model = RawModel()
    guards = GuardrailPolicies(GuardrailPolicy(input=TextRules(deny=WordList(["gun"]))))
    status, _ = await post_once(Runtime(model=model, guards=guards), body, path)
    assert status == 400
    assert model.prompts == []


@pytest.mark.demand("llamacpp.llama_server_isolation")
async def test_a_text_that_a_guardrail_changes_has_no_tokens() -> None:
    model = RawModel(report_text("my", " gun"))
    guards = GuardrailPolicies(GuardrailPolicy(output=TextRules(deny=WordList(["gun"])), replacement="No."))
    _, body = await post_once(
        Runtime(model=model, guards=guards), {"prompt": "a", "return_tokens": True}, "/completion"
    )
    assert "gun" not in json.dumps(body)
    assert 1 not in body.get("tokens", [])


async def test_another_reason_than_the_engines_own() -> None:
    _, body = await complete(RawModel(reply_text("b", finish="length")), prompt="a")
    assert (body["content"], body["stop_type"], body["tokens"]) == ("b", "limit", [])
