"""A server with everything that the MCP door shows: a plugin with operations and a flow, an assistant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rightseat.config.settings import Config, ModelSettings, PluginSettings
from rightseat.http.auth import Authenticator
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import AppServer, serve_runtime
from tests.unit.plugins.runtime.api_plugins import RecordingJsonApi, serve_json_api, write_api_plugin

QUESTION = "Which hosts are there?"
FLOW = """name: report
description: Reports on a host.
steps:
  - {name: start, call_type: ask, params: {question: "Which host?"}, next: end}
  - {name: end, call_type: none}
"""


@dataclass(frozen=True)
class McpDoorServer:
    server: AppServer
    api: RecordingJsonApi

    @property
    def url(self) -> str:
        return f"{self.server.url}/mcp"


@asynccontextmanager
async def serve_mcp(
    folder: Path,
    *,
    confirm: Literal["never", "all"] = "never",
    paths: dict[str, str] | None = None,
    authenticate: Authenticator | None = None,
) -> AsyncIterator[McpDoorServer]:
    async with serve_json_api() as api:
        plugin = write_api_plugin(folder / "net", api.url, paths, predefined_question=QUESTION)
        (plugin / "flows").mkdir(exist_ok=True)
        (plugin / "flows" / "report.yaml").write_text(FLOW, "utf-8")
        settings = PluginSettings(path=str(plugin), allow=("127.0.0.1",), confirm=confirm)
        config = Config(models={"default": ModelSettings(spec="scripted:demo")}, plugins=(settings,))
        async with serve_runtime(build_runtime(config), authenticate=authenticate) as home:
            yield McpDoorServer(home, api)
