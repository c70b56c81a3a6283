"""Actions of a CopilotKit endpoint as tools: of every assistant, or of the one that names them."""

from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.wiring.from_config import build_runtime
from tests.kit.upstream import FakeUpstream
from tests.unit.agents.copilotkit.endpoint import ACTIONS, FakeRemoteEndpoint

pytestmark = [pytest.mark.io, pytest.mark.demand("agents.remote_actions_in_tools")]


@pytest.mark.parametrize(
    ("tools", "offered"),
    [('["calculate"]', {"get_weather", "get_time", "calculate"}), ('["backend:get_time"]', {"get_time"})],
)
async def test_an_assistant_has_all_actions_or_those_it_names(tools: str, offered: set[str], tmp_path: Path) -> None:
    remote = FakeRemoteEndpoint()
    remote.actions = [*ACTIONS, {"name": "get_time", "description": "The time.", "parameters": []}]
    async with remote, FakeUpstream() as upstream:
        (tmp_path / "rightseat.toml").write_text(f"""
            [models.default]
            spec = "openai:m"
            base_url = "{upstream.origin}/v1"
            [assistants.default]
            tools = {tools}
            [agents.backend]
            kind = "copilotkit"
            url = "{remote.url}"
        """)
        async with build_runtime(load_config(tmp_path / "rightseat.toml")) as runtime:
            await runtime.ask("Hello")
        [request] = upstream.requests
    names = {item["function"]["name"] for item in request.json["tools"]}
    assert names == offered
