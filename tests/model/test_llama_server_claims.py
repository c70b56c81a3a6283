"""The claims of llama.cpp's own server tests, as cases of ours over the embedded model.

`llama_server_claims.toml` lists those tests by name, each with the case here or the reason why it does not apply.
"""

import ast
import asyncio
import base64
import json
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.wiring.lookup import make_model
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.models.llamacpp.test_tiny_models import PNG, TinyServer

ROOT = Path(__file__).parents[2]
CLAIMS = tomllib.loads(Path(__file__).with_name("llama_server_claims.toml").read_text())
PROMPT = "I believe the meaning of life is"
BOOK = [{"role": "system", "content": "Book"}, {"role": "user", "content": "What is the best book"}]
CONTEXT = 512
FILES = 27

module_loop = pytest.mark.asyncio(loop_scope="module")
with_model = [pytest.mark.model, pytest.mark.io, pytest.mark.long, pytest.mark.timeout(600), module_loop]
CLAIM = pytest.mark.demand("llamacpp.llama_server_tests")


def apply_marks(function: Any) -> Any:
    for mark in (*with_model, CLAIM):
        function = mark(function)
    return function


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[TinyServer]:
    model = make_model("local", {"context": CONTEXT, "slots": 2, "pooling": "mean"})
    async with serve_runtime(Runtime(model=model)) as running:
        yield TinyServer(running.url)


async def complete(server: TinyServer, **body: Any) -> Any:
    status, told = await server.post("/completion", **{"prompt": PROMPT, "n_predict": 8, "seed": 42, **body})
    assert status == 200, told
    return told


async def chat(server: TinyServer, **body: Any) -> Any:
    status, told = await server.post("/chat/completions", **{"messages": BOOK, "max_tokens": 8, **body})
    assert status == 200, told
    return told


@CLAIM
def test_every_claim_has_a_case_or_a_reason() -> None:
    tree = ast.parse(Path(__file__).read_text())
    cases = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    used: set[str] = set()
    for file, claims in CLAIMS.items():
        assert claims, file
        for name, answer in claims.items():
            assert name == "*" or name.startswith("test_"), (file, name)
            if answer.startswith("test_"):
                used.add(answer)
                assert answer in cases, (file, name, answer)
            elif answer.startswith("tests/"):
                path, _, case = answer.partition("::")
                assert (ROOT / path).is_file(), (file, name, path)
                assert not case or f"def {case}(" in (ROOT / path).read_text(), (file, name, case)
            else:
                assert len(answer.split()) >= 4, f"{file}: {name} has no reason"
    assert {name for name in cases if name.startswith("test_")} <= used, "a case that no claim names"
    assert len(CLAIMS) == FILES, "the files of llama.cpp's tests; a new one gets cases or a reason"


@apply_marks
async def test_a_completion_whole_and_streamed(server: TinyServer) -> None:
    whole = await complete(server, return_tokens=True, cache_prompt=False, temperature=0)
    assert (whole["timings"]["predicted_n"], whole["truncated"], whole["stop_type"]) == (8, False, "limit")
    assert whole["tokens_evaluated"] == whole["timings"]["prompt_n"] + whole["timings"]["cache_n"]
    assert isinstance(whole["has_new_line"], bool)
    assert len(whole["tokens"]) == 8
    assert (await complete(server))["tokens"] == []
    *deltas, end = await complete(server, stream=True, cache_prompt=False, temperature=0)
    assert all(chunk["tokens"] and not chunk["stop"] for chunk in deltas)
    assert "".join(chunk["content"] for chunk in deltas) == whole["content"]
    assert (end["stop"], end["generation_settings"]["n_predict"], end["generation_settings"]["seed"]) == (True, 8, 42)


@apply_marks
async def test_seeds(server: TinyServer) -> None:
    exact = {"cache_prompt": False, "temperature": 0}
    assert len({(await complete(server, **exact))["content"] for _ in range(3)}) == 1
    warm = {"cache_prompt": False, "temperature": 1.0}
    texts = {(await complete(server, **warm, seed=seed))["content"] for seed in range(4)}
    assert len(texts) > 1


@apply_marks
async def test_every_form_of_a_prompt_gives_the_same_text(server: TinyServer) -> None:
    _, told = await server.post("/tokenize", content=PROMPT, add_special=True)
    tokens = told["tokens"]
    prompts = [tokens, PROMPT, {"prompt_string": PROMPT}, [tokens[0], *tokens[1:]]]
    results = await complete(server, prompt=prompts, temperature=0, cache_prompt=False, n_predict=4)
    assert len({result["content"] for result in results}) == 1
    mixed = await complete(server, prompt=[1, 2, 3, PROMPT, 4, 5, PROMPT], n_predict=2)
    assert isinstance(mixed["content"], str)
    image = {"prompt_string": f"{PROMPT} <__media__>", "multimodal_data": [PNG]}
    assert (await server.post("/completion", prompt=image))[0] == 400


@apply_marks
async def test_requests_share_the_slots(server: TinyServer) -> None:
    asked = [asyncio.create_task(complete(server, prompt=f"Write a book about {n}.", n_predict=24)) for n in range(4)]
    busy = 0
    while not all(task.done() for task in asked):
        busy = max(busy, sum(slot["is_processing"] for slot in await server.get("/slots")))
        await asyncio.sleep(0.01)
    assert busy <= 2
    results = await asyncio.gather(*asked)
    assert {result["id_slot"] for result in results} == {0, 1}
    assert all(result["content"] for result in results)


@apply_marks
async def test_chosen_fields(server: TinyServer) -> None:
    fields = ["content", "generation_settings/n_predict", "prompt"]
    told = await complete(server, response_fields=fields, n_predict=4)
    assert set(told) == {"content", "n_predict", "prompt"}
    assert (told["n_predict"], told["prompt"]) == (4, PROMPT)
    assert "model" in await complete(server, response_fields=[], n_predict=2)


@apply_marks
async def test_probabilities(server: TinyServer) -> None:
    told = await complete(server, n_probs=10, temperature=0, n_predict=4)
    assert len(told["completion_probabilities"]) == 4
    for token in told["completion_probabilities"]:
        assert token["logprob"] <= 0
        assert isinstance(token["bytes"], list)
        assert len(token["top_logprobs"]) == 10
    chunks = await complete(server, n_probs=3, temperature=0, n_predict=4, stream=True)
    streamed = [token for chunk in chunks[:-1] for token in chunk["completion_probabilities"]]
    assert [token["id"] for token in streamed] == [token["id"] for token in told["completion_probabilities"]]
    sampled = await complete(server, n_probs=3, post_sampling_probs=True, n_predict=2)
    for token in sampled["completion_probabilities"]:
        assert 0 <= token["prob"] <= 1
        assert token["top_probs"]


@apply_marks
async def test_a_token_that_is_banned_never_comes(server: TinyServer) -> None:
    usual = await complete(server, temperature=0, n_predict=4, return_tokens=True)
    first = usual["tokens"][0]
    banned = await complete(server, temperature=0, n_predict=4, return_tokens=True, logit_bias=[[first, False]])
    assert first not in banned["tokens"]
    bias = {str(token): -100 for token in usual["tokens"]}
    told = await chat(server, logit_bias=bias, temperature=0)
    assert told["choices"][0]["message"]["content"]


@apply_marks
async def test_a_client_that_leaves_frees_its_slot(server: TinyServer) -> None:
    async with RawHttpClient(server.url) as client:
        await client.post_json("/completion", {"prompt": PROMPT, "n_predict": 400, "stream": True, "ignore_eos": True})
        await client.read_head()
        await client.read_frame()
        assert any(slot["is_processing"] for slot in await server.get("/slots"))
    for _ in range(1000):
        if not any(slot["is_processing"] for slot in await server.get("/slots")):
            return
    raise AssertionError("the slot stays busy")


@apply_marks
async def test_a_prompt_is_read_once(server: TinyServer) -> None:
    long = "The quick brown fox jumps over the lazy dog, and the dog sleeps on. " * 4
    first = await complete(server, prompt=long, n_predict=2)
    again = await complete(server, prompt=long, n_predict=2)
    assert again["timings"]["cache_n"] > first["timings"]["cache_n"] or first["timings"]["cache_n"] > 0
    assert again["timings"]["prompt_n"] < 8
    fresh = await complete(server, prompt=long, n_predict=2, cache_prompt=False)
    assert fresh["timings"]["cache_n"] == 0


@apply_marks
async def test_the_context_is_not_shifted(server: TinyServer) -> None:
    for stream in (False, True):
        status, told = await server.post("/completion", prompt="word " * (CONTEXT + 50), stream=stream)
        assert (status, told["error"]["type"]) == (400, "exceed_context_size_error")


@apply_marks
async def test_the_end_token_is_ignored_on_request(server: TinyServer) -> None:
    told = await complete(server, prompt="<|im_start|>user\nSay ok<|im_end|>\n<|im_start|>assistant\n", ignore_eos=True)
    assert (told["tokens_predicted"], told["stop_type"]) == (8, "limit")
    assert told["generation_settings"]["ignore_eos"] is True


@apply_marks
async def test_grammars_and_schemas(server: TinyServer) -> None:
    assert (await complete(server, grammar='root ::= "a"{5,5}'))["content"] == "aaaaa"
    assert (await complete(server, json_schema={"const": "42"}))["content"] == '"42"'
    for grammar in ("root ::= this is (not valid GBNF", "root ::= (" * 500):
        assert (await server.post("/completion", prompt=PROMPT, grammar=grammar))[0] == 400
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"const": "foooooo"}}}
    told = await chat(server, response_format=schema, max_tokens=16)
    assert json.loads(told["choices"][0]["message"]["content"]) == "foooooo"
    for wrong in ({"type": "sound"}, {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": 1}}}):
        status, _ = await server.post("/chat/completions", messages=BOOK, response_format=wrong)
        assert status == 400


@apply_marks
async def test_a_chat_whole_and_streamed(server: TinyServer) -> None:
    whole = await chat(server, temperature=0)
    choice = whole["choices"][0]
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "length")
    assert whole["usage"]["completion_tokens"] == 8
    assert whole["usage"]["prompt_tokens"] > 10
    async with RawHttpClient(server.url) as client:
        await client.post_json(
            "/v1/chat/completions", {"messages": BOOK, "max_tokens": 8, "temperature": 0, "stream": True}
        )
        await client.read_head()
        *frames, done = [frame.data async for frame in client.iterate_frames()]
    assert done == "[DONE]"
    chunks = [json.loads(frame or "") for frame in frames]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
    assert text == choice["message"]["content"]
    again = await chat(server, temperature=0)
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0


@apply_marks
async def test_several_choices(server: TinyServer) -> None:
    for _ in range(2):
        told = await chat(server, n=2, max_tokens=4)
        assert [choice["index"] for choice in told["choices"]] == [0, 1]
        assert {choice["finish_reason"] for choice in told["choices"]} == {"length"}


@apply_marks
async def test_logprobs_of_a_chat(server: TinyServer) -> None:
    told = await chat(server, logprobs=True, top_logprobs=10, temperature=0, max_tokens=5)
    choice = told["choices"][0]
    tokens = choice["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == choice["message"]["content"]
    assert all(token["logprob"] <= 0 and token["bytes"] is not None and token["top_logprobs"] for token in tokens)


@apply_marks
@pytest.mark.parametrize(
    "messages", [None, "string", [123], [{}], [{"role": 123}], [{"role": "system", "content": 123}], [BOOK[0], {}]]
)
async def test_messages_that_are_none(server: TinyServer, messages: Any) -> None:
    status, told = await server.post("/chat/completions", messages=messages)
    assert (status, "message" in told["error"]) == (400, True)


@apply_marks
async def test_the_template_is_applied(server: TinyServer) -> None:
    messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "Hi there"}]
    _, told = await server.post("/apply-template", messages=messages)
    assert told["prompt"] == (
        "<|im_start|>system\nYou are a test.<|im_end|>\n<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n"
    )
    status, counted = await server.post("/tokenize", content=told["prompt"], parse_special=True)
    assert (status, len(counted["tokens"]) > 5) == (200, True)


@apply_marks
async def test_tokens_and_back(server: TinyServer) -> None:
    text = "What is the capital of France ? 東京 😀"
    _, told = await server.post("/tokenize", content=text)
    assert len(told["tokens"]) > 5
    _, back = await server.post("/detokenize", tokens=told["tokens"])
    assert back["content"].strip() == text
    _, pieces = await server.post("/tokenize", content="This is a test string with émoji 😀", with_pieces=True)
    joined = b"".join(
        piece["piece"].encode() if isinstance(piece["piece"], str) else bytes(piece["piece"])
        for piece in pieces["tokens"]
    )
    assert joined.decode().strip() == "This is a test string with émoji 😀"


@apply_marks
async def test_embeddings(server: TinyServer) -> None:
    texts = ["I believe the meaning of life is", "Write a joke about AI", "This is a test"]
    status, told = await server.post("/v1/embeddings", input=texts)
    assert status == 200
    assert [item["index"] for item in told["data"]] == [0, 1, 2]
    vectors = [item["embedding"] for item in told["data"]]
    assert all(len(vector) == len(vectors[0]) > 1 for vector in vectors)
    assert all(abs(sum(number * number for number in vector) - 1) < 1e-3 for vector in vectors)
    assert told["usage"]["prompt_tokens"] == told["usage"]["total_tokens"] > 6
    _, single = await server.post("/v1/embeddings", input=texts[0])
    # In one batch with others the numbers differ by a little.
    assert sum(a * b for a, b in zip(single["data"][0]["embedding"], vectors[0], strict=True)) > 0.95
    _, encoded = await server.post("/v1/embeddings", input=texts[0], encoding_format="base64")
    assert len(base64.b64decode(encoded["data"][0]["embedding"])) == 4 * len(vectors[0])
    _, tokens = await server.post("/v1/embeddings", input=[[12, 34, 56], [78]])
    assert len(tokens["data"]) == 2


@apply_marks
async def test_a_required_tool_is_called_with_valid_arguments(server: TinyServer) -> None:
    parameters = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    tool = {"type": "function", "function": {"name": "python", "description": "Runs code", "parameters": parameters}}
    named = {"type": "function", "function": {"name": "python"}}
    asked = [{"role": "user", "content": "Print hello world with the python tool."}]
    for choice in ("required", named):
        told = await chat(server, messages=asked, tools=[tool], tool_choice=choice, max_tokens=256)
        [call, *_] = told["choices"][0]["message"]["tool_calls"]
        assert call["function"]["name"] == "python"
        assert isinstance(json.loads(call["function"]["arguments"])["code"], str)
    told = await chat(server, messages=asked, tools=[tool], tool_choice="none")
    assert not told["choices"][0]["message"].get("tool_calls")
    assert told["choices"][0]["message"]["content"]


@apply_marks
async def test_what_the_server_tells_of_itself(server: TinyServer) -> None:
    assert (await server.get("/health"))["status"] == "ok"
    props = await server.get("/props")
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (2, CONTEXT)
    assert "messages" in props["chat_template"]
    assert [slot["n_ctx"] for slot in await server.get("/slots")] == [CONTEXT, CONTEXT]
    assert [model["id"] for model in (await server.get("/v1/models"))["data"]] == ["default"]
