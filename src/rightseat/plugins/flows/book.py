"""Registry of all loaded flows: each becomes a tool for models and a Responder for doors.

Loading plugins fills the registry; `bind` connects it to models and a store, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rightseat.errors import NotConfigured
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.perform import flow_tool
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.stage import Kit
from rightseat.plugins.http.request import key_parameter
from rightseat.plugins.naming import named
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import Plugin
from rightseat.types.model import Model
from rightseat.types.stores import Notes, Store
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

DEFAULT = "default"
READS = ("GET", "HEAD", "OPTIONS")


class Host(Protocol):
    """The attributes of an assistant that flows use."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> Model: ...
    @property
    def context(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Chapter:
    """One plugin's flows and tools. `is_listed`: doors list each flow; otherwise it runs only by name."""

    plugin: Plugin
    operations: Mapping[str, Tool]
    scripts: Mapping[str, Tool]
    seal: str = ""
    appears: bool = False


@dataclass(eq=False)
class Book:
    chapters: dict[str, Chapter] = field(default_factory=dict)
    databases: Mapping[str, Any] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    notes: Notes | None = None
    kits: dict[tuple[str, str], Kit] = field(default_factory=dict)
    """Cache by (plugin id, assistant name)."""

    def add(self, chapter: Chapter) -> tuple[Tool, ...]:
        """Register a plugin and return its flows as tools; a flow made of one operation already is a tool."""
        self.chapters[chapter.plugin.id] = chapter
        taken = {tool.name for tool in (*chapter.operations.values(), *chapter.scripts.values())}
        made = []
        for flow in chapter.plugin.workflows:
            if flow.file:
                name = named(flow.plugin, flow.name, taken)
                taken.add(name)
                made.append(flow_tool(name, flow, self.kit, lambda: self.notes))
        return tuple(made)

    def bind(self, hosts: Iterable[Host], store: Store) -> dict[str, FlowResponder]:
        """Return every flow as a Responder, by "plugin.flow"."""
        self.kits.clear()
        self.hosts = {host.name: host for host in hosts}
        self.notes = store if isinstance(store, Notes) else None
        found: dict[str, FlowResponder] = {}
        for chapter in self.chapters.values():
            for flow in chapter.plugin.workflows:
                name = f"{flow.plugin}.{flow.name}"
                question = chapter.plugin.question.strip()
                found[name] = FlowResponder(name, flow, self.kit, store, question=question, seal=chapter.seal)
        return found

    def listed(self) -> dict[str, Flow]:
        """Return the flows that doors list: flows from files, of listed plugins."""
        shown = (one for one in self.chapters.values() if one.appears)
        flows = (flow for one in shown for flow in one.plugin.workflows if flow.file)
        return {f"{flow.plugin}.{flow.name}": flow for flow in flows}

    def kit(self, flow: Flow, turn: Turn) -> Kit:
        """Return a flow's services in a turn: its plugin's tools and the model of the addressed assistant."""
        asked = (self.hosts.get(name) for name in (turn.assistant or DEFAULT, DEFAULT))
        host = next((one for one in (*asked, *self.hosts.values()) if one is not None), None)
        if host is None:
            raise NotConfigured("A flow needs an assistant whose model it can ask. Give the server one.")
        return self.of(flow.plugin, host)

    def of(self, plugin: str, host: Host) -> Kit:
        if (plugin, host.name) not in self.kits:
            self.kits[plugin, host.name] = self.made(self.chapters[plugin], host)
        return self.kits[plugin, host.name]

    def made(self, chapter: Chapter, host: Host) -> Kit:
        return Kit(
            model=host.model,
            operations=chapter.operations,
            scripts=chapter.scripts,
            flows=self.flows(chapter),
            databases={name: one for name, one in self.databases.items() if one.serves(chapter.plugin.id)},
            context=host.context,
            repeatable=frozenset(one.id for one in chapter.plugin.operations if harmless(one)),
            others=lambda other: self.of(other, host),
        )

    def flows(self, chapter: Chapter) -> dict[str, Flow]:
        every = {flow.id: flow for one in self.chapters.values() for flow in one.plugin.workflows}
        return every | {flow.name: flow for flow in chapter.plugin.workflows}


def harmless(operation: Operation) -> bool:
    """Whether a request may be sent twice: it only reads, or it carries an idempotency key."""
    return operation.method.upper() in READS or key_parameter(operation) is not None
