"""A flow with effects, served over HTTP, at an API that counts what reaches it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.flows.responder import FlowResponder, make_flow_tool
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import read_plugin
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from tests.kit.app_server import FakeModel, serve_runtime
from tests.unit.plugins.flows.conversations import make_flow, write_plugin_folder
from tests.unit.plugins.http.plugin_values import LOCAL_POLICY
from tests.unit.plugins.runtime.api_plugins import RecordingJsonApi, serve_json_api

API = """
openapi: 3.0.0
info: {version: 1.0.0, title: t}
servers: [{url: "URL"}]
paths:
  /orders:
    post: {description: d, responses: {"200": {description: ok}}}
    delete: {description: d, x-dangerous: true, responses: {"200": {description: ok}}}
"""
FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: drop}
  - {name: drop, call_type: api, params: {endpoint: DELETE /orders}, next: tell}
  - {name: tell, call_type: none, params: {say: {en: "It is ordered.", zh: "已下单。"}}}
"""


@dataclass
class ServedFlow:
    url: str
    api: RecordingJsonApi

    @property
    def counts(self) -> tuple[int, int]:
        """How many orders were placed, and how many dropped."""
        methods = [request.partition(" ")[0] for request in self.api.requests]
        return methods.count("POST"), methods.count("DELETE")


@asynccontextmanager
async def serve_order_flow(
    folder: Path, flow_text: str = FLOW, model: FakeModel | None = None, store: MemoryStore | SQLiteStore | None = None
) -> AsyncIterator[ServedFlow]:
    """Serve a flow that places an order and asks before it drops one; with a model as the model's tool `order_flow`."""
    async with serve_json_api(b'{"id": 1}') as api:
        plugin = read_plugin(write_plugin_folder(folder / "p", openapi=API.replace("URL", api.url)))
        tools = make_operation_tools(plugin, LOCAL_POLICY)
        operations = {operation.id: made for operation, made in zip(plugin.operations, tools, strict=True)}
        services = FlowServices(model=model or FakeModel(), operations=operations, scripts={}, flows={}, databases={})
        store = store or MemoryStore()
        flow = make_flow(flow_text)
        if model is None:
            responder = FlowResponder("default", flow, lambda flow, turn: services, store)
            runtime = Runtime(agents={"default": responder}, store=store)
        else:
            tool = make_flow_tool("order_flow", flow, lambda flow, turn: services, lambda: store)
            runtime = Runtime(assistants=[Assistant("default", model, tools=(tool,))], store=store)
        async with serve_runtime(runtime) as home:
            yield ServedFlow(home.url, api)
        for operation_tool in tools:
            if operation_tool.close is not None:
                await operation_tool.close()
