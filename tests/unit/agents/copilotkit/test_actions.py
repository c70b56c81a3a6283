"""An endpoint's actions as tools of every assistant, from rightseat.toml to the endpoint."""

import json
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.types.events import CallResult, CallStart
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime
from tests.unit.agents.copilotkit.endpoint import FakeRemoteEndpoint

pytestmark = pytest.mark.io

CONFIG = """
[models.default]
spec = "scripted:script.json"

[agents.ck]
kind = "copilotkit"
url = "{url}"
"""
SCRIPT = {
    "turns": [
        {"when": {"tool": "get_weather"}, "say": "{result}"},
        {"when": {}, "calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]},
    ]
}


async def test_an_assistant_uses_an_endpoints_actions(tmp_path: Path) -> None:
    async with FakeRemoteEndpoint() as remote:
        (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
        (tmp_path / "rightseat.toml").write_text(CONFIG.replace("{url}", remote.url))
        runtime = build_runtime(load_config(tmp_path / "rightseat.toml"), env={})
        await runtime.start()
        try:
            turn = Turn(messages=(text_message("user", "How warm is it in Oslo?"),))
            async with closing(runtime.run(turn)) as events:
                seen = [event async for event in events]
        finally:
            await runtime.close()
        assert remote.upstream.requests[-1].json["arguments"] == {"city": "Oslo"}
    [call] = [event for event in seen if isinstance(event, CallStart)]
    [result] = [event for event in seen if isinstance(event, CallResult)]
    # It runs here, so no client is asked to.
    assert (call.name, call.client, result.failed) == ("get_weather", False, False)
    assert json.loads(result.content)["temp"] == 21
