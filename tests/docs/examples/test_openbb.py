"""The three OpenBB copilots of examples/openbb, each started from its own folder as a person would."""

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.doctor.openbb import examine
from rightseat.models.llamacpp import weights
from tests.kit.answers import say, tool
from tests.kit.client import Client
from tests.kit.patience import STUCK
from tests.kit.server import Server, executable
from tests.kit.upstream import Upstream
from tests.unit.doors.openbb.client import ROWS, WIDGETS, Chat, item

EXAMPLES = Path(__file__).parents[3] / "examples" / "openbb"
pytestmark = pytest.mark.io


@asynccontextmanager
async def started(name: str, env: Mapping[str, str], patience: float = STUCK) -> AsyncIterator[Server]:
    server = Server(command=[executable(), "serve", "--port", "0"], env=env, patience=patience)
    shutil.copytree(EXAMPLES / name, server.folder, dirs_exist_ok=True)
    async with server:
        yield server


def vendor(upstream: Upstream) -> dict[str, str]:
    """In the place of a vendor, for whom one would need a key."""
    return {"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": upstream.url}


async def card(url: str) -> dict[str, object]:
    async with Client(url) as client:
        await client.get("/agents.json")
        assert (await client.head()).status == 200
        [entry] = (await client.json()).values()
        found: dict[str, object] = entry
        return found


@pytest.mark.demand("openbb.examples_holds_three_openbb")
@pytest.mark.long
async def test_plain() -> None:
    async with Upstream() as upstream, started("plain", vendor(upstream)) as server:
        shown = await card(server.url)
        assert shown["name"] == "Plain copilot"
        assert shown["description"] == "Answers questions on finance in a few sentences."
        upstream.queue(say(["A ", "bond ", "is a loan."]))
        context = [{"name": "Note", "description": "A note", "data": {"items": [{"content": "Bonds fell."}]}}]
        answer = await Chat(server.url, timezone="UTC", context=context).say("What is a bond?")
        assert answer.text == "A bond is a loan."
        asked = json.dumps(upstream.requests[-1].json)
        assert "gpt-5-mini" in asked
        assert "on finance" in asked
        assert "Bonds fell." in asked


@pytest.mark.demand("openbb.examples_holds_three_openbb")
async def test_functions() -> None:
    async with Upstream() as upstream, started("functions", vendor(upstream)) as server:
        assert (await card(server.url))["name"] == "Analyst"
        upstream.queue(tool("price", '{"symbol": "AAPL"}'))
        chat = Chat(server.url, widgets=WIDGETS)
        first = await chat.say("How much did AAPL change?")
        assert first.call is not None
        assert first.sources[0]["id"] == "historical_price"
        upstream.queue(tool("growth", '{"before": 231.3, "after": 233.85}'), say(["By +1.10%."]))
        last = await chat.give(first.call, item(ROWS, data_type="object", parse_as="table"))
        assert last.text == "By +1.10%."
        assert last.statuses[0] == ("INFO", "Running growth")
        results = [one["content"] for one in upstream.requests[-1].json["messages"] if one["role"] == "tool"]
        assert results == [json.dumps(ROWS), "+1.10%"]


@pytest.mark.demand("openbb.examples_holds_three_openbb")
@pytest.mark.long
@pytest.mark.model
async def test_local() -> None:
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    async with started("local", env, patience=2 * STUCK) as server:
        lines = [line async for line in examine(server.url, {})]
    assert [line.format_text() for line in lines if line.state == "broken"] == []
    assert "openbb today: question" in {line.what for line in lines if line.state == "good"}


def test_every_example_is_in_the_readme() -> None:
    folders = {file.parent.name for file in EXAMPLES.glob("*/rightseat.toml")}
    text = (EXAMPLES / "README.md").read_text("utf-8")
    assert {name for name in folders if f"| `{name}` |" not in text} == set()
    assert len(folders) == 3
