"""Plugins from [[plugins]] and --plugins, databases from [databases], and the assistants that use them.

A broken plugin or database is left out and never stops the others or the server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rightseat.config.settings import Config, DatabaseSettings, PluginSettings
from rightseat.config.stamps import FileStamps, are_current, read_stamps
from rightseat.engine.loop import Assistant
from rightseat.errors import CallerError, ConfigError
from rightseat.middleware.tracing import trace_tool
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.flows.responder import FlowRegistry, PluginFlows
from rightseat.plugins.http.oidc import find_missing_caller_token
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import (
    FLOWS,
    LIB,
    find_plugin_folders,
    is_plugin_folder,
    list_plugin_files,
    list_plugin_folders,
    read_plugin,
    reject_outside_link,
)
from rightseat.plugins.plugin import Plugin, Problem, make_tool_name
from rightseat.plugins.plugin_choice import PluginChooser
from rightseat.plugins.python.tools import PythonPolicy, make_script_tools
from rightseat.plugins.search import Embed
from rightseat.plugins.selection import ToolSelection
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.tools.sandbox.machine import probe_machine
from rightseat.tools.sandbox.plan import make_plan
from rightseat.types.agent_card import NO_CARD
from rightseat.types.model import Embeds, Model, find_protocol
from rightseat.types.tools import Tool
from rightseat.wiring.demo import PLUGINS
from rightseat.wiring.storage import data_folder

if TYPE_CHECKING:
    from rightseat.plugins.sql.database import Database

log = logging.getLogger(__name__)
IsLocal = Callable[[Model], bool]
MAX_LOGGED = 5
MB = 1 << 20
# Context assumed for a local model without a configured one.
LOCAL_CONTEXT = 4096


def load_catalog(config: Config, previous: PluginCatalog | None = None, embed: Embed | None = None) -> PluginCatalog:
    """Load the configured plugins. A plugin unchanged since `previous` is not read again."""
    loaded_before = previous.loaded if previous else {}
    folder_stamps = read_stamps(searched_folders(config))
    for path in config.plugin_paths:
        if not path.is_dir():
            log.error("The plugin folder %s is gone: its plugins are left out until it is back.", path)
    flows = FlowRegistry(databases=open_databases(config))
    loaded = [
        _load_plugin(folder, settings, loaded_before.get(folder.name), flows, config)
        for folder, settings in plugin_folders(config).items()
        if settings.enabled
    ]
    return PluginCatalog(loaded, embed, previous, flows, folder_stamps)


def open_databases(config: Config) -> dict[str, Database]:
    opened = {}
    for name, settings in config.databases.items():
        try:
            opened[name] = open_configured_database(name, settings, config)
        except ConfigError as error:
            log.error("Database %s is left out: %s", name, error.message)
    return opened


def open_configured_database(name: str, settings: DatabaseSettings, config: Config) -> Database:
    """Make a database without connecting; ConfigError if its URL is invalid or a package is missing."""
    # Imported here: most servers have no database.
    from rightseat.plugins.sql.database import open_database
    from rightseat.plugins.sql.query import QueryLimits

    return open_database(
        name,
        settings.url.reveal(),
        config.folder,
        description=settings.description,
        limits=QueryLimits(
            rows=settings.max_rows, bytes=settings.max_mb * MB, seconds=settings.timeout, memory=settings.memory_mb * MB
        ),
        tables=settings.tables,
        functions=settings.functions,
        plugins=settings.plugins,
    )


def plugin_folders(config: Config) -> dict[Path, PluginSettings]:
    """Return each plugin folder with its settings; a table for one plugin overrides one for many."""
    single: dict[Path, PluginSettings] = {}
    many: dict[Path, PluginSettings] = {}
    for settings in config.plugins:
        path = config.resolve_plugin_path(settings)
        if is_plugin_folder(path):
            single.setdefault(path, settings)
            continue
        for folder in find_plugin_folders(path):
            if fault := reject_outside_link(folder, path):
                _log_problems(fault, [])
            elif folder != path:
                many.setdefault(folder, settings)
    return {**many, **single}


def _load_plugin(
    folder: Path, settings: PluginSettings, previous: LoadedPlugin | None, registry: FlowRegistry, config: Config
) -> LoadedPlugin:
    unchanged = previous if previous and previous.plugin.folder == folder and not is_changed(previous) else None
    plugin, stamps = (unchanged.plugin, unchanged.file_stamps) if unchanged else _read_plugin(folder)
    tools, problems = make_script_tools(plugin, make_python_policy(settings, config))
    if problems or not unchanged:
        _log_problems(plugin, problems)
    if tools and not unchanged:
        _log_confinement(plugin, settings, config)
    if not unchanged and (missing := find_missing_caller_token(plugin, settings.user_headers, settings.auth)):
        log.warning("Plugin %s: %s", plugin.id, missing)
    try:
        calls = make_operation_tools(plugin, make_policy(settings))
    except ConfigError as error:
        # The settings do not fit this plugin: only its operations are left out.
        log.error("Plugin %s: its operations are left out. %s", plugin.id, error.message)
        calls = ()
    calls, tools = tuple(map(trace_tool, calls)), tuple(map(trace_tool, tools))
    flows = registry.add(make_plugin_flows(plugin, calls, tools, settings))
    return LoadedPlugin(plugin, (*calls, *tools, *map(trace_tool, flows)), stamps)


def _read_plugin(folder: Path) -> tuple[Plugin, FileStamps]:
    """Read a plugin and the stamps of its files, from before: a file that changes meanwhile is read again."""
    before = read_stamps((*list_plugin_folders(folder), *list_plugin_files(folder)))
    plugin = read_plugin(folder)
    # Other files are named in the API document, and known only now.
    others = [path for file in plugin.files for path in (file.parent, file) if path not in before]
    return plugin, before | read_stamps(others)


def make_plugin_flows(
    plugin: Plugin, calls: tuple[Tool, ...], tools: tuple[Tool, ...], settings: PluginSettings
) -> PluginFlows:
    """Collect what the plugin's flows may use: operations by id, scripts by name."""
    by_name = {tool.name: tool for tool in tools}
    scripts: dict[str, Tool] = {}
    taken_names: set[str] = set()
    for script in plugin.scripts:
        name = make_tool_name(plugin.id, script.name, taken_names)
        if name in by_name:
            taken_names.add(name)
            scripts[script.name] = by_name[name]
    # `calls` is empty if the settings excluded the operations.
    operations = {operation.id: tool for operation, tool in zip(plugin.operations, calls, strict=False)}
    return PluginFlows(plugin, operations, scripts, settings.appears)


def make_policy(settings: PluginSettings) -> PluginPolicy:
    return PluginPolicy(
        allow=settings.allow,
        server=settings.server,
        confirm=settings.confirm,
        seconds=settings.timeout,
        retries=settings.retries,
        max_bytes=settings.max_mb * MB,
        max_upload=settings.max_upload_mb * MB,
        credentials=settings.auth,
        caller_headers=settings.user_headers,
    )


def make_python_policy(settings: PluginSettings, config: Config) -> PythonPolicy:
    return PythonPolicy(
        seconds=settings.timeout,
        memory=settings.memory_mb * MB,
        environment={name: value.reveal() for name, value in settings.environment.items()},
        confirm=settings.confirm == "all",
        trusted=settings.lib == "trusted",
        readable=tuple(str((config.folder / Path(path).expanduser()).resolve()) for path in settings.read),
    )


def _log_confinement(plugin: Plugin, settings: PluginSettings, config: Config) -> None:
    """Log what confines the plugin's Python tools, and which files of the server they can read all the same."""
    if plugin.folder.is_relative_to(PLUGINS):
        return
    if settings.lib == "trusted":
        log.warning("Plugin %s: its Python tools are trusted: they may do what the server may.", plugin.id)
        return
    report = probe_machine()
    log.info("Plugin %s: Python tools of plugins are confined %s.", plugin.id, report.describe())
    plan = make_plan(plugin.folder.resolve(), report.layers, make_python_policy(settings, config).readable)
    for path in (*config.files, data_folder(config)):
        if folder := next((folder for folder in plan.readable if path.resolve().is_relative_to(folder)), None):
            log.warning("Plugin %s: its Python tools can read %s. Move it out of %s.", plugin.id, path, folder)


def has_confined_scripts(config: Config) -> bool:
    """Tell whether a plugin has Python code that is not trusted."""
    folders = plugin_folders(config).items()
    return any(settings.enabled and settings.lib == "confined" and (path / LIB).is_dir() for path, settings in folders)


def searched_folders(config: Config) -> list[Path]:
    """Return the folders that are searched for plugins, and those in them that may become plugins later."""
    roots = config.plugin_paths
    return [*roots, *(path for root in roots for path in list_folders(root))]


def list_folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def is_changed(loaded: LoadedPlugin) -> bool:
    """Tell whether a plugin has changed since it was read."""
    return not are_current(loaded.file_stamps)


def _log_problems(plugin: Plugin, more: list[Problem]) -> None:
    """Log the warnings of a plugin's flows, its first other warning, its first errors, and the command that shows the
    rest."""
    warnings = [problem for problem in plugin.problems if problem.gravity == "warning"]
    of_flows = [problem for problem in warnings if problem.file.startswith(f"{FLOWS}/")]
    others = [problem for problem in warnings if problem not in of_flows]
    if others:
        rest = f" And {len(others) - 1} more." if len(others) > 1 else ""
        log.warning("Plugin %s: %s%s See: rightseat plugins check %s", plugin.id, others[0], rest, plugin.folder)
    for problem in of_flows[:MAX_LOGGED]:
        log.warning("Plugin %s: %s", plugin.id, problem)
    errors = [problem for problem in (*plugin.problems, *more) if problem.gravity == "error"]
    for problem in errors[:MAX_LOGGED]:
        log.error("Plugin %s: %s", plugin.id, problem)
    if len(errors) > MAX_LOGGED:
        more_errors = len(errors) - MAX_LOGGED
        log.error("Plugin %s: and %d more. See: rightseat plugins check %s", plugin.id, more_errors, plugin.folder)


def make_embedder(config: Config, get: Callable[[str], Model]) -> Embed | None:
    """Return the embedding function of the model in [tools] embeddings, or None."""
    name = config.tools.embeddings
    if not name:
        return None
    if (model := find_protocol(get(name), Embeds)) is None:
        raise ConfigError(f"[tools] embeddings in {config.path}: the model {name} has no embeddings.")
    return model.embed


def attach_plugins(
    assistants: Mapping[str, Assistant], catalog: PluginCatalog, config: Config, is_local: IsLocal
) -> dict[str, Assistant]:
    """Attach plugins to assistants and add the plugins that are assistants themselves."""
    attached = {name: _attach_plugins(assistant, catalog, config, is_local) for name, assistant in assistants.items()}
    return attached | _plugin_assistants(attached, catalog, config, is_local)


def _attach_plugins(assistant: Assistant, catalog: PluginCatalog, config: Config, is_local: IsLocal) -> Assistant:
    settings = config.find_assistant(assistant.name)
    if settings is None or settings.plugins == ():
        return assistant
    if settings.plugins is None:
        return _with_catalog(assistant, catalog, config, is_local)
    gone = [name for name in settings.plugins if name in catalog.gone_names]
    for name in gone:
        log.error("[assistants.%s]: the plugin %s is gone and is left out until it is back.", assistant.name, name)
    try:
        names = [name for name in settings.plugins if name not in gone]
        return _with_catalog(assistant, catalog.make_subset(names), config, is_local)
    except CallerError as error:
        name = assistant.name if assistant.name in config.assistants else next(iter(config.assistants))
        raise ConfigError(f"[assistants.{name}] in {config.path}: {error.message}") from None


def _with_catalog(assistant: Assistant, catalog: PluginCatalog, config: Config, is_local: IsLocal) -> Assistant:
    if not catalog.entries and not catalog.questions:
        return assistant
    for tool in assistant.tools:
        if tool.name in catalog.by_name:
            log.warning("%s: its own tool %s hides a plugin's of that name.", assistant.name, tool.name)
    # API results must fit a local model's context.
    local_context = (assistant.context_window or LOCAL_CONTEXT) if is_local(assistant.model) else None
    context = assistant.context or local_context
    chooser = PluginChooser(assistant.model) if config.tools.select == "model" else None
    selection = ToolSelection(catalog, max_tools=config.tools.shown, context=context, chooser=chooser)
    return replace(assistant, toolset=selection)


def _plugin_assistants(
    assistants: Mapping[str, Assistant], catalog: PluginCatalog, config: Config, is_local: IsLocal
) -> dict[str, Assistant]:
    """Make an assistant of each plugin with `appears`, with its tools and the default's model."""
    default = assistants.get(DEFAULT_ASSISTANT) or next(iter(assistants.values()))
    plugin_assistants: dict[str, Assistant] = {}
    for folder, settings in plugin_folders(config).items():
        loaded = catalog.loaded.get(folder.name)
        if not settings.appears or loaded is None:
            continue
        if folder.name in assistants or folder.name in config.agents:
            kind = "assistant" if folder.name in assistants else "agent"
            log.error("Plugin %s does not appear: there is an %s of that name.", folder.name, kind)
            continue
        plugin = loaded.plugin
        assistant = replace(
            default,
            name=plugin.id,
            tools=(),
            toolset=None,
            title=plugin.name,
            description=plugin.description,
            image="",
            card=NO_CARD,
        )
        plugin_assistants[plugin.id] = _with_catalog(assistant, catalog.make_subset([plugin.id]), config, is_local)
    return plugin_assistants
