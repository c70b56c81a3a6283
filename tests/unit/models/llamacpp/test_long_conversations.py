"""A conversation that is longer than a llama-server's context window, over HTTP on both sides."""

import json
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.models.llamacpp.options import make_attached_model
from rightseat.types.messages import ImageMessagePart, Message, ToolCall, text_message
from rightseat.types.model import Prompt, ToolSpec
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.llama_server import FakeLlamaServer, split_tokens

pytestmark = pytest.mark.io
SYSTEM = "Be brief."


def make_messages(turns: int) -> list[dict[str, Any]]:
    return [
        message
        for n in range(turns)
        for message in (
            {"role": "user", "content": f"question {n}, if you please?"},
            {"role": "assistant", "content": f"answer {n}: " + "1, 2, 3, " * 10},
        )
    ]


async def post_chat(url: str, messages: list[dict[str, Any]], **fields: Any) -> tuple[int, dict[str, Any]]:
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", {"messages": messages, **fields})
        head = await client.read_head()
        return head.status, await client.read_json()


@pytest.mark.demand("window.counted_by_the_model")
async def test_the_server_s_own_tokens_are_counted_and_each_message_once() -> None:
    upstream = FakeLlamaServer(1024)
    async with upstream.serve() as url:
        assistant = Assistant("default", make_attached_model(url, {}), system=SYSTEM)
        async with serve_runtime(Runtime(assistants=[assistant])) as server:
            messages = make_messages(100)
            for number in range(6):
                messages.append({"role": "user", "content": f"now {number}"})
                status, body = await post_chat(server.url, messages)
                assert (status, body["choices"][0]["message"]["content"]) == (200, "ok")
                assert body["history_cut"]["context"] == 1024
                messages.append({"role": "assistant", "content": "ok"})
    assert upstream.refused == []
    assert all(500 < len(split_tokens(prompt)) <= 768 for prompt in upstream.prompts)
    counted = [text for text in upstream.tokenized if text.startswith("answer ")]
    assert len(counted) == len(set(counted)) < 40, "each once, and none that is far from fitting"
    firsts = {prompt[: prompt.index("answer ") + 10] for prompt in upstream.prompts}
    assert len(firsts) <= 2, "the beginning stays, for the server's cache"


@pytest.mark.demand("window.refuses_where_asked")
async def test_a_client_may_ask_for_refusal() -> None:
    upstream = FakeLlamaServer(512)
    async with upstream.serve() as url, serve_runtime(Runtime(model=make_attached_model(url, {}))) as server:
        messages = [*make_messages(60), {"role": "user", "content": "now"}]
        status, body = await post_chat(server.url, messages, truncation="disabled")
        assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
        assert "The largest part is message" in body["error"]["message"]
        assert upstream.refused == []
        assert (await post_chat(server.url, messages, truncation="auto"))[0] == 200
        status, body = await post_chat(server.url, messages, truncation="sometimes")
        assert status == 400


@pytest.mark.demand("window.answers_are_capped")
@pytest.mark.parametrize("max_tokens", [400, 100_000])
async def test_a_long_answer_is_asked_for_as_it_fits(max_tokens: int) -> None:
    upstream = FakeLlamaServer(512)
    async with upstream.serve() as url, serve_runtime(Runtime(model=make_attached_model(url, {}))) as server:
        status, _ = await post_chat(server.url, [{"role": "user", "content": "Hi"}], max_tokens=max_tokens)
        assert status == 200
        messages = [*make_messages(60), {"role": "user", "content": "now"}]
        assert (await post_chat(server.url, messages, max_tokens=max_tokens))[0] == 200
    assert [request["n_predict"] <= 512 for request in upstream.requests] == [True, True]


async def test_counts_are_those_of_the_rendered_prompt() -> None:
    upstream = FakeLlamaServer()
    async with upstream.serve() as url:
        model = make_attached_model(url, {})
        messages = [text_message("system", SYSTEM), *(text_message("user", f"word {n} here") for n in range(5))]
        whole = await model.count_prompt_tokens(Prompt(messages=tuple(messages)))
        parts = sum(await model.count_message_tokens(messages))
        assert parts - 5 <= whole <= parts + 10
        spec = ToolSpec("look", "Look at a thing.", {"type": "object", "properties": {"thing": {"type": "string"}}})
        assert await model.count_prompt_tokens(Prompt(messages=tuple(messages), tools=(spec,))) > whole + 20
        call = Message("assistant", (), (ToolCall("c", "look", json.dumps({"thing": "a big red house"})),))
        [count] = await model.count_message_tokens([call])
        assert count > 20
        await model.close()


async def test_a_server_that_is_down_is_an_error_of_the_answer() -> None:
    async with FakeLlamaServer().serve() as url:
        pass
    async with serve_runtime(Runtime(model=make_attached_model(url, {}))) as server:
        status, body = await post_chat(server.url, [{"role": "user", "content": "Hi"}])
    assert (status, body["error"]["code"]) == (502, "upstream_unreachable")


async def test_images_and_huge_texts_are_estimated() -> None:
    upstream = FakeLlamaServer()
    async with upstream.serve() as url:
        model = make_attached_model(url, {})
        picture = Message("user", (ImageMessagePart("data:image/png;base64,AAAA"),))
        [count] = await model.count_message_tokens([picture])
        assert count >= 1000
        huge = text_message("user", "word " * 300_000)
        assert await model.count_prompt_tokens(Prompt(messages=(huge,))) > 300_000
        [count] = await model.count_message_tokens([huge])
        assert count > 300_000
        await model.close()
    assert max(map(len, upstream.tokenized)) < 1000


async def test_a_message_full_of_control_tokens_is_a_few_requests() -> None:
    upstream = FakeLlamaServer(8192)
    async with upstream.serve() as url:
        assistant = Assistant("default", make_attached_model(url, {}), system=SYSTEM)
        async with serve_runtime(Runtime(assistants=[assistant])) as server:
            status, _ = await post_chat(server.url, [{"role": "user", "content": "<|im_end|> " * 1000}])
    assert status == 200
    assert len(upstream.tokenized) < 100
    assert "<|im_end|> " not in upstream.prompts[0]
