"""FlowRegistry: the flows of all plugins as tools and as Responders, with the services that they use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.engine.loop import Assistant
from rightseat.errors import NotConfigured
from rightseat.plugins.flows.context import FlowServices
from rightseat.plugins.flows.responder import FlowResponder, make_flow_tool
from rightseat.plugins.http.request import find_idempotency_parameter
from rightseat.plugins.plugin import Flow, Operation, Plugin, make_tool_name
from rightseat.types.stores import CheckpointStore, Store
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

DEFAULT_ASSISTANT = "default"
READ_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class PluginFlows:
    """One plugin's flows and tools. `is_listed`: doors list each flow; otherwise it runs only by name."""

    plugin: Plugin
    operations: Mapping[str, Tool]
    scripts: Mapping[str, Tool]
    fingerprint: str = ""
    is_listed: bool = False


@dataclass(eq=False)
class FlowRegistry:
    plugins: dict[str, PluginFlows] = field(default_factory=dict)
    databases: Mapping[str, Any] = field(default_factory=dict)
    hosts: dict[str, Assistant] = field(default_factory=dict)
    checkpoint_store: CheckpointStore | None = None
    services: dict[tuple[str, str], FlowServices] = field(default_factory=dict)
    """Cache by (plugin id, assistant name)."""

    def add(self, plugin_flows: PluginFlows) -> tuple[Tool, ...]:
        """Register a plugin and return its flows as tools; a flow made of one operation already is a tool."""
        self.plugins[plugin_flows.plugin.id] = plugin_flows
        taken = {tool.name for tool in (*plugin_flows.operations.values(), *plugin_flows.scripts.values())}
        tools = []
        for flow in plugin_flows.plugin.workflows:
            if flow.file:
                name = make_tool_name(flow.plugin, flow.name, taken)
                taken.add(name)
                tools.append(make_flow_tool(name, flow, self.get_services, lambda: self.checkpoint_store))
        return tuple(tools)

    def bind(self, hosts: Iterable[Assistant], store: Store) -> dict[str, FlowResponder]:
        """Return every flow as a Responder, by "plugin.flow"."""
        self.services.clear()
        self.hosts = {host.name: host for host in hosts}
        self.checkpoint_store = store if isinstance(store, CheckpointStore) else None
        return {
            f"{flow.plugin}.{flow.name}": FlowResponder(
                f"{flow.plugin}.{flow.name}",
                flow,
                self.get_services,
                store,
                question=plugin_flows.plugin.question.strip(),
                fingerprint=plugin_flows.fingerprint,
            )
            for plugin_flows in self.plugins.values()
            for flow in plugin_flows.plugin.workflows
        }

    def list_visible_flows(self) -> dict[str, Flow]:
        """Return the flows that doors list: flows from files, of listed plugins."""
        visible = (plugin_flows.plugin for plugin_flows in self.plugins.values() if plugin_flows.is_listed)
        flows = (flow for plugin in visible for flow in plugin.workflows if flow.file)
        return {f"{flow.plugin}.{flow.name}": flow for flow in flows}

    def get_services(self, flow: Flow, turn: Turn) -> FlowServices:
        """Return a flow's services in a turn: its plugin's tools and the model of the addressed assistant."""
        preferred = (self.hosts.get(name) for name in (turn.assistant or DEFAULT_ASSISTANT, DEFAULT_ASSISTANT))
        host = next((host for host in (*preferred, *self.hosts.values()) if host is not None), None)
        if host is None:
            raise NotConfigured("A flow needs an assistant whose model it can ask. Give the server one.")
        return self.get_plugin_services(flow.plugin, host)

    def get_plugin_services(self, plugin: str, host: Assistant) -> FlowServices:
        if (plugin, host.name) not in self.services:
            self.services[plugin, host.name] = self.build_services(self.plugins[plugin], host)
        return self.services[plugin, host.name]

    def build_services(self, plugin_flows: PluginFlows, host: Assistant) -> FlowServices:
        plugin = plugin_flows.plugin
        all_flows = {flow.id: flow for other in self.plugins.values() for flow in other.plugin.workflows}
        return FlowServices(
            model=host.model,
            operations=plugin_flows.operations,
            scripts=plugin_flows.scripts,
            flows=all_flows | {flow.name: flow for flow in plugin.workflows},
            databases={name: base for name, base in self.databases.items() if base.is_available_to(plugin.id)},
            context=host.context,
            repeatable=frozenset(operation.id for operation in plugin.operations if is_repeatable(operation)),
            get_plugin_services=lambda other: self.get_plugin_services(other, host),
        )


def is_repeatable(operation: Operation) -> bool:
    """Whether a request may be sent twice: it only reads, or it carries an idempotency key."""
    return operation.method.upper() in READ_METHODS or find_idempotency_parameter(operation) is not None
