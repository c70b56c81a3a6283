"""Plugin catalog from [[plugins]] and --plugins. A broken plugin never stops the others or the server."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import msgspec

from rightseat.config.settings import Config, PluginSettings
from rightseat.errors import ConfigError
from rightseat.middleware.tracing import traced_tool
from rightseat.plugins.flows.book import Book, Chapter
from rightseat.plugins.http.gate import Gate
from rightseat.plugins.http.tools import tools_of
from rightseat.plugins.load import candidates, is_plugin, outside, read
from rightseat.plugins.naming import named
from rightseat.plugins.plugin import Plugin
from rightseat.plugins.problem import Problem
from rightseat.plugins.python.run import Rules
from rightseat.plugins.python.run import tools_of as scripts_of
from rightseat.plugins.shelf import Loaded, Shelf, Stamp
from rightseat.plugins.vectors import Embed
from rightseat.types.tools import Tool
from rightseat.wiring.databases import databases

log = logging.getLogger(__name__)
SAID = 5
MB = 1 << 20


def shelf(config: Config, before: Shelf | None = None, embed: Embed | None = None) -> Shelf:
    """Load the configured plugins. A plugin unchanged since `previous` is not read again."""
    known = before.loaded if before else {}
    loaded = []
    book = Book(databases=databases(config))
    for folder, settings in folders(config).items():
        if settings.enabled:
            loaded.append(_loaded(folder, settings, known.get(folder.name), book))
    return Shelf(loaded, embed, before, book)


def folders(config: Config) -> dict[Path, PluginSettings]:
    """Return each plugin folder with its settings; a table for one plugin overrides one for many."""
    own: dict[Path, PluginSettings] = {}
    many: dict[Path, PluginSettings] = {}
    for settings in config.plugins:
        path = root(config, settings)
        if is_plugin(path):
            own.setdefault(path, settings)
            continue
        for folder in candidates(path):
            if fault := outside(folder, path):
                _say(fault, [])
            elif folder != path:
                many.setdefault(folder, settings)
    return {**many, **own}


def root(config: Config, settings: PluginSettings) -> Path:
    return (config.folder / Path(settings.path).expanduser()).resolve()


def _loaded(folder: Path, settings: PluginSettings, before: Loaded | None, book: Book) -> Loaded:
    plugin = None
    if before is not None and before.plugin.folder == folder and before.stamp == stamp(before.plugin):
        plugin = before.plugin
    fresh = plugin is None
    plugin = plugin or read(folder)
    seen = stamp(plugin)
    tools, problems = scripts_of(plugin, rules(settings))
    if fresh or problems:
        _say(plugin, problems)
    try:
        calls = tools_of(plugin, gate(settings))
    except ConfigError as error:
        # The settings do not fit this plugin: only its operations are left out.
        log.error("Plugin %s: its operations are left out. %s", plugin.id, error.message)
        calls = ()
    calls, tools = tuple(map(traced_tool, calls)), tuple(map(traced_tool, tools))
    sealed = seal(plugin, settings)
    flows = book.add(chapter(plugin, calls, tools, sealed, settings))
    return Loaded(plugin, (*calls, *tools, *map(traced_tool, flows)), sealed, seen)


def chapter(
    plugin: Plugin, calls: tuple[Tool, ...], tools: tuple[Tool, ...], seal: str, settings: PluginSettings
) -> Chapter:
    """Collect what the plugin's flows may use: operations by id, scripts by name."""
    by_name = {tool.name: tool for tool in tools}
    scripts: dict[str, Tool] = {}
    taken: set[str] = set()
    for script in plugin.scripts:
        name = named(plugin.id, script.name, taken)
        if name in by_name:
            taken.add(name)
            scripts[script.name] = by_name[name]
    # `calls` is empty if the settings excluded the operations.
    operations = {operation.id: tool for operation, tool in zip(plugin.operations, calls, strict=False)}
    return Chapter(plugin, operations, scripts, seal, settings.appears)


def gate(settings: PluginSettings) -> Gate:
    return Gate(
        allow=settings.allow,
        server=settings.server,
        confirm=settings.confirm,
        seconds=settings.timeout,
        retries=settings.retries,
        max_bytes=settings.max_mb * MB,
        max_upload=settings.max_upload_mb * MB,
        credentials=settings.auth,
        caller=settings.user_headers,
    )


def rules(settings: PluginSettings) -> Rules:
    return Rules(
        seconds=settings.timeout,
        memory=settings.memory_mb * MB,
        environment={name: value.reveal() for name, value in settings.environment.items()},
        confirm=settings.confirm == "all",
    )


def seal(plugin: Plugin, settings: PluginSettings) -> str:
    """Hash the plugin's files and call targets; an open question of another fingerprint is not resumed."""
    made = hashlib.sha256(msgspec.json.encode([settings.server, settings.allow, settings.path]))
    for file in sorted(plugin.files):
        try:
            made.update(file.name.encode("utf-8", "surrogateescape") + b"\0" + file.read_bytes())
        except OSError:
            made.update(b"\0")
    return made.hexdigest()[:16]


def stamp(plugin: Plugin) -> Stamp:
    """Return times and sizes of the plugin's paths, to detect changes."""
    return tuple((str(path), *_seen(path)) for path in watched(plugin))


def _seen(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def watched(plugin: Plugin) -> tuple[Path, ...]:
    """Return the plugin's files and folders; a new file changes its folder's time."""
    homes = (plugin.folder, plugin.folder / "lib", plugin.folder / "flows")
    return tuple(dict.fromkeys((*homes, *(file.parent for file in plugin.files), *plugin.files)))


def files(config: Config, shelf: Shelf | None) -> tuple[Path, ...]:
    """Return every path whose change alters or adds a plugin."""
    roots = [root(config, settings) for settings in config.plugins if settings.enabled]
    plugins = [path for one in (shelf.loaded.values() if shelf else ()) for path in watched(one.plugin)]
    # Folders that may become plugins later.
    others = [path for place in roots if place.is_dir() for path in sorted(place.iterdir()) if path.is_dir()]
    return tuple(dict.fromkeys((*roots, *others, *plugins)))


def stale(shelf: Shelf | None) -> bool:
    """Tell whether a plugin has changed since it was read."""
    return shelf is not None and any(one.stamp != stamp(one.plugin) for one in shelf.loaded.values())


def _say(plugin: Plugin, more: list[Problem]) -> None:
    """Log the first errors of a plugin and the command that shows the rest."""
    found = [problem for problem in (*plugin.problems, *more) if problem.gravity == "error"]
    for problem in found[:SAID]:
        log.error("Plugin %s: %s", plugin.id, problem)
    if len(found) > SAID:
        log.error(
            "Plugin %s: and %d more. See: rightseat plugins check %s",
            plugin.id,
            len(found) - SAID,
            plugin.folder,
        )
