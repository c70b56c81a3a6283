"""Plugins of assistants: all, those an assistant names, or a plugin as an assistant of its own."""

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
# Context assumed for a local model without a configured one.
LOCAL_CONTEXT = 4096


def embedding(config: Config, get: Callable[[str], Model]) -> Embed | None:
    """Return the embedding function of the model in [tools] embeddings, or None."""
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
    """Attach plugins to assistants and add the plugins that are assistants themselves."""
    made = {name: _equipped(one, shelf, config, local) for name, one in assistants.items()}
    return made | _appearing(made, shelf, config, local)


def _equipped(
    assistant: Assistant, shelf: Shelf, config: Config, local: Callable[[Model], bool]
) -> Assistant:
    settings = config.assistants.get(assistant.name)
    if config.assistants and settings is None and assistant.name != DEFAULT:
        return assistant  # a plain model, addressed by its name
    # Without a table of its own the default assistant is the first one.
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
    # API results must fit a local model's context.
    context = assistant.context or (LOCAL_CONTEXT if local(assistant.model) else None)
    selection = Selection(shelf, shown=config.tools.shown, context=context)
    return replace(assistant, source=selection, context=context)


def _appearing(
    assistants: Mapping[str, Assistant], shelf: Shelf, config: Config, local: Callable[[Model], bool]
) -> dict[str, Assistant]:
    """Make an assistant of each plugin with `appears`, with its tools and the default's model."""
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
