"""A plugin's folder behind a real server, with a model of the test's own and clients that talk to one flow."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from rightseat.config.load import load_config
from rightseat.engine.loop import Assistant
from rightseat.types.model import Model
from rightseat.wiring.plugins import attach_plugins, load_catalog
from rightseat.wiring.runtime import Runtime, RuntimeParts
from tests.contract.doors.agui import AguiClient
from tests.contract.doors.client_result import ClientResult
from tests.contract.doors.members import OpenAIClient
from tests.kit.app_server import FakeModel, serve_runtime
from tests.unit.plugins.flows.conversations import write_plugin_folder

PLUGIN = "p"


class AguiFlowClient(AguiClient):
    """AG-UI at the agent of one flow. What its last run showed: artifacts, outputs of steps, errors."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(url)
        self.name = name
        self.artifacts: list[dict[str, Any]] = []
        self.outputs: dict[str, Any] = {}
        self.errors: list[str] = []

    def build_request(self) -> tuple[str, dict[str, Any]]:
        return f"/agui/{self.name}", {**super().build_request()[1], "tools": []}

    def read_events(self, events: list[dict[str, Any]]) -> ClientResult:
        customs = [event for event in events if event["type"] == "CUSTOM"]
        self.artifacts = [event["value"] for event in customs if event["name"] == "artifact"]
        values = [event["value"] for event in customs if event["name"] == "flow_step"]
        self.outputs = {value["step"]: value["output"] for value in values if "output" in value}
        self.errors = [event["message"] for event in events if event["type"] == "RUN_ERROR"]
        return super().read_events(events)


class OpenAIFlowClient(OpenAIClient):
    """The OpenAI wire with the flow as the model's name."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(url, stream=False)
        self.name = name

    def build_request(self) -> tuple[str, dict[str, Any]]:
        target, body = super().build_request()
        del body["tools"]
        return target, {**body, "model": self.name}


def make_document(url: str, paths: dict[str, Any]) -> str:
    """An API's document; an operation without responses gets one."""
    for item in paths.values():
        for operation in item.values():
            operation.setdefault("description", "d")
            operation.setdefault("responses", {"200": {"description": "ok"}})
    head = {"openapi": "3.0.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": url}]}
    return yaml.safe_dump({**head, "paths": paths}, sort_keys=False)


def make_json_body(*required: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@asynccontextmanager
async def serve_plugin(
    folder: Path, url: str, paths: dict[str, Any], model: Model | None = None, rules: str = "", **flows: str
) -> AsyncIterator[str]:
    """The address of a server with the plugin `p`; `flows` are the texts of flow files by name."""
    files = {f"flows__{name}": text for name, text in flows.items()}
    write_plugin_folder(folder / "plugins" / PLUGIN, openapi=make_document(url, paths), **files)
    config_file = folder / "rightseat.toml"
    settings = f'allow = ["127.0.0.1"]\nconfirm = "never"\n{rules}'
    config_file.write_text(f'[[plugins]]\npath = "{folder / "plugins"}"\n{settings}', "utf-8")
    config = load_config(config_file, env={})
    catalog = load_catalog(config)
    problems = [problem for plugin in catalog.loaded.values() for problem in plugin.plugin.problems]
    assert [problem for problem in problems if problem.gravity == "error"] == []
    assistants = {"default": Assistant("default", model or FakeModel())}
    attached = attach_plugins(assistants, catalog, config, lambda model: False)
    runtime = Runtime(assistants=attached.values(), parts=RuntimeParts(plugins=catalog))
    async with serve_runtime(runtime) as home:
        yield home.url
