"""The demo's flow as a tool of the default assistant: its chart and its sentence come without the model's numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from rightseat.plugins.catalog import PluginCatalog
from rightseat.plugins.flows.responder import make_flow_tool
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.wiring.demo import DESCRIPTIONS, SALES_TOOL
from rightseat.wiring.demo.offer import is_plain_turn

PLUGIN, FLOW = "demo", "sales"
NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def make_sales_tools(catalog: PluginCatalog) -> tuple[Tool, ...]:
    """Return the flow as a tool without arguments; nothing where the plugin could not be read."""
    registry = catalog.flows
    plugin_flows = registry.plugins.get(PLUGIN) if registry else None
    flow = next((flow for flow in plugin_flows.plugin.workflows if flow.name == FLOW), None) if plugin_flows else None
    if registry is None or flow is None:
        return ()
    description = DESCRIPTIONS[SALES_TOOL]["en"]
    flow_tool = make_flow_tool(SALES_TOOL, flow, registry.get_services, lambda: registry.store)
    call_flow = flow_tool.call
    assert call_flow is not None

    def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        # The person's own words: they tell the flow the language.
        user_texts = (message.text.strip() for message in reversed(ctx.turn.messages) if message.role == "user")
        return call_flow({"request": next(user_texts, "") or description}, ctx)

    tool = replace(flow_tool, description=description, parameters=NO_PARAMETERS, call=call)
    return (replace(tool, effect="reads", untrusted=False, is_offered=is_plain_turn),)
