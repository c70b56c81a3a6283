"""`web_search` and `wolfram_alpha` against a stand-in for their services, and without a key."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rightseat.errors import ConfigError
from rightseat.plugins.web_search import make_search_tool
from rightseat.types.tools import Result, ToolContext
from rightseat.types.turn import Turn
from tests.kit import faults
from tests.kit.upstream import FakeUpstream

PAGES = {
    "web": {
        "results": [
            {
                "title": "Rain &amp; <b>sun</b>",
                "url": "https://example.com/a",
                "description": "It <strong>rains</strong>.",
            },
            {"title": "Second", "url": "https://example.com/b", "description": ""},
        ]
    }
}


async def ask(name: str, query: str) -> Result:
    tool = make_search_tool(name)
    assert tool.call is not None
    assert tool.close is not None
    try:
        [result] = [item async for item in tool.call({"query": query}, ToolContext(Turn(messages=())))]
    finally:
        await tool.close()
    assert isinstance(result, Result)
    return result


def read_query(target: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}


@pytest.mark.io
@pytest.mark.demand("tools.web_search")
@pytest.mark.parametrize("name", ["web_search", "brave_search"])
async def test_pages_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(json.dumps(PAGES).encode())
        monkeypatch.setenv("BRAVE_API_KEY", "k3y")
        monkeypatch.setenv("BRAVE_SEARCH_URL", f"{upstream.origin}/res/v1/web/search")
        result = await ask(name, "weather & wind in Oslo")
        [request] = upstream.requests
    assert result.content == "Rain & sun\nhttps://example.com/a\nIt rains.\n\nSecond\nhttps://example.com/b\n"
    assert request.headers["x-subscription-token"] == "k3y"
    assert read_query(request.target)["q"] == "weather & wind in Oslo"


@pytest.mark.io
@pytest.mark.demand("tools.web_search")
async def test_wolfram_alpha_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(b"Result: 42", "text/plain")
        monkeypatch.setenv("WOLFRAM_APP_ID", "app")
        monkeypatch.setenv("WOLFRAM_ALPHA_URL", f"{upstream.origin}/api")
        assert (await ask("wolfram_alpha", "6 * 7")).content == "Result: 42"
        [request] = upstream.requests
    query = read_query(request.target)
    assert (query["input"], query["appid"]) == ("6 * 7", "app")


@pytest.mark.io
@pytest.mark.parametrize(
    "reply", [faults.fail_with_status(401), faults.fail_with_status(500), faults.answer_body(b"[]")]
)
async def test_a_service_that_fails_is_told_without_its_words(reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = reply
        monkeypatch.setenv("BRAVE_API_KEY", "k3y")
        monkeypatch.setenv("BRAVE_SEARCH_URL", upstream.origin)
        result = await ask("web_search", "x")
    assert result.failed
    assert "k3y" not in result.text


@pytest.mark.demand("tools.web_search")
@pytest.mark.parametrize(("name", "variable"), [("web_search", "BRAVE_API_KEY"), ("wolfram_alpha", "WOLFRAM_APP_ID")])
def test_without_a_key_it_is_refused_in_words(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError, match=f"{name} needs a key: set {variable} in the environment"):
        make_search_tool(name)
