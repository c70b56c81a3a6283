"""Plugins of assistants: all, those an assistant names, or a plugin as an assistant of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from rightseat.config.settings import Config
from rightseat.engine.loop import Assistant
from rightseat.errors import CallerError, ConfigError
from rightseat.plugins.selection import ToolSelection
from rightseat.plugins.shelf import PluginCatalog
from rightseat.plugins.vectors import Embed
from rightseat.types.model import Model
from rightseat.wiring.plugins import plugin_folders

assistants_log = logging.getLogger(__name__)
DEFAULT_ASSISTANT = "default"
# Context assumed for a local model without a configured one.
LOCAL_CONTEXT = 4096


def make_embedder(config: Config, get: Callable[[str], Model]) -> Embed | None:
    """Return the embedding function of the model in [tools] embeddings, or None."""
    name = config.tools.embeddings
    if not name:
        return None
    embed: Embed | None = getattr(get(name), "embed", None)
    if embed is None:
        raise ConfigError(f"[tools] embeddings in {config.path}: the model {name} has no embeddings.")
    return embed


def attach_plugins(
    assistants: Mapping[str, Assistant],
    catalog: PluginCatalog,
    config: Config,
    is_local: Callable[[Model], bool],
) -> dict[str, Assistant]:
    """Attach plugins to assistants and add the plugins that are assistants themselves."""
    attached = {name: _attach_own_plugins(one, catalog, config, is_local) for name, one in assistants.items()}
    return attached | _plugin_assistants(attached, catalog, config, is_local)


def _attach_own_plugins(
    assistant: Assistant, catalog: PluginCatalog, config: Config, is_local: Callable[[Model], bool]
) -> Assistant:
    settings = config.assistants.get(assistant.name)
    if config.assistants and settings is None and assistant.name != DEFAULT_ASSISTANT:
        return assistant  # a plain model, addressed by its name
    # Without a table of its own the default assistant is the first one.
    name = assistant.name if settings else next(iter(config.assistants), "")
    settings = config.assistants.get(name)
    own_plugins = settings.plugins if settings else None
    if own_plugins is None:
        return _with_catalog(assistant, catalog, config, is_local)
    if not own_plugins:
        return assistant
    try:
        return _with_catalog(assistant, catalog.make_subset(own_plugins), config, is_local)
    except CallerError as error:
        raise ConfigError(f"[assistants.{name}] in {config.path}: {error.message}") from None


def _with_catalog(
    assistant: Assistant, catalog: PluginCatalog, config: Config, is_local: Callable[[Model], bool]
) -> Assistant:
    if not catalog.entries and not catalog.questions:
        return assistant
    for tool in assistant.tools:
        if tool.name in catalog.by_name:
            assistants_log.warning(
                "%s: its own tool %s hides a plugin's of that name.", assistant.name, tool.name
            )
    # API results must fit a local model's context.
    context = assistant.context or (LOCAL_CONTEXT if is_local(assistant.model) else None)
    selection = ToolSelection(catalog, max_tools=config.tools.shown, context=context)
    return replace(assistant, toolset=selection, context=context)


def _plugin_assistants(
    assistants: Mapping[str, Assistant],
    catalog: PluginCatalog,
    config: Config,
    is_local: Callable[[Model], bool],
) -> dict[str, Assistant]:
    """Make an assistant of each plugin with `appears`, with its tools and the default's model."""
    default = assistants.get(DEFAULT_ASSISTANT) or next(iter(assistants.values()))
    plugin_assistants: dict[str, Assistant] = {}
    for folder, settings in plugin_folders(config).items():
        loaded = catalog.loaded.get(folder.name)
        if not settings.appears or loaded is None:
            continue
        if folder.name in assistants:
            assistants_log.error(
                "Plugin %s does not appear: there is an assistant of that name.", folder.name
            )
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
        )
        plugin_assistants[plugin.id] = _with_catalog(
            assistant, catalog.make_subset([plugin.id]), config, is_local
        )
    return plugin_assistants
