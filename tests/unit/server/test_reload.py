"""SIGHUP at the real command: each setting of [server] that was changed counts for the next request."""

import signal
from typing import Any

import pytest

from tests.faults.protocols import AGUI, poll_until
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.unit.agents.agui.fake_agent import FakeAguiAgent
from tests.unit.doors.copilotkit.client import post_graphql

pytestmark = pytest.mark.io

BEFORE = """
forward_headers = ["x-tenant", "x-region"]
introspection = true
metrics = "open"
graphql.max_characters = 1000
"""
AFTER = """
forward_headers = ["x-region"]
introspection = false
metrics = "off"
graphql.max_characters = 60
"""
CONFIG = """
[models.main]
spec = "scripted:demo"
[agents.desk]
kind = "agui"
url = "{url}"
[server]
"""
SCHEMA = {"query": "{ __schema { queryType { name } } }"}
AGENTS = {"query": "{ availableAgents { agents { id } } }" + " " * 60}


async def observe(server: RightseatProcess, agent: FakeAguiAgent) -> dict[str, Any]:
    """What a client and an agent see of the settings: one request for each of them."""
    sent = {"x-tenant": "acme", "x-region": "eu"}
    # Another text each time: the same run posted again is replayed.
    assert (await AGUI(server.url, f"hello {len(agent.upstream.requests)}", "desk", sent)).finished
    schema, agents = [await post_graphql(server.url, query) for query in (SCHEMA, AGENTS)]
    async with RawHttpClient(server.url) as client:
        await client.get("/metrics")
        metrics = (await client.read_head()).status
    return {
        "headers that the agent saw": sent.keys() & agent.upstream.requests[-1].headers.keys(),
        "introspection is refused": bool(schema.errors),
        "a document of 100 characters is refused": bool(agents.errors),
        "status of /metrics": metrics,
    }


async def reload(server: RightseatProcess, config: str) -> None:
    """Writes the configuration, sends SIGHUP and returns after the reload."""
    (server.folder / "rightseat.toml").write_text(config)
    server.send_signal(signal.SIGHUP)
    await poll_until(lambda: "was reloaded" in server.stderr, describe=lambda: server.stderr)


@pytest.mark.demand("server.after_sighup_setting_running", "tests.sighup_applies_setting_reloaded")
async def test_what_was_changed_counts_after_a_reload() -> None:
    async with FakeAguiAgent() as desk:
        config = CONFIG.format(url=desk.url)
        async with RightseatProcess(config=config + BEFORE) as server:
            assert await observe(server, desk) == {
                "headers that the agent saw": {"x-tenant", "x-region"},
                "introspection is refused": False,
                "a document of 100 characters is refused": False,
                "status of /metrics": 200,
            }
            await reload(server, config + AFTER)
            assert await observe(server, desk) == {
                "headers that the agent saw": {"x-region"},
                "introspection is refused": True,
                "a document of 100 characters is refused": True,
                "status of /metrics": 404,
            }
