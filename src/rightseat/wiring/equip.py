"""Assistants get their plugins: all of them, those they name, or each plugin an assistant of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from rightseat.config.settings import Config
from rightseat.engine.loop import Assistant
from rightseat.errors import CallerError, ConfigError
from rightseat.plugins.selection import Selection
from rightseat.plugins.shelf import Shelf
from rightseat.plugins.vectors import Embed
from rightseat.types.model import Model
from rightseat.wiring.plugins import folders, shelf

__all__ = ["embedding", "equipped", "shelf"]
log = logging.getLogger(__name__)
DEFAULT = "default"
# What fits a local model where nobody says: the rest of its context is for the talk.
LOCAL_CONTEXT = 4096


def embedding(config: Config, get: Callable[[str], Model]) -> Embed | None:
    """What makes vectors of texts, where a model for it is named."""
    name = config.tools.embeddings
    if not name:
        return None
    embed: Embed | None = getattr(get(name), "embed", None)
    if embed is None:
        raise ConfigError(f"[tools] embeddings in {config.path}: the model {name} has no embeddings.")
    return embed


def equipped(
    assistants: Mapping[str, Assistant], shelf: Shelf, config: Config, local: Callable[[Model], bool]
) -> dict[str, Assistant]:
    """The assistants with their plugins, and those that plugins are."""
    made = {name: _equipped(one, shelf, config, local) for name, one in assistants.items()}
    return made | _appearing(made, shelf, config, local)


def _equipped(
    assistant: Assistant, shelf: Shelf, config: Config, local: Callable[[Model], bool]
) -> Assistant:
    settings = config.assistants.get(assistant.name)
    if config.assistants and settings is None and assistant.name != DEFAULT:
        return assistant  # a model that is asked by its name, and nothing else
    # The default assistant without a table of its own is the first one.
    name = assistant.name if settings else next(iter(config.assistants), "")
    settings = config.assistants.get(name)
    mine = settings.plugins if settings else None
    if mine is None:
        return _with(assistant, shelf, config, local)
    if not mine:
        return assistant
    try:
        return _with(assistant, shelf.only(mine), config, local)
    except CallerError as error:
        raise ConfigError(f"[assistants.{name}] in {config.path}: {error.message}") from None


def _with(assistant: Assistant, shelf: Shelf, config: Config, local: Callable[[Model], bool]) -> Assistant:
    if not shelf.entries and not shelf.questions:
        return assistant
    for tool in assistant.tools:
        if tool.name in shelf.by_name:
            log.warning("%s: its own tool %s hides a plugin's of that name.", assistant.name, tool.name)
    # What APIs answer must fit a local model too.
    context = assistant.context or (LOCAL_CONTEXT if local(assistant.model) else None)
    selection = Selection(shelf, shown=config.tools.shown, context=context)
    return replace(assistant, source=selection, context=context)


def _appearing(
    assistants: Mapping[str, Assistant], shelf: Shelf, config: Config, local: Callable[[Model], bool]
) -> dict[str, Assistant]:
    """The plugins that should appear: each an assistant with its own tools and the default's model."""
    default = assistants.get(DEFAULT) or next(iter(assistants.values()))
    found: dict[str, Assistant] = {}
    for folder, settings in folders(config).items():
        loaded = shelf.loaded.get(folder.name)
        if not settings.appears or loaded is None:
            continue
        if folder.name in assistants:
            log.error("Plugin %s does not appear: there is an assistant of that name.", folder.name)
            continue
        plugin = loaded.plugin
        alone = replace(
            default,
            name=plugin.id,
            tools=(),
            source=None,
            title=plugin.name,
            description=plugin.description,
            image="",
        )
        found[plugin.id] = _with(alone, shelf.only([plugin.id]), config, local)
    return found
