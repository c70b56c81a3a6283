"""The README's shop with the embedded model: an order is found, another cancelled after a yes, in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from evals.demo.cases import TIMEOUT
from rightseat.models.llamacpp import weights
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess

pytestmark = [pytest.mark.model, pytest.mark.long, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
FAILURE = re.compile(r"error|fail|could not|unable|错误|失败|无法|抱歉", re.IGNORECASE)
TAGS = re.compile(r"</?tool_|<\|")


def find_block(start: str) -> str:
    """Return the code block of the README that begins with this comment."""
    return README.split(f"\n{start}\n", 1)[1].split("```", 1)[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The README's two files as they are, less the vendor's model: then the embedded one answers."""
    tmp_path = tmp_path_factory.mktemp("shop")
    (tmp_path / "shop.py").write_text(find_block("# shop.py"), "utf-8")
    config = tmp_path / "rightseat.toml"
    config.write_text(re.sub(r"\[models\.default\][^\[]*", "", find_block("# rightseat.toml")), "utf-8")
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder()), "RIGHTSEAT_MODEL": ""}
    async with RightseatProcess(env=env, args=["--config", str(config)], start_timeout=TIMEOUT) as running:
        yield running.url


async def say(url: str, messages: list[dict[str, Any]], text: str, **body: Any) -> str:
    messages.append({"role": "user", "content": text})
    async with RawHttpClient(url, timeout=TIMEOUT) as client:
        await client.post_json("/v1/chat/completions", {"model": "default", "messages": messages, **body})
        head = await client.read_head()
        answer = json.loads(await client.read_body())
    assert head.status == 200, answer
    message = answer["choices"][0]["message"]
    messages.append(message)
    return str(message["content"])


@pytest.mark.demand("embedded.success_is_never_told_as_error", "embedded.readme_shop_both_languages")
@pytest.mark.parametrize(
    ("request_text", "allowing"), [("Cancel order A7 please", "yes"), ("请取消订单 A7", "好的，可以")]
)
async def test_cancel_an_order(shop: str, request_text: str, allowing: str) -> None:
    messages: list[dict[str, Any]] = []
    question = await say(shop, messages, request_text)
    assert "cancel_order" in question
    assert "A7" in question
    assert bool(re.search(r"[\u4e00-\u9fff]", question)) == (not request_text.isascii()), question
    answer = await say(shop, messages, allowing)
    assert "A7" in answer
    assert re.search(r"cancel|取消", answer, re.IGNORECASE), answer
    assert not FAILURE.search(answer), answer


@pytest.mark.demand("embedded.readme_shop_both_languages")
@pytest.mark.parametrize(("request_text", "allowing"), [("Cancel order A7 please", "no"), ("请取消订单 A7", "不要")])
async def test_a_no_cancels_nothing(shop: str, request_text: str, allowing: str) -> None:
    messages: list[dict[str, Any]] = []
    await say(shop, messages, request_text)
    answer = await say(shop, messages, allowing)
    assert answer.strip()
    assert not re.search(r"(?<!not )\bcancelled\b|已取消", answer), answer


@pytest.mark.demand("embedded.readme_shop_both_languages")
@pytest.mark.parametrize("request_text", ["Where is order A7?", "订单 A7 在哪里？"])
async def test_find_an_order(shop: str, request_text: str) -> None:
    answer = await say(shop, [], request_text)
    assert "on its way" in answer
    assert not FAILURE.search(answer), answer


@pytest.mark.demand("embedded.adapter_with_history_of_calls")
async def test_a_history_with_a_call_and_no_tools_shows_no_tags(shop: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"item":"lamp"}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "How many lamps do we have?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"item": "lamp", "stock": 12}'},
    ]
    async with RawHttpClient(shop, timeout=TIMEOUT) as client:
        await client.post_json("/v1/chat/completions", {"model": "default", "messages": messages})
        assert (await client.read_head()).status == 200
        answer = json.loads(await client.read_body())["choices"][0]["message"]["content"]
    assert not TAGS.search(answer), answer
    assert "12" in answer
    assert not set(re.findall(r"\d+", answer)) - {"12"}, answer


@pytest.mark.demand("embedded.no_fitting_tool_is_no_answer")
@pytest.mark.parametrize("request_text", ["What is the capital of France?", "Write a haiku about autumn"])
async def test_a_question_that_needs_no_tool_is_answered(shop: str, request_text: str) -> None:
    answer = await say(shop, [], request_text)
    assert not re.search(r"\btools?\b", answer), answer
    assert len(answer) > 10
