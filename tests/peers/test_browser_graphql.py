"""The page that the GraphQL door gives a browser: one writes a query, and sees the answer."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.kit.server import Server
from tests.peers.browser import Chromium, Tab

pytestmark = [pytest.mark.peers, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]

CONFIG = """
[server]
introspection = true

[models.default]
spec = "scripted:demo"

[assistants.default]
title = "Desk"
"""
STREAMED = """
mutation ($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    messages @stream { ... on TextMessageOutput { content @stream } }
  }
}
"""
ASKED = {"role": "user", "content": "Hello"}
DATA = {
    "metadata": {"requestType": "Chat"},
    "frontend": {"actions": []},
    "messages": [{"id": "1", "createdAt": "2026-01-01T00:00:00.000Z", "textMessage": ASKED}],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Server]:
    async with Server(config=CONFIG) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: Server) -> AsyncIterator[Tab]:
    async with chromium.tab() as found:
        await found.open(f"{server.url}/copilotkit")
        yield found


async def test_a_query_is_answered(tab: Tab) -> None:
    await tab.click("#run")
    await tab.see("#answer", "availableAgents")
    [answer] = await tab.texts("#answer")
    assert json.loads(answer)["data"]["availableAgents"]["agents"][0]["name"] == "default"


async def test_a_stream_is_shown(tab: Tab) -> None:
    await tab.write("#query", STREAMED)
    await tab.write("#variables", json.dumps({"data": DATA}))
    await tab.click("#run")
    await tab.see("#answer", "event: complete")
    [answer] = await tab.texts("#answer")
    events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
    items = [part["items"] for event in events for part in event.get("incremental", ()) if "items" in part]
    said = "".join(item for [item] in items if isinstance(item, str))
    assert "demo" in said


async def test_a_mistake_is_said(tab: Tab) -> None:
    await tab.write("#query", "{ availableAgents { agents { nam } } }")
    await tab.click("#run")
    await tab.see("#answer", "Cannot query field 'nam'")
