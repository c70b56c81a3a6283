"""The OpenAI door's own options: choices, formats, names, older and other endpoints."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Assistant, Prompt, Runtime, tool
from rightseat.middleware.quota import Quota, Quotas
from rightseat.models.openai import OpenAIModel
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Artifact, Usage
from rightseat.types.tools import Result
from rightseat.wiring.runtime import RuntimeParts
from tests.kit import faults
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

HI = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}


async def post_once(runtime: Runtime, body: dict[str, Any], path: str = "/v1/chat/completions") -> tuple[int, Any]:
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.post_json(path, body)
        head = await client.read_head()
        if "event-stream" not in head.headers["content-type"]:
            return head.status, await client.read_json()
        return head.status, [frame.data for frame in [f async for f in client.iterate_frames()]]


async def post_chat(runtime: Runtime, **more: Any) -> tuple[int, Any]:
    return await post_once(runtime, {"messages": HI, **more})


def join_content(body: Any) -> str:
    """Return the text of a whole answer, or of all frames of a streamed one."""
    if isinstance(body, list):
        deltas = [json.loads(frame)["choices"][0]["delta"] for frame in body[:-1]]
        return "".join(delta.get("content") or "" for delta in deltas)
    content: str = body["choices"][0]["message"]["content"]
    return content


class CountingModel:
    """A bare model that numbers its answers."""

    def __init__(self) -> None:
        self.number = 0

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.number += 1
        mine = self.number
        for word in ("answer ", str(mine)):
            await asyncio.sleep(0)
            yield TextChunk(word)
        yield UsageChunk(Usage(3, 2))
        yield FinishChunk("stop")


@pytest.mark.demand("openai.n_several_responders_bare")
async def test_several_choices_whole() -> None:
    status, body = await post_chat(Runtime(model=CountingModel()), n=3)
    assert status == 200
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert {c["message"]["content"] for c in body["choices"]} == {"answer 1", "answer 2", "answer 3"}
    assert body["usage"] == {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15}


@pytest.mark.demand("openai.n_several_responders_bare")
async def test_several_choices_streamed() -> None:
    options = {"include_usage": True}
    status, frames = await post_chat(Runtime(model=CountingModel()), n=2, stream=True, stream_options=options)
    assert status == 200
    assert frames[-1] == "[DONE]"
    chunks = [json.loads(frame) for frame in frames[:-1]]
    assert chunks[-1]["usage"]["total_tokens"] == 10
    texts = {0: "", 1: ""}
    for chunk in chunks[:-1]:
        [choice] = chunk["choices"]
        texts[choice["index"]] += choice["delta"].get("content") or ""
    assert set(texts.values()) == {"answer 1", "answer 2"}
    assert [c["choices"][0]["finish_reason"] for c in chunks[:-1]].count("stop") == 2


@pytest.mark.demand("openai.n_several_responders_bare")
async def test_an_assistant_gives_one_answer() -> None:
    status, body = await post_chat(Runtime(model=CountingModel(), system="You act."), n=2)
    assert (status, body["error"]["param"]) == (400, "n")


@pytest.mark.parametrize("text", ['{"a": 1}', '```json\n{"a": 1}\n```'])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_fits_its_schema(text: str, stream: bool) -> None:
    model = FakeModel(reply_text(*text))
    status, body = await post_chat(Runtime(model=model), response_format=FORMAT, stream=stream)
    assert (status, json.loads(join_content(body))) == (200, {"a": 1})
    assert model.prompts[0].output_schema == SCHEMA


@pytest.mark.demand("openai.response_format_text_json")
async def test_one_repair_and_the_wrong_answer_is_never_seen() -> None:
    model = FakeModel(reply_text('{"a": "one"}'), reply_text('{"a": 1}'))
    status, frames = await post_chat(Runtime(model=model), response_format=FORMAT, stream=True)
    assert status == 200
    assert "one" not in "".join(frames)
    assert "not of type" in model.prompts[1].messages[-1].text


@pytest.mark.demand("openai.response_format_text_json")
@pytest.mark.parametrize("stream", [True, False])
async def test_twice_wrong_is_an_error_before_the_first_byte(stream: bool) -> None:
    model = FakeModel(reply_text("nope"), reply_text("nope again"))
    status, body = await post_chat(Runtime(model=model), response_format={"type": "json_object"}, stream=stream)
    assert (status, body["error"]["code"]) == (502, "invalid_output")


async def test_a_refusal_and_a_cut_answer_are_not_held_to_the_schema() -> None:
    model = FakeModel(reply_text('{"a', finish="length"))
    status, body = await post_chat(Runtime(model=model), response_format=FORMAT)
    assert (status, body["choices"][0]["finish_reason"]) == (200, "length")


@pytest.mark.demand("openai.response_format_text_json")
@pytest.mark.parametrize("stream", [True, False])
async def test_with_tools_the_answer_under_a_schema_is_the_value_alone(stream: bool) -> None:
    @tool
    async def one() -> AsyncIterator[Artifact | Result]:
        """One."""
        yield Artifact("t", "table", "Ones", [{"one": 1}])
        yield Result(1)

    model = FakeModel(reply_calls(("one", "{}"), text="I will look."), reply_text('{"a": 1}'))
    status, body = await post_chat(Runtime(model=model, tools=[one]), response_format=FORMAT, stream=stream)
    assert (status, json.loads(join_content(body))) == (200, {"a": 1})
    assert model.prompts[1].messages[1].text == "I will look."


@pytest.mark.demand("openai.response_format_text_json")
async def test_a_bad_schema_is_named() -> None:
    wrong = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": 7}}}
    status, body = await post_chat(Runtime(model=FakeModel()), response_format=wrong)
    assert (status, body["error"]["param"]) == (400, "response_format.json_schema.schema")


@pytest.mark.demand("openai.tool_choice_auto_none", "openai.unknown_fields_passed_upstream")
async def test_options_reach_the_upstream_as_given() -> None:
    given = {
        "temperature": 0,
        "seed": 0,
        "stop": ["a", "b"],
        "max_completion_tokens": 5,
        "parallel_tool_calls": False,
        "logprobs": True,
        "top_logprobs": 2,
        "user": "u",
        "response_format": FORMAT,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "unknown_field": "dropped",
        "base_url": "http://elsewhere",
    }
    async with FakeUpstream() as upstream:
        await post_chat(Runtime(model=OpenAIModel("m", base_url=upstream.base_url)), **given)
        [sent] = [received.json for received in upstream.requests[:1]]
    passed = ("temperature", "seed", "stop", "parallel_tool_calls", "logprobs", "top_logprobs", "user")
    assert {key: sent[key] for key in passed} == {key: given[key] for key in passed}
    assert sent["max_tokens"] == 5
    assert sent["tool_choice"] == given["tool_choice"]
    assert sent["response_format"] == FORMAT
    assert sent["model"] == "m"
    assert not {"unknown_field", "base_url"} & sent.keys()


@pytest.mark.demand("openai.logprobs_passed_through")
async def test_logprobs_come_back() -> None:
    row = {"token": "a", "logprob": -0.5, "bytes": None, "top_logprobs": []}
    line: list[ModelChunk] = [TextChunk("a", {"content": [row]}), FinishChunk("stop")]
    _, body = await post_chat(Runtime(model=FakeModel(line)), logprobs=True)
    assert body["choices"][0]["logprobs"] == {"content": [row]}
    _, frames = await post_chat(Runtime(model=FakeModel(line)), logprobs=True, stream=True)
    assert any(json.loads(f)["choices"][0]["logprobs"] == {"content": [row]} for f in frames[:-1])


@pytest.mark.demand("openai.server_model_answers_model")
@pytest.mark.parametrize("name", [None, "", "default", "gpt-3.5-turbo", "whatever-x"])
async def test_one_model_answers_to_any_plain_name_and_echoes_it(name: str | None) -> None:
    status, body = await post_chat(Runtime(model=FakeModel(reply_text("ok"))), model=name)
    assert (status, body["model"]) == (200, name or "default")


@pytest.mark.demand("openai.several_configured_name_full", "openai.unknown_404_names_those")
async def test_several_models_have_names() -> None:
    def runtime() -> Runtime:
        two = [Assistant("one", FakeModel(reply_text("1"))), Assistant("two", FakeModel(reply_text("2")))]
        return Runtime(assistants=two, parts=RuntimeParts(aliases={"openai:gpt-2": "two", "gpt-2": "two"}))

    for name, text in {None: "1", "default": "1", "one": "1", "two": "2", "openai:gpt-2": "2", "gpt-2": "2"}.items():
        _, body = await post_chat(runtime(), model=name)
        assert body["choices"][0]["message"]["content"] == text
    for name, advice in {"gpt-9": "Did you mean 'gpt-2'?", "nobody": "one, two"}.items():
        status, body = await post_chat(runtime(), model=name)
        assert (status, body["error"]["param"]) == (404, "model")
        assert advice in body["error"]["message"]


@pytest.mark.demand("openai.get_v1_models_models")
async def test_models_are_listed() -> None:
    async with (
        serve_runtime(Runtime(assistants=[Assistant("one", FakeModel())])) as server,
        RawHttpClient(server.url) as client,
    ):
        await client.get("/v1/models/one")
        await client.read_head()
        assert (await client.read_json())["id"] == "one"
        await client.get("/v1/models/ones")
        assert (await client.read_head()).status == 404
        assert (await client.read_json())["error"]["code"] == "not_found"


@pytest.mark.demand("openai.post_v1_completions")
async def test_the_older_completions() -> None:
    model = FakeModel(reply_text("life", " is"))
    status, body = await post_once(Runtime(model=model), {"prompt": "What?", "max_tokens": 4}, "/v1/completions")
    assert status == 200
    assert body["object"] == "text_completion"
    assert body["choices"] == [{"text": "life is", "index": 0, "logprobs": None, "finish_reason": "stop"}]
    assert [message.text for message in model.prompts[0].messages] == ["What?"]
    assert model.prompts[0].settings.max_tokens == 4
    body = {"prompt": "a", "stream": True}
    _, frames = await post_once(Runtime(model=FakeModel(reply_text("x", "y"))), body, "/v1/completions")
    assert "".join(json.loads(frame)["choices"][0]["text"] for frame in frames[:-1]) == "xy"
    assert frames[-1] == "[DONE]"


@pytest.mark.demand("openai.post_v1_completions")
async def test_several_prompts() -> None:
    status, body = await post_once(Runtime(model=CountingModel()), {"prompt": ["a", "b"]}, "/v1/completions")
    assert status == 200
    assert {choice["text"] for choice in body["choices"]} == {"answer 1", "answer 2"}


@pytest.mark.demand("openai.post_v1_completions")
@pytest.mark.parametrize("odd", [{"echo": True}, {"suffix": "x"}, {"best_of": 3}, {"prompt": [1, 2]}, {"prompt": []}])
async def test_what_the_older_form_cannot_have_is_said(odd: dict[str, Any]) -> None:
    status, _ = await post_once(Runtime(model=FakeModel()), {"prompt": "a", **odd}, "/v1/completions")
    assert status == 400


VECTORS = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 1]}], "model": "m"}


@pytest.mark.demand("openai.post_v1_embeddings_goes")
async def test_embeddings_come_from_the_models_endpoint() -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(json.dumps(VECTORS).encode())
        runtime = Runtime(model=OpenAIModel("emb", base_url=upstream.base_url))
        asked = {"input": ["a"], "model": "any", "dimensions": 2}
        assert await post_once(runtime, asked, "/v1/embeddings") == (200, VECTORS | {"model": "any"})
        [sent] = upstream.requests
    assert sent.json == {"input": ["a"], "dimensions": 2, "model": "emb"}
    assert sent.target == "/v1/embeddings"


@pytest.mark.demand("openai.post_v1_embeddings_goes")
async def test_embeddings_with_empty_fields() -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(json.dumps(VECTORS).encode())
        runtime = Runtime(model=OpenAIModel("emb", base_url=upstream.base_url))
        nulls = dict.fromkeys(("model", "dimensions", "encoding_format", "user", "embd_normalize"))
        assert (await post_once(runtime, {"input": "a", **nulls}, "/v1/embeddings"))[0] == 200
        [sent] = upstream.requests
        assert sent.json == {"input": "a", "model": "emb"}
        status, body = await post_once(runtime, {"input": []}, "/v1/embeddings")
        assert (status, body["error"]["param"], len(upstream.requests)) == (400, "input", 1)


@pytest.mark.demand("openai.post_v1_embeddings_goes")
async def test_embeddings_that_fail() -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.fail_with_status(401)
        runtime = Runtime(model=OpenAIModel("emb", base_url=upstream.base_url, tries=1))
        status, body = await post_once(runtime, {"input": "a"}, "/v1/embeddings")
        assert (status, body["error"]["code"]) == (502, "upstream_denied")
        upstream.reply = faults.answer_body(b"[1]")
        runtime = Runtime(model=OpenAIModel("emb", base_url=upstream.base_url, tries=1))
        status, body = await post_once(runtime, {"input": "a"}, "/v1/embeddings")
        assert (status, body["error"]["code"]) == (502, "upstream_garbled")
    status, body = await post_once(Runtime(model=FakeModel()), {"input": "a"}, "/v1/embeddings")
    assert (status, body["error"]["code"]) == (503, "not_configured")


@pytest.mark.demand("openai.v1_audio_transcriptions_answers")
async def test_speech_is_not_configured() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server, RawHttpClient(server.url) as client:
        form = {"Content-Type": "multipart/form-data; boundary=x"}
        await client.send(build_raw_request("POST", "/v1/audio/transcriptions", b"--x--", form))
        assert (await client.read_head()).status == 503
        error = (await client.read_json())["error"]
    assert (error["code"], error["type"]) == ("not_configured", "server_error")


async def test_embeddings_count_against_the_owners_quota() -> None:
    async with FakeUpstream() as upstream:
        usage = {"usage": {"prompt_tokens": 7, "total_tokens": 7}}
        upstream.reply = faults.answer_body(json.dumps(VECTORS | usage).encode())
        model = OpenAIModel("emb", base_url=upstream.base_url)
        runtime = Runtime(model=model, quotas=Quotas(Quota(tokens_per_day=7)))
        async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
            await client.post_json("/v1/embeddings", {"input": "a"})
            assert (await client.read_head()).status == 200
            await client.read_body()
            await client.post_json("/v1/embeddings", {"input": "a"})
            assert (await client.read_head()).status == 429
            assert (await client.read_json())["error"]["code"] == "spend_exceeded"
    assert len(upstream.requests) == 1
