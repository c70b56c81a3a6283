"""The OpenAI door over a model that goes on with a text as it is, and tells its tokens."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat import Assistant, Runtime
from rightseat.errors import CallerError
from rightseat.middleware.quota import Quota, Quotas
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import COMMON_SETTINGS, UNDECLARED, InfillPrompt, RawPrompt, SamplingSettings
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.doors.openai.test_openai import post_once

pytestmark = pytest.mark.io

PATH = "/v1/completions"


class LocalLikeModel(FakeModel):
    """A model that is local, as far as a door can tell."""

    completes = True
    capabilities = replace(UNDECLARED, settings=COMMON_SETTINGS | {"grammar"})

    async def tokenize(self, text: str, *, add: bool, special: bool, pieces: bool) -> list[Any]:
        if pieces:
            return [{"id": 7, "piece": text}]
        return [int(add), int(special), len(text)]

    async def detokenize(self, tokens: list[int]) -> str:
        if max(tokens, default=0) > 100:
            raise CallerError("tokens: there are no such tokens.", param="tokens")
        return "".join(map(chr, tokens))


def make_logprobs(token: str, *others: str) -> dict[str, Any]:
    top = [{"token": other, "logprob": -2.0, "bytes": None} for other in others]
    return {"content": [{"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": top}]}


async def post_completion(model: FakeModel, **body: Any) -> tuple[int, Any]:
    return await post_once(Runtime(model=model, system="You are kind.", tools=[]), body, PATH)


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
async def test_the_prompt_goes_as_it_is_without_system_or_template() -> None:
    model = LocalLikeModel([TextChunk("b"), UsageChunk(Usage(3, 1)), FinishChunk("length")])
    status, body = await post_completion(
        model, prompt="a", max_tokens=1, temperature=0, seed=7, stop=["\n"], grammar='root ::= "b"', user="me"
    )
    assert status == 200
    [prompt] = model.prompts
    assert prompt.raw == RawPrompt("a", 'root ::= "b"')
    assert prompt.tools == ()
    assert [message.role for message in prompt.messages] == ["user"]
    wanted = SamplingSettings(temperature=0, max_tokens=1, seed=7, stop=("\n",), extra={"user": "me"})
    assert prompt.settings == wanted
    assert body["object"] == "text_completion"
    assert body["choices"] == [{"text": "b", "index": 0, "logprobs": None, "finish_reason": "length"}]
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}


@pytest.mark.demand("llamacpp.trigger_words_refused")
async def test_trigger_words_are_refused_in_words() -> None:
    model = LocalLikeModel(reply_text("b"))
    fields = {"prompt": "a", "grammar": 'root ::= "b"', "grammar_trigger_words": ["<function="]}
    status, body = await post_completion(model, **fields)
    assert (status, body["error"]["param"]) == (400, "grammar_trigger_words")
    assert "a grammar holds from the first token" in body["error"]["message"]
    chat = {"messages": [{"role": "user", "content": "hi"}], "grammar_trigger_words": ["<function="]}
    status, body = await post_once(Runtime(model=model), chat)
    assert (status, body["error"]["param"]) == (400, "grammar_trigger_words")
    assert model.prompts == []
    # None at all is no wish.
    assert (await post_completion(model, **(fields | {"grammar_trigger_words": []})))[0] == 200


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
async def test_streamed() -> None:
    model = LocalLikeModel([TextChunk("b"), TextChunk("c"), UsageChunk(Usage(3, 2)), FinishChunk("stop")])
    status, frames = await post_completion(model, prompt="a", stream=True, stream_options={"include_usage": True})
    assert status == 200
    *chunks, counted, done = frames
    assert done == "[DONE]"
    choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
    assert "".join(choice["text"] for choice in choices) == "bc"
    assert choices[-1]["finish_reason"] == "stop"
    assert json.loads(counted)["usage"]["total_tokens"] == 5


@pytest.mark.parametrize(
    ("prompt", "raws"),
    [
        ([5, 6], [RawPrompt((5, 6))]),
        ([[5], [6]], [RawPrompt((5,)), RawPrompt((6,))]),
        (["a", "b"], [RawPrompt("a"), RawPrompt("b")]),
    ],
)
async def test_tokens_and_several_prompts(prompt: Any, raws: list[RawPrompt]) -> None:
    model = LocalLikeModel(*(reply_text("x") for _ in raws))
    status, body = await post_completion(model, prompt=prompt)
    assert status == 200
    assert sorted((one.raw for one in model.prompts), key=repr) == raws
    assert len(body["choices"]) == len(raws)


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
async def test_an_assistant_continues_a_prompt_several_times() -> None:
    model = LocalLikeModel(reply_text("x"), reply_text("y"))
    status, body = await post_completion(model, prompt="a", n=2)
    assert (status, [choice["text"] for choice in body["choices"]]) == (200, ["x", "y"])


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
async def test_probabilities_in_the_older_form_whole_and_streamed() -> None:
    said: list[ModelChunk] = [
        TextChunk("ab", make_logprobs("ab", "x", "y")),
        TextChunk("c", make_logprobs("c")),
        FinishChunk("stop"),
    ]
    whole = {
        "tokens": ["ab", "c"],
        "token_logprobs": [-0.5, -0.5],
        "top_logprobs": [{"x": -2.0, "y": -2.0}, {}],
        "text_offset": [0, 2],
    }
    model = LocalLikeModel(said, said)
    _, body = await post_completion(model, prompt="a", logprobs=2)
    assert model.prompts[0].raw == RawPrompt("a", "", 2)
    assert body["choices"][0]["logprobs"] == whole
    _, frames = await post_completion(model, prompt="a", logprobs=2, stream=True)
    told = [json.loads(one)["choices"][0]["logprobs"] for one in frames[:-1]]
    assert [one["text_offset"] for one in told if one] == [[0], [2]]
    assert [one["tokens"] for one in told if one] == [["ab"], ["c"]]


async def test_echo_is_the_models() -> None:
    model = LocalLikeModel(reply_text("ab"))
    assert (await post_completion(model, prompt="a", echo=True))[0] == 200
    assert model.prompts[0].raw == RawPrompt("a", "", None, True)


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"prompt": "a", "suffix": "z", "echo": True}, "echo"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a", 5]}, "prompt"),
        ({"prompt": ["a"] * 9}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": "a", "echo": True, "logprobs": 1}, "echo"),
        ({"prompt": "a", "logprobs": 6}, "logprobs"),
        ({"prompt": "a", "grammar": 5}, "grammar"),
        ({"prompt": "a", "n": 9}, "n"),
    ],
)
async def test_what_it_does_not_take(body: dict[str, Any], param: str) -> None:
    status, told = await post_completion(LocalLikeModel(), **body)
    assert (status, told["error"]["param"]) == (400, param)


async def test_a_chat_model_still_takes_it_as_a_message() -> None:
    model = FakeModel(reply_text("b"), reply_text("b"))
    assert (await post_completion(model, prompt="a"))[0] == 200
    assert model.prompts[0].raw is None
    assert [message.text for message in model.prompts[0].messages] == ["You are kind.", "a"]
    await post_completion(model, prompt="a", logprobs=3)
    assert model.prompts[1].settings.extra == {"logprobs": True, "top_logprobs": 3}


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"grammar": "x"}, "grammar"),
        ({"suffix": "z"}, "suffix"),
        ({"echo": True}, "echo"),
        ({"prompt": [1, 2]}, "prompt"),
    ],
)
async def test_what_a_chat_model_does_not_take(more: dict[str, Any], param: str) -> None:
    status, told = await post_completion(FakeModel(), **{"prompt": "a"} | more)
    assert (status, told["error"]["param"]) == (400, param)


@pytest.mark.demand("llamacpp.llama_server_routes")
async def test_a_suffix_makes_a_gap() -> None:
    model = LocalLikeModel(reply_text("b"))
    assert (await post_completion(model, prompt="a", suffix="z"))[0] == 200
    assert model.prompts[0].raw == RawPrompt("a", infill=InfillPrompt("z"))


async def test_it_counts_against_the_owners_quota() -> None:
    model = LocalLikeModel([TextChunk("b"), UsageChunk(Usage(30, 12)), FinishChunk("stop")])
    runtime = Runtime(model=model, quotas=Quotas(Quota(tokens_per_day=40)))
    assert (await post_once(runtime, {"prompt": "a"}, PATH))[0] == 200
    assert (await post_once(runtime, {"prompt": "a"}, PATH))[0] == 429


@pytest.mark.demand("llamacpp.tokenize_detokenize")
async def test_tokenize() -> None:
    runtime = Runtime(model=LocalLikeModel())
    assert await post_once(runtime, {"content": "abc"}, "/tokenize") == (200, {"tokens": [0, 1, 3]})
    flags = {"content": "abc", "add_special": True, "parse_special": False}
    assert await post_once(runtime, flags, "/tokenize") == (200, {"tokens": [1, 0, 3]})
    pieces = {"content": "abc", "with_pieces": True}
    assert await post_once(runtime, pieces, "/tokenize") == (200, {"tokens": [{"id": 7, "piece": "abc"}]})


@pytest.mark.demand("llamacpp.tokenize_detokenize")
async def test_detokenize() -> None:
    runtime = Runtime(model=LocalLikeModel())
    assert await post_once(runtime, {"tokens": [97, 98]}, "/detokenize") == (200, {"content": "ab"})
    status, told = await post_once(runtime, {"tokens": [101]}, "/detokenize")
    assert (status, told["error"]["param"]) == (400, "tokens")
    for wrong in ({"tokens": [-1]}, {"tokens": ["a"]}, {"tokens": [2**31]}, {}):
        assert (await post_once(runtime, wrong, "/detokenize"))[0] == 400


@pytest.mark.demand("llamacpp.tokenize_detokenize")
async def test_a_model_is_named_and_one_without_tokens_is_told() -> None:
    runtime = Runtime(assistants=[Assistant("chat", FakeModel()), Assistant("raw", LocalLikeModel())])
    assert (await post_once(runtime, {"content": "a", "model": "raw"}, "/tokenize"))[0] == 200
    for path, body in (("/tokenize", {"content": "a"}), ("/detokenize", {"tokens": [1]})):
        status, told = await post_once(runtime, {**body, "model": "chat"}, path)
        assert (status, told["error"]["code"]) == (503, "not_configured")
    assert (await post_once(runtime, {"content": "a", "model": "gone"}, "/tokenize"))[0] == 404
