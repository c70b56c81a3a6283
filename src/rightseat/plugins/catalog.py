"""Catalog of all loaded plugins and their tools, by name, by plugin and by search."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote

from rightseat.config.stamps import FileStamps
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import CombinedToolset
from rightseat.errors import CallerError
from rightseat.http.endpoint import PluginInfo, ResourceFile
from rightseat.plugins.flows.responder import FlowRegistry
from rightseat.plugins.plugin import Plugin, make_tool_name
from rightseat.plugins.search import Embed, VectorIndex
from rightseat.tools.word_search import SearchField, SearchIndex
from rightseat.types.agent_card import NO_CARD
from rightseat.types.agents import Responder
from rightseat.types.stores import Store
from rightseat.types.text import closest_match, estimate_tokens
from rightseat.types.tools import Tool, fingerprint_tools

log = logging.getLogger(__name__)
# Search weights of names, tool descriptions and plugin descriptions.
NAME_WEIGHT, DESCRIPTION_WEIGHT, PLUGIN_WEIGHT = 3.0, 1.0, 0.5
FIND_TOOLS = "find_tools"
MAX_SHOWN_ERRORS, MAX_SHOWN_NAMES = 3, 20
YAML_MEDIA_TYPE = "application/yaml"


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    plugin: Plugin
    tools: tuple[Tool, ...]
    file_stamps: FileStamps = field(default_factory=dict)
    """Stamps of its files and folders, from before they were read."""


@dataclass(frozen=True, eq=False)
class CatalogEntry:
    number: int
    tool: Tool
    loaded: LoadedPlugin

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the tool's description and schema."""
        return estimate_tokens(self.tool.description + str(self.tool.parameters))

    @property
    def text(self) -> str:
        return f"{self.loaded.plugin.name}: {self.tool.name.replace('_', ' ')}. {self.tool.description}"

    @property
    def fields(self) -> tuple[SearchField, ...]:
        plugin = self.loaded.plugin
        return (
            SearchField(self.tool.name.replace("_", " "), NAME_WEIGHT),
            SearchField(self.tool.description, DESCRIPTION_WEIGHT),
            SearchField(f"{plugin.name} {plugin.id}", NAME_WEIGHT),
            SearchField(plugin.description, PLUGIN_WEIGHT),
        )


class PluginCatalog:
    """Immutable: a file change builds a new catalog, and running turns keep theirs."""

    def __init__(
        self,
        loaded: Iterable[LoadedPlugin],
        embed: Embed | None = None,
        previous: PluginCatalog | None = None,
        flows: FlowRegistry | None = None,
        folder_stamps: FileStamps | None = None,
    ) -> None:
        self.flows = flows
        # From before the folders were searched for plugins.
        self.folder_stamps = folder_stamps or {}
        self.loaded: dict[str, LoadedPlugin] = {}
        for loaded_plugin in loaded:
            plugin = loaded_plugin.plugin
            first = self.loaded.setdefault(plugin.id, loaded_plugin)
            if first is not loaded_plugin:
                log.error("Plugin %s is left out: %s is called so too.", plugin.folder, first.plugin.folder)
        self.entries = tuple(self._iter_entries())
        self.by_name = {entry.tool.name: entry for entry in self.entries}
        self.by_plugin: dict[str, list[CatalogEntry]] = {id: [] for id in self.loaded}
        for entry in self.entries:
            self.by_plugin[entry.loaded.plugin.id].append(entry)
        self.subsets: list[PluginCatalog] = []
        known = previous.vectors if previous else None
        self.vectors: VectorIndex | None
        self.vectors = VectorIndex(embed, [entry.text for entry in self.entries], known) if embed else None
        self.aliases = {one.plugin.alias: id for id, one in reversed(self.loaded.items()) if one.plugin.alias}
        names = {*self.loaded, *self.aliases}
        # Names of plugins that this server has had and that have been removed since.
        self.gone_names: set[str]
        self.gone_names = {*previous.gone_names, *previous.loaded, *previous.aliases} - names if previous else set()

    @property
    def file_stamps(self) -> FileStamps:
        """Every path whose change alters, adds or removes a plugin, with its stamp from before it was read."""
        stamps = dict(self.folder_stamps)
        for loaded in self.loaded.values():
            stamps |= loaded.file_stamps
        return stamps

    def _iter_entries(self) -> Iterator[CatalogEntry]:
        taken: set[str] = set()
        tools = ((loaded, tool) for loaded in self.loaded.values() for tool in loaded.tools)
        for number, (loaded, tool) in enumerate(tools):
            if tool.name in taken:
                tool = replace(tool, name=make_tool_name(loaded.plugin.id, tool.name, taken))
            taken.add(tool.name)
            yield CatalogEntry(number, tool, loaded)

    @cached_property
    def index(self) -> SearchIndex:
        return SearchIndex([entry.fields for entry in self.entries])

    @cached_property
    def interleaved(self) -> tuple[CatalogEntry, ...]:
        """All entries round-robin: the first of each plugin before the second of any."""
        rows = zip_longest(*self.by_plugin.values())
        return tuple(entry for row in rows for entry in row if entry is not None)

    def make_subset(self, plugins: Sequence[str]) -> PluginCatalog:
        """Return a catalog of these plugins alone."""
        embed = self.vectors.embed if self.vectors else None
        subset = PluginCatalog((self.loaded[self.resolve_plugin_id(name)] for name in plugins), embed)
        self.subsets.append(subset)
        return subset

    def resolve_plugin_id(self, name: str) -> str:
        """Return a plugin's id by id or alias; raise CallerError if there is none."""
        if name in self.loaded:
            return name
        if name in self.aliases:
            return self.aliases[name]
        near = closest_match(name, (*self.loaded, *self.aliases))
        hint = f"Did you mean {near!r}?" if near else f"Those that exist: {', '.join(list(self.loaded)[:20])}."
        raise CallerError(f"plugins: there is no plugin {name[:64]!r}. {hint}", param="plugins")

    def explain_missing_flow(self, name: str) -> str | None:
        """Say why there is no flow PLUGIN.FLOW: the plugin's own errors, or the flows that it has. None where no
        plugin has the name before the dot."""
        plugin_id = next((id for id in (*self.loaded, *self.aliases) if name.startswith(f"{id}.")), None)
        if plugin_id is None:
            return None
        flow = name[len(plugin_id) + 1 :]
        plugin = self.loaded[self.resolve_plugin_id(plugin_id)].plugin
        errors = [problem for problem in plugin.problems if problem.gravity == "error"]
        own = [problem for problem in errors if Path(problem.file).stem == flow]
        if own or not plugin.workflows:
            owner = f"The flow {flow[:64]!r} of the plugin {plugin.id!r}" if own else f"The plugin {plugin.id!r}"
            if shown := " ".join(map(str, (own or errors)[:MAX_SHOWN_ERRORS])):
                return f"{owner} has errors: {shown}"
        names = [flow.name for flow in plugin.workflows]
        near = closest_match(flow, names)
        hint = f"Did you mean {f'{plugin.id}.{near}'!r}?" if near else f"It has: {', '.join(names[:MAX_SHOWN_NAMES])}."
        # A flow's name may differ from its file's.
        shown = " ".join(map(str, errors[:MAX_SHOWN_ERRORS]))
        others = f" Of its files some have errors: {shown}" if shown else ""
        return f"The plugin {plugin.id!r} has no flow {flow[:64]!r}. {hint if names else 'It has none.'}{others}"

    @property
    def tools(self) -> dict[str, Tool]:
        return {entry.tool.name: entry.tool for entry in self.entries}

    @property
    def flow_documents(self) -> dict[str, ResourceFile]:
        """Every flow's file by its URI, `flow://PLUGIN/FLOW`."""
        by_uri = {}
        for id, loaded in self.loaded.items():
            for flow in loaded.plugin.workflows:
                if flow.file:
                    uri = f"flow://{quote(id, safe='')}/{quote(flow.name, safe='')}"
                    path = loaded.plugin.folder / flow.file
                    by_uri[uri] = ResourceFile(flow.id, flow.description, YAML_MEDIA_TYPE, path)
        return by_uri

    def list_plugins(self) -> list[PluginInfo]:
        """List the plugins that have anything to offer, for doors to show."""
        loaded = ((id, loaded.plugin) for id, loaded in self.loaded.items())
        return [
            PluginInfo(id, plugin.name, plugin.description, plugin.question.strip())
            for id, plugin in loaded
            if self.by_plugin.get(id) or plugin.workflows
        ]

    @property
    def plugin_questions(self) -> dict[str, str]:
        """The suggested question of each plugin that has one."""
        questions = ((id, loaded.plugin.question.strip()) for id, loaded in self.loaded.items())
        return {id: question for id, question in questions if question}

    @property
    def names(self) -> set[str]:
        """Names of all callable tools."""
        return {*self.by_name, FIND_TOOLS}

    @cached_property
    def questions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.plugin_questions.values()))

    def digest(self, names: Iterable[str]) -> str:
        tools = [self.by_name[name].tool for name in names if name in self.by_name]
        return fingerprint_tools(tools) if tools else ""

    def bind_flows(self, assistants: Sequence[Assistant], store: Store) -> dict[str, Responder]:
        """Return the flows as Responders that use the models of these assistants."""
        return dict(self.flows.bind(assistants, store)) if self.flows else {}

    def describe_flows(self, assistants: Sequence[Assistant]) -> list[Assistant]:
        """Return the listed flows as assistants for doors to show."""
        if self.flows is None or not assistants:
            return []
        base = replace(assistants[0], system="", tools=(), image="", toolset=CombinedToolset(()))
        return [
            replace(base, name=name, title=flow.name, description=flow.description, card=NO_CARD)
            for name, flow in self.flows.list_visible_flows().items()
        ]

    async def start(self) -> None:
        """Fetch embeddings before the first turn."""
        if self.vectors is None:
            return
        await self.vectors.start()
        for part in self.subsets:
            if part.vectors is not None:
                part.vectors.known = self.vectors.known
            await part.start()

    async def close(self) -> None:
        closers = {entry.tool.close for entry in self.entries if entry.tool.close is not None}
        if self.flows is not None:
            closers |= {database.close for database in self.flows.databases.values()}
        await asyncio.gather(*(close() for close in closers))
