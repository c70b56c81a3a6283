"""Options of `rightseat serve` and `chat` for local models: an endpoint, the tools' description, the format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.command import run_command
from tests.kit.llama_server import FakeLlamaServer
from tests.kit.server import RightseatProcess

pytestmark = pytest.mark.io

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]


async def ask(url: str) -> tuple[int, Any]:
    body = {"messages": [{"role": "user", "content": "Weather?"}], "tools": TOOLS}
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", body)
        return (await client.read_head()).status, json.loads(await client.read_body())


@pytest.mark.demand("llamacpp.endpoint_option")
async def test_an_endpoint_is_used_instead_of_an_engine() -> None:
    llama = FakeLlamaServer(4096, '{"thought_about_next_step_only": "x", "next_step": {"result": "Fine."}}')
    async with llama.serve() as address, RightseatProcess(args=("--endpoint", address)) as server:
        assert f"llama-server:{address}" in server.stdout
        status, answer = await ask(server.url)
    assert (status, len(llama.prompts)) == (200, 1)
    assert "type get_weather = (_: {" in llama.prompts[0]
    assert "thought_about_next_step_only" in llama.prompts[0]
    assert answer["choices"][0]["message"]["content"].endswith("Fine.")


@pytest.mark.demand("llamacpp.publish_option", "llamacpp.style_option")
async def test_tools_are_published_as_json_and_in_a_style() -> None:
    for options, told in (
        (("--publish", "json"), '"city": {"type": "string"}'),
        (("--publish", "json", "--tool-format", "generic"), '"city": {"type": "string"}'),
        (("--style", "llama-3.1-functions"), "<function="),
    ):
        llama = FakeLlamaServer(4096, "Fine.")
        async with llama.serve() as address, RightseatProcess(args=("--endpoint", address, *options)) as server:
            await ask(server.url)
        assert told in llama.prompts[0].replace("\n", " "), options
        assert "type get_weather = (_: {" not in llama.prompts[0], options


@pytest.mark.demand("llamacpp.endpoint_option")
async def test_a_chat_takes_an_endpoint() -> None:
    llama = FakeLlamaServer(4096, "Fine.")
    async with llama.serve() as address:
        result = await run_command("chat", "Hello?", "--endpoint", address)
    assert (result.code, "Fine." in result.out) == (0, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--endpoint", "http://127.0.0.1:1", "--model", "local"), "Leave --model out"),
        (("--endpoint", "not a url"), "must begin with http:// or https://"),
        (("--endpoint", "http://127.0.0.1:1", "--publish", "xml"), "publish"),
        (("--endpoint", "http://127.0.0.1:1", "--style", "hermse"), "Did you mean 'hermes'?"),
        (("--model", "openai:x", "--publish", "json"), "--publish is only for local models"),
    ],
)
async def test_what_does_not_fit_is_told(options: tuple[str, ...], message: str) -> None:
    result = await run_command("chat", "Hello?", *options)
    assert result.code == 1
    assert message in result.err
